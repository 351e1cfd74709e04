#include "store/sql/families.h"

#include "store/sql/codec.h"
#include "store/store.h"

namespace sql {
namespace {

template <class T>
base::Status decodes(std::string_view bytes) {
    TRY(decode<T>(bytes));
    return {};
}

constexpr Family kFamilies[] = {
    {"agents", "agent_id", "record", 1, decodes<domain::Agent>},
    {"messages", "id", "record", 1, decodes<domain::Message>},
    {"attempts", "run_id", "record", 1, decodes<domain::Attempt>},
    {"frames", "run_id", "frame", 1, decodes<json::value>},
    {"tool_executions", "call_id", "record", 1, decodes<domain::ToolExecution>},
    {"events", "agent_id || '/' || event_seq", "record", 1, decodes<domain::Event>},
    {"transcript", "agent_id || '/' || seq", "record", 1, decodes<domain::TranscriptEntry>},
    {"briefs", "agent_id || '/' || seq", "record", 1, decodes<domain::Brief>},
    {"waits", "id", "record", 1, decodes<domain::Wait>},
    {"timers", "id", "record", 1, decodes<domain::Timer>},
    {"tasks", "id", "record", 1, decodes<domain::Task>},
    {"outbox", "effect_id", "payload", 1, decodes<json::value>},
    {"external_triggers", "id", "record", 2, decodes<domain::ExternalTrigger>},
    {"wake_hints", "agent_id", "record", 2, decodes<domain::WakeHint>},
    {"workspaces", "workspace_id", "record", 2, decodes<domain::WorkspaceEntry>},
    {"plan_runs", "run_id", "record", 4, decodes<domain::PlanRun>},
    {"plan_inputs", "run_id", "record", 25, decodes<domain::PlanInputs>},
    {"plan_documents", "run_id", "plan", 4, decodes<std::string>},
    {"plan_actions", "name", "record", 4, decodes<domain::PlanAction>},
    {"gate_documents", "document_id", "record", 5, decodes<domain::GateDocument>},
    {"plan_origins", "plan_hash", "record", 6, decodes<domain::PlanOrigin>},
    {"worktrees", "worktree_path", "record", 7, decodes<domain::ManagedWorktree>},
    {"work_items", "id", "record", 14, decodes<domain::WorkItem>},
    {"delivery_summaries", "id", "record", 14, decodes<domain::DeliverySummary>},
    {"agent_statistics", "agent_id", "record", 11, decodes<domain::AgentStatistics>},
    {"agent_faults", "agent_id", "record", 12, decodes<domain::AgentFault>},
    {"webhooks", "id", "record", 20, decodes<domain::Webhook>},
    {"operator_notifications", "id", "record", 21, decodes<domain::OperatorNotification>},
    {"operator_bindings", "id", "record", 21, decodes<domain::OperatorBinding>},
    {"operator_deliveries", "id", "record", 21, decodes<domain::OperatorDelivery>},
    {"working_memory", "agent_id", "record", 24, decodes<domain::WorkingMemory>},
    {"episodes", "agent_id || '/' || seq", "record", 24, decodes<domain::ContextEpisode>},
    {"retention", "id", "record", 17, decodes<store::RetentionState>},
    {"bodies", "hash", "body", 19, decodes<std::string>},
};

}  // namespace

std::span<const Family> families() {
    return kFamilies;
}

}  // namespace sql
