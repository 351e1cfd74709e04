// The tools that turns are offered.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <mutex>

#include "agent/context/frame.h"
#include "domain/agent.h"
#include "domain/message.h"
#include "exec/tools/registry.h"

namespace turn {

// Makes each offer once, until the registry changes: it is dozens of schemas, and each turn and
// each round needs it. For one registry; any thread may ask.
class Offers {
public:
    // The tools an agent is offered, as the registry publishes them: what its profile grants, and
    // no commands where its execution has no processes. A search of the model's own passes by the
    // policy for calls, so it may take the place of ours only where that policy holds nothing back.
    context::Offer of(const tools::Registry& registry, const domain::Agent& agent,
                      domain::AuthorityClass authority);

private:
    struct Terms {
        domain::ProfilePreset profile{};
        bool has_commands{false};
        bool is_external{false};
        friend auto operator<=>(const Terms&, const Terms&) = default;
    };
    static context::Offer make(const tools::Registry& registry, const Terms& terms);

    std::mutex mutex_;
    std::uint64_t changes_{0};  // Of the registry, when these were made.
    std::map<Terms, context::Offer> made_;
};

}  // namespace turn
