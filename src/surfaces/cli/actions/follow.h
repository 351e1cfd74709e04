// Events as they happen.
#pragma once

#include <functional>

#include "surfaces/cli/cli.h"

namespace cli {

// Calls `show` for each event behind `after_seq`, in order and each once, for as long as the
// program runs and its output is read. Returns only then, or with an error when the agent is not
// there.
Exit follow(const std::string& agent, std::int64_t after_seq, const Context& context,
            const std::function<void(const domain::Event&)>& show);

}  // namespace cli
