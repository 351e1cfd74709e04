// May it enter, as whom, and only once? Pure.
#pragma once

#include <string>
#include <variant>

#include "domain/agent.h"
#include "domain/message.h"

namespace admission {

// Messages that wait for one agent: in all, of external senders together, and of one of them. What
// external senders may not use is reserved for the operator.
inline constexpr std::int64_t kPendingMax = 10'000;
inline constexpr std::int64_t kExternalPendingMax = 8'000;
inline constexpr std::int64_t kSenderPendingMax = 4'000;

struct Accept {
    friend bool operator==(const Accept&, const Accept&) = default;
};
// `hint` says what the sender has to do first.
struct Refuse {
    std::string code;
    std::string reason;
    std::string hint;
    friend bool operator==(const Refuse&, const Refuse&) = default;
};
using Verdict = std::variant<Accept, Refuse>;

struct Facts {
    domain::Agent agent;
    std::int64_t pending{0};
    std::int64_t pending_of_sender{0};  // For an external sender.
};

// Control messages pass a stopped agent's boundary, everything else is refused there with the way
// to resume; an archived agent and a full queue refuse all but what the runtime itself sends. The
// queue is full earlier for external senders than for the operator.
Verdict decide(const Facts& facts, const domain::Message& message);

}  // namespace admission
