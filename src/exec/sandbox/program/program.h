// The two halves of the program, and what both need.
#pragma once

#include <sys/types.h>

#include "exec/sandbox/program/plan.h"

namespace sandbox {

inline constexpr int kCannotConfine = 125;  // As env(1) and timeout(1) have it: our own failure.

// Through this descriptor the inside sends its listener to the proxy.
inline constexpr int kListenerFd = 7;
inline constexpr unsigned short kProxyPort = 3128;

// Ends the program: the command was not run because of `what` and errno.
[[noreturn]] void give_up(const char* what);
void require(bool good, const char* what);

// Opens the source of `part` without links, so that its name leads where it led when it was judged.
// Ends the program when that is not what the plan says.
int open_source(const Part& part);

// The files and links of the system's settings, from kSettingsFd. Valid until the program ends.
std::vector<PartView> read_settings();

// As fork(), with the child in new namespaces (CLONE_NEW...), and in the control group that is open
// at `group`, if there is one.
pid_t fork_into(std::uint64_t namespaces, int group = -1);

// Who started process 1 of the sandbox.
struct Starter {
    uid_t user;  // As the host numbers them.
    gid_t group;
    int alive;  // The read end of a pipe that nobody else writes to: at its end when it has ended.
};

// Starts process 1 of the sandbox in namespaces of its own and waits for its end. With a list of
// allowed hosts, starts the proxy, which starts this program again (enter_behind_proxy). Then
// settles the git folders. Does not return: ends as the command did.
[[noreturn]] void enter(Plan plan);
[[noreturn]] void enter_behind_proxy(const Plan& plan);

// Process 1 of the sandbox: builds the world, sets the limits and the system call filter, also on
// itself, drops every privilege, runs the command as its child and collects orphans. Returns the
// exit status of the command, or 128 more than the signal that ended it.
int run_inside(const Plan& plan, const Starter& starter);

}  // namespace sandbox
