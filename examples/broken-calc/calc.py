#!/usr/bin/env python3
"""A calculator for the command line: calc.py "2 * (3 + 4)" prints 14."""
import re
import sys


def evaluate(text):
    tokens = re.findall(r"\d+|[-+*/()]", text)
    value = expression(tokens)
    if tokens:
        raise ValueError(f"unexpected '{tokens[0]}'")
    return value


def expression(tokens):
    value = term(tokens)
    while tokens and tokens[0] in "+-":
        if tokens.pop(0) == "+":
            value += term(tokens)
        else:
            value -= expression(tokens)
    return value


def term(tokens):
    value = factor(tokens)
    while tokens and tokens[0] in "*/":
        if tokens.pop(0) == "*":
            value *= factor(tokens)
        else:
            value /= factor(tokens)
    return value


def factor(tokens):
    if not tokens:
        raise ValueError("unexpected end")
    token = tokens.pop(0)
    if token == "-":
        return -factor(tokens)
    if token == "(":
        value = expression(tokens)
        if not tokens or tokens.pop(0) != ")":
            raise ValueError("expected ')'")
        return value
    return int(token)


if __name__ == "__main__":
    print(evaluate(" ".join(sys.argv[1:])))
