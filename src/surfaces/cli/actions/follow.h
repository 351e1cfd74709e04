// Events as they happen.
#pragma once

#include <functional>

#include "surfaces/cli/cli.h"

namespace cli {

// Calls `show` for each event after `after_seq`, in order and each once, while the program runs and
// its output is read. Returns after that, or with an error when the agent does not exist.
Exit follow(const std::string& agent, std::int64_t after_seq, const Context& context,
            const std::function<void(const domain::Event&)>& show);

// The same until `is_last` says so of an event it was shown.
Exit follow_until(const std::string& agent, std::int64_t after_seq, const Context& context,
                  const std::function<bool(const domain::Event&)>& is_last);

// A message whose answer is waited for.
struct Awaited {
    std::string agent;
    std::string message;
    std::int64_t after_seq{0};  // An event before it was sent.
    bool json{false};
};
// Shows the turn that handles the message as a run is shown, and prints the answer.
Exit wait_for_answer(const Awaited& awaited, const Context& context);  // answer.cc

// The newest `count` events up to `newest`, oldest first; fewer when fewer are kept.
base::Result<std::vector<domain::Event>> newest_events(const std::string& agent,
                                                       std::int64_t newest, std::int64_t count,
                                                       const Context& context);

}  // namespace cli
