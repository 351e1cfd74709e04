// When a request may send only what is new. Pure, but for the memory that holds the snapshots.
#pragma once

#include <cstddef>
#include <list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "provider/provider.h"

namespace provider::openai_responses {

inline constexpr std::size_t kScopesMax = 64;

// Whose conversation it is. Only requests of one agent with one cache key continue each other.
struct Scope {
    std::string agent_id;
    std::string prompt_cache_key;
    friend bool operator==(const Scope&, const Scope&) = default;
};
// Empty when the request has no cache identity.
std::optional<Scope> scope_of(const Request& request);

// A request and the response to it, as far as a later request is compared with them. Digests, so
// that what is kept stays small however long the conversation gets.
struct Snapshot {
    std::string response_id;
    std::string shape;                  // Of everything but the input.
    std::int64_t compression_epoch{0};  // A compaction in between ends the continuation.
    std::vector<std::string> items;     // Of the input, and of the reply as it will be sent back.
    friend bool operator==(const Snapshot&, const Snapshot&) = default;
};

std::string digest(const json::value& value);
std::vector<std::string> digests(const json::array& items);

// What to send: the items from `first_new` on, behind `previous_response_id` if there is one.
struct Plan {
    std::size_t first_new{0};
    std::optional<std::string> previous_response_id{};
    json::object incremental_continuation{};  // The diagnostics of that name.
    friend bool operator==(const Plan&, const Plan&) = default;
};

// The request as it stands, whose items and shape are `now`. Sends less than all of it only if it
// strictly extends `previous`; any doubt is a full request.
Plan plan_request(const std::optional<Snapshot>& previous, const Snapshot& now);
// All of it, for a reason that is not in the conversation.
Plan full_request(std::string_view reason, std::size_t items);

// The snapshots of the scopes used last, at most kScopesMax.
class Continuations {
public:
    // Gives the snapshot away: unless the request succeeds and keep() is called, it is gone.
    std::optional<Snapshot> take(const Scope& scope);
    void keep(const Scope& scope, Snapshot snapshot);
    std::size_t size() const { return snapshots_.size(); }

    // Some servers name responses but do not keep them. After one refusal, asking for another
    // would be a request wasted in every round.
    void note_refused() { is_refused_ = true; }
    bool is_refused() const { return is_refused_; }

private:
    std::list<std::pair<Scope, Snapshot>> snapshots_;  // Used last at the back.
    bool is_refused_{false};
};

}  // namespace provider::openai_responses
