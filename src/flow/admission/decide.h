// May it enter, as whom, and only once? Pure.
#pragma once

#include <string>
#include <variant>

#include "domain/agent.h"
#include "domain/message.h"

namespace admission {

inline constexpr std::int64_t kPendingMax = 10'000;

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
};

// Control messages pass a stopped agent's boundary, everything else is refused there with the way
// to resume; an archived agent and a full queue refuse all but what the runtime itself sends.
Verdict decide(const Facts& facts, const domain::Message& message);

}  // namespace admission
