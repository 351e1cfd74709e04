// Events as they happen.
#pragma once

#include <functional>

#include "surfaces/cli/cli.h"

namespace cli {

// Calls `show` for each event after `after_seq`, in order and each once, while the program runs and
// its output is read. Returns after that, or with an error when the agent does not exist.
Exit follow(const std::string& agent, std::int64_t after_seq, const Context& context,
            const std::function<void(const domain::Event&)>& show);

// The newest `count` events up to `newest`, oldest first; fewer when fewer are kept.
base::Result<std::vector<domain::Event>> newest_events(const std::string& agent,
                                                       std::int64_t newest, std::int64_t count,
                                                       const Context& context);

}  // namespace cli
