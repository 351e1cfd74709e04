// The supervisor's program, embedded in this one.
#pragma once

#include <string>

#include "base/result.h"

namespace supervisor {

// A path that posix_spawn() can start it from, good as long as this process lives: the program is
// put into an anonymous file once, so that nothing has to be installed with us.
base::Result<std::string> program_path();

}  // namespace supervisor
