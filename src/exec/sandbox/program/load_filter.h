#pragma once

namespace sandbox {

// Forbids the system calls that could escape the sandbox, permanently, for this process and all its
// children. Returns 0, or a negative errno.
int load_filter();

}  // namespace sandbox
