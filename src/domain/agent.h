// A stored agent: the facts that outlive every turn, and apart from them what its turns have added
// up to. Status, pending and closure are views.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/typed.h"
#include "domain/execution.h"
#include "domain/ids.h"
#include "domain/labels.h"
#include "domain/provider.h"
#include "domain/skill.h"
#include "domain/turn.h"
#include "domain/workspace.h"

namespace domain {

enum class AgentKind { Default, Named, Child };
enum class Visibility { Public, Private };
enum class Ownership { ParentSupervised, SelfOwned };
enum class ProfilePreset { PrivateChild, PublicNamed };
enum class IdentityStatus { Active, Archived };
BOOST_DESCRIBE_ENUM(AgentKind, Default, Named, Child)
BOOST_DESCRIBE_ENUM(Visibility, Public, Private)
BOOST_DESCRIBE_ENUM(Ownership, ParentSupervised, SelfOwned)
BOOST_DESCRIBE_ENUM(ProfilePreset, PrivateChild, PublicNamed)
BOOST_DESCRIBE_ENUM(IdentityStatus, Active, Archived)

enum class AgentStatus { Booting, AwakeIdle, AwakeRunning, AwaitingTask, Asleep, Paused, Stopped };
BOOST_DESCRIBE_ENUM(AgentStatus, Booting, AwakeIdle, AwakeRunning, AwaitingTask, Asleep, Paused,
                    Stopped)

struct AgentIdentity {
    AgentId agent_id;
    AgentKind kind{AgentKind::Named};
    Visibility visibility{Visibility::Public};
    Ownership ownership{Ownership::SelfOwned};
    ProfilePreset profile_preset{ProfilePreset::PublicNamed};
    IdentityStatus status{IdentityStatus::Active};
    std::optional<AgentId> parent_agent_id{};
    std::optional<AgentId> lineage_parent_agent_id{};
    std::optional<TaskId> delegated_from_task_id{};
    Time created_at{};
    Time updated_at{};
    friend bool operator==(const AgentIdentity&, const AgentIdentity&) = default;
};
BOOST_DESCRIBE_STRUCT(AgentIdentity, (),
                      (agent_id, kind, visibility, ownership, profile_preset, status,
                       parent_agent_id, lineage_parent_agent_id, delegated_from_task_id, created_at,
                       updated_at))

enum class ContinuationClass {
    ResumeExpectedWait,
    ResumeOverride,
    LocalContinuation,
    LivenessOnly
};
BOOST_DESCRIBE_ENUM(ContinuationClass, ResumeExpectedWait, ResumeOverride, LocalContinuation,
                    LivenessOnly)

// Whether a trigger reached the model, and why.
struct ContinuationResolution {
    TriggerKind trigger_kind{TriggerKind::OperatorInput};
    ContinuationClass class_{ContinuationClass::LocalContinuation};
    bool model_visible{true};
    ClosureOutcome prior_closure_outcome{ClosureOutcome::Completed};
    std::optional<WaitingReason> prior_waiting_reason{};
    bool matched_waiting_reason{false};
    std::vector<std::string> evidence{};
    friend bool operator==(const ContinuationResolution&, const ContinuationResolution&) = default;
};
BOOST_DESCRIBE_STRUCT(ContinuationResolution, (),
                      (trigger_kind, class_, model_visible, prior_closure_outcome,
                       prior_waiting_reason, matched_waiting_reason, evidence))

struct RuntimeFailure {
    Time occurred_at{};
    std::string summary;
    std::string phase;  // startup, shutdown, runtime_turn
    std::optional<std::string> detail_hint{};
    std::optional<FailureArtifact> failure_artifact{};
    friend bool operator==(const RuntimeFailure&, const RuntimeFailure&) = default;
};
BOOST_DESCRIBE_STRUCT(RuntimeFailure, (),
                      (occurred_at, summary, phase, detail_hint, failure_artifact))

// Deliberate sleep; see the Sleep tool. Absent while the agent is awake.
struct Sleep {
    Time since{};
    std::string reason;
    std::optional<Time> until{};
    std::optional<TimerId> timer_id{};  // The timer that ends it.
    // Of the turn that requested it: the reason is its text, and the wake-up message repeats it.
    TrustLevel trust{TrustLevel::TrustedSystem};
    friend bool operator==(const Sleep&, const Sleep&) = default;
};
BOOST_DESCRIBE_STRUCT(Sleep, (), (since, reason, until, timer_id, trust))
constexpr auto describe_fields(const Sleep*) {
    return std::to_array<base::FieldDoc>({{.field = "trust", .has_default = true}});
}

struct ToolLatency {
    std::string tool_name;
    std::int64_t calls{0};
    std::int64_t total_ms{0};
    std::int64_t max_ms{0};
    friend bool operator==(const ToolLatency&, const ToolLatency&) = default;
};
BOOST_DESCRIBE_STRUCT(ToolLatency, (), (tool_name, calls, total_ms, max_ms))

// What a supervised child was given when it was made. It and all agents below it spend one budget.
struct Delegation {
    std::int64_t depth{1};  // 1: its parent is nobody's child.
    std::int64_t tokens_max{0};
    std::int64_t wall_ms_max{0};  // Time spent in turns.
    friend bool operator==(const Delegation&, const Delegation&) = default;
};
BOOST_DESCRIBE_STRUCT(Delegation, (), (depth, tokens_max, wall_ms_max))

// Identity and control.
struct Agent {
    AgentId agent_id;
    AgentIdentity identity{};
    bool booting{false};  // Its home is being created; nothing runs before that is done.
    bool paused{false};
    bool stopped{false};
    std::optional<Sleep> sleep{};
    std::int64_t turn_index{0};
    std::vector<std::string> attached_workspaces{};
    std::optional<WorkspaceEntry> active_workspace_entry{};
    std::optional<std::string> model_override{};
    std::optional<WorkItemId> current_work_item_id{};
    Execution execution{};
    std::vector<ActiveSkill> active_skills{};  // In the order of their last use.
    std::optional<Delegation> delegation{};    // Of a supervised child only.
    friend bool operator==(const Agent&, const Agent&) = default;
};
BOOST_DESCRIBE_STRUCT(Agent, (),
                      (agent_id, identity, booting, paused, stopped, sleep, turn_index,
                       attached_workspaces, active_workspace_entry, model_override,
                       current_work_item_id, execution, active_skills, delegation))
constexpr auto describe_fields(const Agent*) {
    return std::to_array<base::FieldDoc>({{.field = "booting", .has_default = true},
                                          {.field = "execution", .has_default = true},
                                          {.field = "active_skills", .has_default = true}});
}

// What the ids of supervised children begin with.
inline constexpr std::string_view kChildPrefix = "tmp_child_";

// A child that a parent made and supervises: private, and over when its task is.
inline bool is_supervised(const Agent& agent) {
    return agent.identity.ownership == Ownership::ParentSupervised &&
           agent.identity.parent_agent_id.has_value() &&
           agent.identity.delegated_from_task_id.has_value();
}

// What keeps an agent from running until its operator has it recovered. Stored apart from the
// Agent, whose own record may be what cannot be read.
struct AgentFault {
    AgentId agent_id;
    Time occurred_at{};
    std::string phase;  // prepare, open, resume, turn, timer, process
    std::string reason;
    // How often a process died while it worked for the agent and no turn was open; see
    // is_set_aside.
    std::int64_t crashes{0};
    bool is_set_aside{true};  // False: crashes are counted, and the agent still runs.
    friend bool operator==(const AgentFault&, const AgentFault&) = default;
};
BOOST_DESCRIBE_STRUCT(AgentFault, (), (agent_id, occurred_at, phase, reason, crashes, is_set_aside))

// `tool_latency` has an entry for each tool of the registry that was called, and kOtherTools for
// all calls of other names: models invent names.
inline constexpr std::size_t kToolLatencyMax = 256;
inline constexpr std::string_view kOtherTools = "(other)";

// What an agent's turns have added up to, and how the latest of them went. Stored apart from the
// Agent, because every round changes it.
struct AgentStatistics {
    AgentId agent_id;
    std::optional<TurnTerminal> last_turn_terminal{};
    std::optional<RuntimeFailure> last_runtime_failure{};
    std::optional<ContinuationResolution> last_continuation{};
    std::optional<std::string> last_wake_reason{};
    std::optional<Time> last_brief_at{};
    std::int64_t total_message_count{0};
    std::int64_t compacted_message_count{0};
    std::int64_t compression_epoch{0};  // How many compactions there were.
    std::int64_t total_input_tokens{0};
    std::int64_t total_output_tokens{0};
    std::int64_t total_model_rounds{0};
    std::int64_t total_turn_ms{0};  // Time spent in turns that are closed.
    // The same three for all agents below it, living or not: children spend their parent's budget.
    std::int64_t delegated_tokens{0};
    std::int64_t delegated_model_rounds{0};
    std::int64_t delegated_turn_ms{0};
    std::optional<TokenUsage> last_turn_token_usage{};
    std::vector<ToolLatency> tool_latency{};  // At most kToolLatencyMax.
    bool fallback_active{false};              // Another model than asked gave the last answer.
    // Follow-ups that the agent queued for itself in the hour that began then, and whether its
    // operator has heard that one was refused in it.
    std::optional<Time> follow_ups_since{};
    std::int64_t follow_ups{0};
    bool follow_up_refusal_reported{false};
    friend bool operator==(const AgentStatistics&, const AgentStatistics&) = default;
};
BOOST_DESCRIBE_STRUCT(AgentStatistics, (),
                      (agent_id, last_turn_terminal, last_runtime_failure, last_continuation,
                       last_wake_reason, last_brief_at, total_message_count,
                       compacted_message_count, compression_epoch, total_input_tokens,
                       total_output_tokens, total_model_rounds, total_turn_ms, delegated_tokens,
                       delegated_model_rounds, delegated_turn_ms, last_turn_token_usage,
                       tool_latency, fallback_active, follow_ups_since, follow_ups,
                       follow_up_refusal_reported))
constexpr auto describe_fields(const AgentStatistics*) {
    return std::to_array<base::FieldDoc>(
        {{.field = "compression_epoch", .has_default = true},
         {.field = "total_turn_ms", .has_default = true},
         {.field = "delegated_tokens", .has_default = true},
         {.field = "delegated_model_rounds", .has_default = true},
         {.field = "delegated_turn_ms", .has_default = true},
         {.field = "fallback_active", .has_default = true},
         {.field = "follow_ups", .has_default = true},
         {.field = "follow_up_refusal_reported", .has_default = true}});
}

// Adds one call to the entry of `tool`, which is a name of the registry, or to that of kOtherTools
// when it is not or when there is no room for another name.
void count_call(AgentStatistics& statistics, std::string_view tool, bool is_registered,
                std::int64_t duration_ms);

// ASCII letters, digits, '.', '-', '_', at most 64 of them, and not only dots: one path component.
bool is_agent_id(std::string_view text);

}  // namespace domain
