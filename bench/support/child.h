// Programs as a measurement starts them.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/os/files.h"

namespace bench {

struct ChildSpec {
    std::vector<std::string> argv;         // argv[0] is a path.
    std::vector<std::string> environment;  // "NAME=value".
    std::string cwd{"/"};
    int out{-1};           // -1: /dev/null.
    bool is_quiet{false};  // Its standard error is not shown.
};

struct ChildEnd {
    std::chrono::steady_clock::time_point started;
    std::chrono::duration<double, std::milli> took{};
    double peak_mb{0};  // Of its own memory or that of its largest child; 1 MB is 10^6 bytes.
    bool succeeded{false};
};

// Runs to the end. The kernel counts the memory of the program that starts another as the other's
// (it keeps the peak across exec), so a caller that reads `peak_mb` has to stay small itself.
ChildEnd run(const ChildSpec& spec);

// The highest memory of this process so far.
double own_peak_mb();

}  // namespace bench
