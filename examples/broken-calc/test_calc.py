#!/usr/bin/env python3
import unittest

from calc import evaluate


class Evaluate(unittest.TestCase):
    def test_adds_and_multiplies(self):
        self.assertEqual(evaluate("2 + 3 * 4"), 14)

    def test_honours_parentheses(self):
        self.assertEqual(evaluate("2 * (3 + 4)"), 14)

    def test_negates(self):
        self.assertEqual(evaluate("-2 * 3"), -6)

    def test_subtracts_from_left_to_right(self):
        self.assertEqual(evaluate("10 - 4 - 3"), 3)


if __name__ == "__main__":
    unittest.main()
