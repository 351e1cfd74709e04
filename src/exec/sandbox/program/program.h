// The two halves of the program, and what both need.
#pragma once

#include "exec/sandbox/program/plan.h"

namespace sandbox {

inline constexpr int kCannotConfine = 125;  // As env(1) and timeout(1) have it: our own failure.

// Through this descriptor the inside sends its listener to the proxy.
inline constexpr int kListenerFd = 7;
inline constexpr unsigned short kProxyPort = 3128;

// Ends the program: the command was not run because of `what` and errno.
[[noreturn]] void give_up(const char* what);
void require(bool good, const char* what);

// The files and links of the system's settings, from kSettingsFd.
std::vector<Part> read_settings();

// Opens every part without links, compares what it finds with the plan, and executes bwrap (with an
// allow-list: the proxy, which executes bwrap). Does not return.
[[noreturn]] void enter(const Plan& plan);

// Process 1 of the sandbox: sets the limits and the system call filter, also on itself, drops every
// privilege, runs the command as its child and collects orphans. Returns the exit status of the
// command, or 128 more than the signal that ended it.
int run_inside(const Plan& plan);

}  // namespace sandbox
