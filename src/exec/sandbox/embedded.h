// The sandbox's own programs, embedded in this one: nothing next to the executable can be replaced.
#pragma once

#include <memory>

#include "base/os/files.h"

namespace sandbox {

// Sealed memory files, made by the first call and valid as long as this process lives. Unavailable
// when the kernel has no such files. Any thread.
struct Programs {
    std::shared_ptr<const base::Fd> confine;
    std::shared_ptr<const base::Fd> proxy;
};
base::Result<Programs> programs();

}  // namespace sandbox
