// Opens the next turn of an agent: claims its message, resolves the continuation and writes the
// attempt with its prompt frame, in the caller's transaction.
#pragma once

#include <functional>
#include <optional>
#include <variant>
#include <vector>

#include "agent/context/frame.h"
#include "flow/scheduler/decide.h"
#include "flow/turn/decide.h"
#include "record/events/events.h"

namespace scheduler {

struct Opened {
    turn::Facts facts;
    context::Frame frame;
    std::vector<turn::Effect> effects;
};
// The message was recorded and answered without the model; there may be another.
struct Reduced {
    domain::MessageId message_id;
};
using Outcome = std::variant<Opened, Reduced, Rest>;

struct OpenInput {
    RoundBudget budget{};
    std::string model_ref;
    std::vector<context::Guidance> guidance{};
    std::vector<provider::ToolDeclaration> tools{};  // What the agent is offered.
    domain::WorkspaceEntry home_workspace;           // Used until a project is chosen.
    std::function<base::Time()> now;                 // To say how long planning the prompt took.
};

base::Result<Outcome> open_next(events::Log& log, const domain::AgentId& agent,
                                const OpenInput& input);

}  // namespace scheduler
