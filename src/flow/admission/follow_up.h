// Messages that a turn leaves for its own agent.
#pragma once

#include <string>

#include "domain/message.h"
#include "record/events/events.h"

namespace admission {

struct FollowUpText {
    std::string text;
    domain::Priority priority{domain::Priority::Next};
    domain::TrustLevel trust{domain::TrustLevel::TrustedSystem};  // Never above the turn's own.
};

// Admits a follow-up of the turn that answers `cause`, in the caller's transaction.
base::Status append_follow_up(events::Log& log, const domain::Message& cause,
                              FollowUpText follow_up);

}  // namespace admission
