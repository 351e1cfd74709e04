// A program of ours that is killed while it works.
#pragma once

#include <string>
#include <vector>

namespace test_support {

// Runs `argv` until it has printed `lines` lines, kills it there, and returns all that it printed.
// A program that ends by itself fails the test.
std::string killed_after(int lines, std::vector<std::string> argv);

}  // namespace test_support
