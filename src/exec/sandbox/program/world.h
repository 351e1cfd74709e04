// The file system that a command sees.
#pragma once

#include "exec/sandbox/program/plan.h"

namespace sandbox {

// Builds the world of `plan` from its parts, a minimal /dev, and a /proc with the masks of masks.h;
// makes it the root of this process, and detaches the file system of the host. Every source is
// opened without links and compared with the plan, in the mount namespace it is copied from; no
// link is followed to a place, either. All of it or nothing: what cannot be put in place ends the
// program. Needs a mount namespace, a process namespace and every privilege over both. Leaves
// descriptors of the host's folders open, for the caller to close.
void build_world(const Plan& plan);

}  // namespace sandbox
