#include "domain/events/kinds.h"

#include <algorithm>
#include <vector>

#include "domain/events/control.h"
#include "domain/events/memory.h"
#include "domain/events/messages.h"
#include "domain/events/operators.h"
#include "domain/events/scheduler.h"
#include "domain/events/tasks.h"
#include "domain/events/tools.h"
#include "domain/events/turn.h"
#include "domain/events/undo.h"
#include "domain/events/waiting.h"
#include "domain/events/work.h"
#include "domain/events/workspace.h"

namespace domain::events {
namespace {

constexpr auto kVerbose = DisplayMode::Verbose;
constexpr auto kDebug = DisplayMode::Debug;
constexpr auto kByVisibility = std::nullopt;

template <Payload P>
json::object schema_of() {
    if constexpr (OpenPayload<P>)
        return P::schema();
    else
        return base::schema_of<P>();
}

template <Payload P>
base::Result<json::object> rewrite(const json::value& data) {
    if constexpr (OpenPayload<P>) {
        P payload{};
        payload.read_from(data);
        return payload.written();
    } else {
        return written(TRY(base::from_json<P>(data)));
    }
}

template <Payload P>
Kind kind(Category category, std::optional<DisplayMode> shown_from = kByVisibility,
          Visibility visibility = Visibility::Trace) {
    return {P::kKind, category, shown_from, visibility, &schema_of<P>, &rewrite<P>};
}

std::vector<Kind> all_kinds() {
    std::vector<Kind> list{
        // messages.h
        kind<MessageAdmitted>(Category::Message),
        kind<MessageEnqueued>(Category::Message),
        kind<MessageProcessingStarted>(Category::Message),
        kind<MessageProcessingAborted>(Category::Message, kDebug),
        kind<MessageQuarantined>(Category::Trace),
        kind<OperatorInterjectionAdmitted>(Category::Message, kDebug),
        kind<BriefCreated>(Category::Brief, kByVisibility, Visibility::TurnResult),
        // operators.h
        kind<OperatorNotificationRequested>(Category::OperatorNotification, kByVisibility,
                                            Visibility::ActionRequired),
        kind<OperatorDeliverySubmitted>(Category::Trace, kDebug),
        kind<OperatorDeliveryCompleted>(Category::Runtime, kDebug),
        kind<OperatorTransportBindingUpserted>(Category::Trace, kDebug),
        // turn.h
        kind<TurnStarted>(Category::Message),
        kind<TurnContextBuilt>(Category::Runtime, kDebug),
        kind<AttemptResumed>(Category::Trace),
        kind<TurnParked>(Category::Trace),
        kind<TurnWaitOver>(Category::Trace),
        kind<MaxOutputTokensRecovery>(Category::Runtime, kVerbose),
        kind<TurnContextLengthExceeded>(Category::Runtime, kVerbose),
        kind<TurnLocalCompactionApplied>(Category::Runtime, kVerbose),
        kind<TurnLocalCompactionFailed>(Category::Runtime, kVerbose),
        kind<OperatorCompactionApplied>(Category::Runtime, kVerbose),
        kind<RuntimeError>(Category::Runtime, kByVisibility, Visibility::TurnResult),
        kind<TurnTerminal>(Category::Runtime),
        kind<ClosureDecided>(Category::Runtime, kDebug),
        kind<ProviderRoundCompleted>(Category::AssistantProgress, kDebug, Visibility::Progress),
        kind<AssistantRoundRecorded>(Category::AssistantProgress, kVerbose, Visibility::Progress),
        // memory.h
        kind<WorkingMemoryUpdated>(Category::Runtime, kDebug),
        kind<EpisodeMemoryFinalized>(Category::Runtime, kDebug),
        // tools.h
        kind<ProcessExecutionRequested>(Category::Tool, kVerbose),
        kind<ToolExecuted>(Category::Tool, kVerbose),
        kind<ToolExecutionFailed>(Category::Tool, kVerbose),
        kind<SandboxDenied>(Category::Tool, kVerbose),
        kind<ToolCallRefused>(Category::Tool, kVerbose),
        kind<TruncatedMutationToolCallRejected>(Category::Tool, kVerbose),
        kind<SkillActivated>(Category::Runtime, kDebug),
        // tasks.h
        kind<TaskCreated>(Category::Task, kDebug),
        kind<TaskStatusUpdated>(Category::Task, kDebug),
        kind<TaskResultReceived>(Category::Task, kVerbose),
        kind<CommandTaskTerminalPersisted>(Category::Trace),
        kind<CommandTaskRunningPersisted>(Category::Task, kDebug),
        kind<TaskChildSpawned>(Category::Task, kVerbose),
        kind<TaskInputDelivered>(Category::Task, kDebug),
        kind<WorktreeRetainedForReview>(Category::Workspace, kVerbose),
        kind<WorktreeAutoCleanedUp>(Category::Workspace, kVerbose),
        kind<WorktreeAutoCleanupFailed>(Category::Workspace, kVerbose),
        kind<TaskWorktreeCleanupRetained>(Category::Workspace, kDebug),
        kind<TaskWorktreeCleanupAlreadyRemoved>(Category::Workspace, kDebug),
        kind<TaskCreateRequested>(Category::Task, kDebug),
        // scheduler.h
        kind<SchedulerDecision>(Category::Runtime),
        kind<SchedulerPostureDecision>(Category::Trace),
        kind<ContinuationTriggerReceived>(Category::Runtime, kDebug),
        kind<ContinuationResolved>(Category::Runtime, kDebug),
        kind<SystemTickEmitted>(Category::Runtime),
        kind<WakeHintTriggered>(Category::Trace),
        kind<WakeHintCoalesced>(Category::Trace),
        kind<AgentBudgetExhausted>(Category::Trace),
        kind<AgentSetAside>(Category::Runtime, kByVisibility, Visibility::ActionRequired),
        kind<AgentRecovered>(Category::Runtime, kVerbose),
        kind<WakeHintQuarantined>(Category::Waiting, kVerbose),
        kind<ModelAnswerDelayed>(Category::Runtime, kByVisibility, Visibility::TurnResult),
        kind<AgentStateChanged>(Category::StateSync),
        kind<SessionStateChanged>(Category::StateSync),
        // waiting.h
        kind<WaitConditionCreated>(Category::Trace),
        kind<WaitReconciliationRequested>(Category::Trace),
        kind<WaitConditionResolved>(Category::Trace),
        kind<WaitConditionCancelled>(Category::Trace),
        kind<WaitConditionExpired>(Category::Trace),
        kind<TimerCreated>(Category::Waiting, kDebug),
        kind<TimerCancelled>(Category::Trace),
        kind<TimerFired>(Category::Waiting, kVerbose),
        kind<TimerFireFailed>(Category::Waiting, kVerbose),
        kind<ExternalTriggerCreated>(Category::Trace),
        kind<ExternalTriggerRevoked>(Category::Trace),
        kind<WebhookChanged>(Category::Trace),
        kind<CallbackDelivered>(Category::Waiting, kVerbose),
        kind<WakeRequested>(Category::Runtime, kDebug),
        // work.h
        kind<WorkItemWritten>(Category::WorkItem),
        kind<WorkItemPicked>(Category::WorkItem, kDebug),
        kind<WorkItemFocusReleased>(Category::WorkItem, kDebug),
        kind<WorkItemRecheckConsumed>(Category::Trace),
        kind<WorkItemCompletionReportCandidatePromoted>(Category::Trace),
        kind<WorkItemCompletionReportPromoted>(Category::Trace),
        kind<WorkItemTurnEndCommitted>(Category::WorkItem, kDebug),
        kind<WorkItemTurnEndCommitSkipped>(Category::WorkItem, kDebug),
        kind<WorkItemStaleReminderInjected>(Category::WorkItem, kDebug),
        kind<WorkItemStaleReminderSkipped>(Category::WorkItem, kDebug),
        kind<WorkItemEnqueueRequested>(Category::WorkItem, kDebug),
        kind<WorkItemNoProgress>(Category::WorkItem, kVerbose),
        // workspace.h
        kind<WorkspaceAttached>(Category::Workspace, kVerbose),
        kind<WorkspaceDetached>(Category::Workspace, kVerbose),
        kind<WorkspaceUsed>(Category::Workspace, kDebug),
        kind<WorkspaceEntered>(Category::Workspace, kVerbose),
        kind<WorkspaceExited>(Category::Workspace, kVerbose),
        kind<WorktreeEntered>(Category::Workspace, kVerbose),
        kind<WorktreeExited>(Category::Workspace, kVerbose),
        kind<RecoveryClearedMissingWorktreeSession>(Category::Runtime, kVerbose),
        // control.h
        kind<ControlApplied>(Category::Runtime, kVerbose),
        kind<RunAbortRequested>(Category::Trace),
        kind<AgentCreated>(Category::Runtime, kVerbose),
        kind<SkillInstalled>(Category::Runtime, kVerbose),
        kind<SkillUninstalled>(Category::Runtime, kVerbose),
        kind<AgentModelOverrideSet>(Category::Runtime, kVerbose),
        kind<AgentModelOverrideCleared>(Category::Runtime, kVerbose),
        // undo.h
        kind<PatchesUndone>(Category::Workspace, kByVisibility, Visibility::TurnResult),
        // control.h, of the gate
        kind<GateAccepted>(Category::Trace),
        kind<GateRejected>(Category::Trace),
        kind<GatePurged>(Category::Trace),
        kind<GateReleased>(Category::Trace),
    };
    std::ranges::sort(list, {}, &Kind::name);
    return list;
}

}  // namespace

std::span<const Kind> kinds() {
    static const std::vector<Kind> list = all_kinds();
    return list;
}

const Kind* find_kind(std::string_view name) {
    const auto list = kinds();
    const auto found = std::ranges::lower_bound(list, name, {}, &Kind::name);
    return found != list.end() && found->name == name ? &*found : nullptr;
}

Category category_of(std::string_view kind) {
    if (const auto* known = find_kind(kind)) return known->category;
    if (kind.starts_with("workspace_") || kind.starts_with("worktree_") ||
        kind.starts_with("task_worktree_"))
        return Category::Workspace;
    if (kind.starts_with("turn_local_")) return Category::Runtime;
    return Category::Trace;
}

}  // namespace domain::events
