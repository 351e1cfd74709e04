#pragma once

namespace sandbox {

// Refuses the system calls that reach around the sandbox, for this process and all it starts, for
// good. 0, or a negative errno.
int load_filter();

}  // namespace sandbox
