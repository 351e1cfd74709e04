// Events as they happen.
#pragma once

#include <functional>

#include "surfaces/cli/cli.h"

namespace cli {

// Calls `show` for each event after `after_seq`, in order and each once, while the program runs and
// its output is read. Returns after that, or with an error when the agent does not exist.
Exit follow(const std::string& agent, std::int64_t after_seq, const Context& context,
            const std::function<void(const domain::Event&)>& show);

}  // namespace cli
