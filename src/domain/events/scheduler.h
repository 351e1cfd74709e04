// Events of what the scheduler decided, and of the state that an agent changed to.
#pragma once

#include "domain/agent.h"
#include "domain/events/payload.h"
#include "domain/trigger.h"

namespace domain::events {

struct SchedulerDecision {
    static constexpr std::string_view kKind = "scheduler_decision";
    std::string decision;  // In PascalCase, as the reference has it: ReduceMessageOnly.
    std::string reason;
    bool model_reentry{false};
    bool liveness_only{false};
    MessageId message_id;
    std::optional<TaskId> task_id{};
    std::string boundary;
    std::optional<Origin> origin{};  // The labels of its message; older events have none.
    std::optional<TrustLevel> trust{};
    std::optional<AuthorityClass> authority_class{};
    std::optional<Priority> priority{};
    std::optional<DeliverySurface> delivery_surface{};
    std::optional<AdmissionContext> admission_context{};
};
BOOST_DESCRIBE_STRUCT(SchedulerDecision, (),
                      (decision, reason, model_reentry, liveness_only, message_id, task_id,
                       boundary, origin, trust, authority_class, priority, delivery_surface,
                       admission_context))

struct SchedulerPostureDecision {
    static constexpr std::string_view kKind = "scheduler_posture_decision";
    std::string boundary;
    std::string reason;
    AgentStatus previous_status{AgentStatus::AwakeIdle};
    AgentStatus next_status{AgentStatus::AwakeIdle};
    json::value evidence = json::array{};
};
BOOST_DESCRIBE_STRUCT(SchedulerPostureDecision, (),
                      (boundary, reason, previous_status, next_status, evidence))

struct ContinuationTriggerReceived {
    static constexpr std::string_view kKind = "continuation_trigger_received";
    AgentId agent_id;
    MessageId message_id;
    TriggerKind trigger_kind{TriggerKind::OperatorInput};
    bool contentful{false};
    ClosureOutcome prior_closure_outcome{ClosureOutcome::Completed};
    std::optional<WaitingReason> prior_waiting_reason{};
};
BOOST_DESCRIBE_STRUCT(ContinuationTriggerReceived, (),
                      (agent_id, message_id, trigger_kind, contentful, prior_closure_outcome,
                       prior_waiting_reason))
constexpr auto describe_fields(const ContinuationTriggerReceived*) {
    return null_when_absent("prior_waiting_reason");
}

struct ContinuationResolved {
    static constexpr std::string_view kKind = "continuation_resolved";
    AgentId agent_id;
    MessageId message_id;
    ContinuationResolution resolution{};
};
BOOST_DESCRIBE_STRUCT(ContinuationResolved, (), (agent_id, message_id, resolution))

struct SystemTickEmitted {
    static constexpr std::string_view kKind = "system_tick_emitted";
    std::string subsystem;
    MessageId message_id;
    std::optional<json::object> wake_hint{};   // The hint and its idempotency key.
    std::optional<json::object> work_queue{};  // The item that can be worked on.
    std::optional<json::object> work_item_recheck{};
};
BOOST_DESCRIBE_STRUCT(SystemTickEmitted, (),
                      (subsystem, message_id, wake_hint, work_queue, work_item_recheck))

// A whole hint, with its agent under the name that other events use for it, too.
struct WakeHintRecord : WakeHint {
    AgentId agent_id;
    WakeHintRecord() = default;
    explicit WakeHintRecord(WakeHint hint) : WakeHint(std::move(hint)), agent_id(target_agent_id) {}
};
BOOST_DESCRIBE_STRUCT(WakeHintRecord, (WakeHint), (agent_id))

struct WakeHintTriggered : WakeHintRecord {
    static constexpr std::string_view kKind = "wake_hint_triggered";
    using WakeHintRecord::WakeHintRecord;
};
struct WakeHintCoalesced : WakeHintRecord {
    static constexpr std::string_view kKind = "wake_hint_coalesced";
    using WakeHintRecord::WakeHintRecord;
};
BOOST_DESCRIBE_STRUCT(WakeHintTriggered, (WakeHintRecord), ())
BOOST_DESCRIBE_STRUCT(WakeHintCoalesced, (WakeHintRecord), ())

// A limit of the agent is reached; `pending` messages wait until it is raised.
struct AgentBudgetExhausted {
    static constexpr std::string_view kKind = "agent_budget_exhausted";
    AgentId agent_id;
    std::string limit;  // The setting.
    std::int64_t pending{0};
};
BOOST_DESCRIBE_STRUCT(AgentBudgetExhausted, (), (agent_id, limit, pending))

// The agent is set aside after a fault: nothing runs for it until its operator has it recovered.
struct AgentSetAside {
    static constexpr std::string_view kKind = "agent_set_aside";
    AgentId agent_id;
    std::string phase;
    std::string reason;
};
BOOST_DESCRIBE_STRUCT(AgentSetAside, (), (agent_id, phase, reason))

struct AgentRecovered {
    static constexpr std::string_view kKind = "agent_recovered";
    AgentId agent_id;
    std::string reason;  // Of the fault that is over.
};
BOOST_DESCRIBE_STRUCT(AgentRecovered, (), (agent_id, reason))

// A hint that no tick can be made of; it is not tried again.
struct WakeHintQuarantined {
    static constexpr std::string_view kKind = "wake_hint_quarantined";
    AgentId agent_id;
    std::optional<std::string> source{};
    std::string error;
};
BOOST_DESCRIBE_STRUCT(WakeHintQuarantined, (), (agent_id, source, error))

// The model has not answered a round for so long; the turn keeps waiting.
struct ModelAnswerDelayed {
    static constexpr std::string_view kKind = "model_answer_delayed";
    AgentId agent_id;
    RunId run_id;
    std::string model_ref;
    std::int64_t round{0};
    std::int64_t waited_ms{0};
};
BOOST_DESCRIBE_STRUCT(ModelAnswerDelayed, (), (agent_id, run_id, model_ref, round, waited_ms))

// The AgentState that holds now, as identity::agent_state() shows it, and the status before.
struct AgentStateChanged {
    static constexpr std::string_view kKind = "agent_state_changed";
    json::object state{};
    std::optional<AgentStatus> previous_status{};

    json::object written() const;
    void read_from(const json::value& data);
    static json::object schema();
};

// Not emitted: the reference's second name for a change of state.
struct SessionStateChanged : AgentStateChanged {
    static constexpr std::string_view kKind = "session_state_changed";
};

}  // namespace domain::events
