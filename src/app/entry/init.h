// What the first process of a container owes the others.
#pragma once

#include <optional>

namespace app {

// As process 1: runs the program in a child, passes signals on to it, reaps whatever is
// orphaned, and returns the child's exit code when it has ended. In the child, and in any other
// process, returns nothing at once.
std::optional<int> act_as_init();

}  // namespace app
