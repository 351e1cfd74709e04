// An operator's control over an agent: pause, resume, stop, recover.
#pragma once

#include <optional>
#include <string>

#include "agent/identity/facts.h"
#include "record/events/events.h"

namespace scheduler {

enum class Control { Pause, Resume, Stop, Recover };
BOOST_DESCRIBE_ENUM(Control, Pause, Resume, Stop, Recover)

// What a command makes of an agent. Pure. `ends_turn`: an open turn is to be interrupted.
struct Controlled {
    bool paused{false};
    bool stopped{false};
    bool ends_turn{false};
    bool recovers{false};  // It is no longer set aside.
    bool is_changed{false};
    friend bool operator==(const Controlled&, const Controlled&) = default;
};
// Nothing but Resume lifts a stop: pausing a stopped agent leaves it stopped. Recover only ends
// that it is set aside; Resume does that, too.
Controlled control(const domain::Agent& agent, Control command, bool is_set_aside);

// Who gave the command, for the record.
struct Commander {
    std::string admission_context;
    std::optional<std::string> actor_id{};
};

// Applies the command in the caller's transaction. A command that changes nothing records nothing.
base::Result<Controlled> apply_control(events::Log& log, const domain::AgentId& agent,
                                       Control command, const Commander& by);

}  // namespace scheduler
