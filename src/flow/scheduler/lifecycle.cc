#include "flow/scheduler/lifecycle.h"

#include "agent/identity/closure.h"
#include "agent/identity/transition.h"
#include "domain/events/control.h"
#include "domain/events/scheduler.h"

namespace scheduler {

Controlled control(const domain::Agent& agent, Control command, bool is_set_aside) {
    Controlled out{.paused = agent.paused, .stopped = agent.stopped};
    switch (command) {
        case Control::Pause:
            out.paused = !agent.stopped;
            break;
        case Control::Resume:
            out.paused = out.stopped = false;
            break;
        case Control::Stop:
            out.stopped = true;
            out.paused = false;
            break;
        case Control::Recover:
            break;
    }
    const bool is_moved = out.paused != agent.paused || out.stopped != agent.stopped;
    out.recovers = is_set_aside && (command == Control::Recover || command == Control::Resume);
    out.is_changed = is_moved || out.recovers;
    out.ends_turn = is_moved && (out.paused || out.stopped);
    return out;
}

base::Result<Controlled> apply_control(events::Log& log, const domain::AgentId& agent,
                                       Control command, const Commander& by) {
    auto facts = TRY(identity::load_facts(log.tx(), agent));
    const Controlled step = control(facts.agent, command, identity::is_set_aside(facts));
    if (!step.is_changed) return step;
    const auto before = identity::status_of(facts);
    facts.agent.paused = step.paused;
    facts.agent.stopped = step.stopped;
    TRY(log.tx().put_agent(facts.agent));
    if (step.recovers) {
        TRY(log.tx().erase_fault(agent));
        TRY(log.append(agent, domain::events::AgentRecovered{.agent_id = agent,
                                                             .reason = facts.fault->reason}));
        facts.fault.reset();
    }
    TRY(log.append(agent,
                   domain::events::ControlApplied{.action = std::string(base::enum_name(command)),
                                                  .agent_id = agent,
                                                  .admission_context = by.admission_context,
                                                  .actor_id = by.actor_id}));
    TRY(log.append(
        agent,
        domain::events::SchedulerPostureDecision{
            .boundary = "lifecycle_control",
            .reason = command == Control::Resume ? "start" : std::string(base::enum_name(command)),
            .previous_status = before,
            .next_status = identity::status_of(facts)}));
    TRY(identity::record_state(log, agent, before));
    return step;
}

}  // namespace scheduler
