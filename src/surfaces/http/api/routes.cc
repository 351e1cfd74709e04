// The table of routes.
#include "domain/agent.h"
#include "service/gate.h"
#include "service/mcp.h"
#include "surfaces/http/api/answers.h"
#include "surfaces/http/api/bodies.h"
#include "surfaces/http/api/handlers.h"
#include "surfaces/http/api/route_table.h"

namespace http_surface {
namespace {

// Answers may get new members, so their schemas forbid none.
void open_up(json::value& schema) {
    if (auto* object = schema.if_object()) {
        if (const auto* closed = object->if_contains("additionalProperties");
            closed && closed->is_bool())
            object->erase("additionalProperties");
        for (auto& member : *object) open_up(member.value());
    } else if (auto* array = schema.if_array()) {
        for (auto& item : *array) open_up(item);
    }
}

template <class T>
json::object answer_schema() {
    json::value schema = base::schema_of<T>();
    open_up(schema);
    return std::move(schema.as_object());
}

template <class T>
json::object body_schema() {
    return answer_schema<T>();
}
template <class T>
json::object strict_schema() {
    return base::schema_of<T>();
}
json::object any_json() {
    return {};
}

// A greater limit is answered with the greatest.
constexpr QueryDoc kLimit20[] = {{"limit", "How many, the newest; at most 10000.",
                                  R"({"type":"integer","minimum":0,"default":20})"}};
constexpr QueryDoc kLimit50[] = {{"limit", "How many, the newest; at most 10000.",
                                  R"({"type":"integer","minimum":0,"default":50})"}};
constexpr QueryDoc kLimitRuns[] = {
    {"limit", "How many; at most 1000.", R"({"type":"integer","minimum":0,"default":20})"}};
constexpr QueryDoc kAgentsQuery[] = {
    {"after", "Only agents whose id comes after this one.", R"({"type":"string"})"},
    {"limit", "How many; at most 1000.", R"({"type":"integer","minimum":0,"default":1000})"}};
constexpr QueryDoc kBefore{"before",
                           "The next part: the value that the Link header of this one has.",
                           R"({"type":"string"})"};
constexpr QueryDoc kBriefsQuery[] = {kLimit20[0], kBefore};
constexpr QueryDoc kHistoryQuery[] = {kLimit50[0], kBefore};
constexpr QueryDoc kGateQuery[] = {{"place", "Only documents in this place.",
                                    R"({"enum":["outbox","inbound","quarantine","purged"]})"},
                                   kLimit50[0],
                                   kBefore};
constexpr QueryDoc kWorkQuery[] = {
    {"filter", "Which of them.",
     R"({"enum":["all","open","runnable","blocked","waiting_for_operator","completed"],"default":"all"})"},
    {"after", "The 'next' of the page before.", R"({"type":"string"})"},
    {"limit", "How many.", R"({"type":"integer","minimum":1,"maximum":200,"default":50})"}};
constexpr QueryDoc kMemoryQuery[] = {
    {"query", "The words to find. Quotes and operators mean nothing.", R"({"type":"string"})"},
    {"limit", "How many.", R"({"type":"integer","minimum":1,"maximum":50,"default":10})"},
    {"include_all_workspaces", "Not only the workspace that the agent works in.",
     R"({"type":"boolean","default":false})"}};
constexpr QueryDoc kDocumentQuery[] = {
    {"source_ref", "Of a hit.", R"({"type":"string"})"},
    {"max_chars", "How much of the text.",
     R"({"type":"integer","minimum":1,"maximum":50000,"default":12000})"}};
constexpr QueryDoc kRecordsQuery[] = {
    {"query", "The words to find. Quotes and operators mean nothing.", R"({"type":"string"})"},
    {"agent", "Only records of this agent.", R"({"type":"string"})"},
    {"since", "Only records since this time (RFC 3339).", R"({"type":"string"})"},
    {"limit", "How many.", R"({"type":"integer","minimum":1,"maximum":200,"default":20})"}};
constexpr QueryDoc kPageQuery[] = {
    {"after_seq", "Only events after this one.", R"({"type":"integer","minimum":0})"},
    {"before_seq", "Only events before this one.", R"({"type":"integer","minimum":0})"},
    {"limit", "How many.", R"({"type":"integer","minimum":1,"maximum":512,"default":128})"},
    {"order", "Newest or oldest first.", R"({"enum":["asc","desc"],"default":"desc"})"},
    {"projection", "Both contain the whole payload.",
     R"({"enum":["operator","local_debug"],"default":"operator"})"}};
constexpr QueryDoc kStreamQuery[] = {
    {"after_seq",
     "Replays the events after this one, then follows; 0 starts at the oldest that is kept. "
     "Without "
     "it, only new events. A Last-Event-ID header takes precedence.",
     R"({"type":"integer","minimum":0})"},
    {"limit", "Accepted for older clients.", R"({"type":"integer","minimum":1,"maximum":512})"},
    {"projection", "As for pages.", R"({"enum":["operator","local_debug"]})"},
    {"deltas",
     "Adds frames `event: delta` without an id: the model's text as it streams in, the "
     "newest line of a running command, retries, and that an MCP server asks the operator "
     "something. They are never stored, and a slow reader misses some.",
     R"({"type":"boolean","default":false})"}};

constexpr Route snapshot(Route route) {
    route.is_snapshot = true;
    return route;
}
constexpr Route open(Route route) {
    route.guard = Guard::Open;
    return route;
}
constexpr Route capability(Route route) {
    route.guard = Guard::Capability;
    route.body = BodyRule::Bytes;
    return route;
}
// A secret in the path and JSON in the body.
constexpr Route webhook(Route route) {
    route.guard = Guard::Capability;
    return route;
}
constexpr Route later(Method method, std::string_view pattern, std::string_view summary) {
    return {.method = method,
            .pattern = pattern,
            .summary = summary,
            .handle = not_supported,
            .supported = false};
}

#define AGENT "/agents/{agent_id}"
#define CONTROL "/control/agents/{agent_id}"

constexpr auto kSummary = answer_schema<AgentSummary>;
constexpr auto kState = answer_schema<AgentStateSnapshot>;
constexpr auto kBriefs = answer_schema<std::vector<domain::Brief>>;
constexpr auto kTranscript = answer_schema<std::vector<domain::TranscriptEntry>>;

constexpr Route kRoutes[] = {
    get("/", "Identifies this server as holon.", reads::root, answer_schema<Root>),
    get("/handshake", "The protocol and authentication of this listener.", runtime::handshake,
        answer_schema<Handshake>),
    get("/models", "All known models, and whether they can be used.", reads::models,
        answer_schema<Models>),
    get("/agents/list", "Active public agents, in short, to choose one.", reads::agent_list,
        answer_schema<std::vector<AgentListEntry>>, kAgentsQuery),
    snapshot(get(AGENT "/status", "The status of one agent. Its shape is stable.", reads::status,
                 kSummary)),
    snapshot(get("/status", "The same for the default agent.", reads::status, kSummary)),
    get(AGENT "/state",
        "First-party bootstrap: everything a console shows, and the cursor to follow from.",
        reads::state, kState),
    get("/state", "The same for the default agent.", reads::state, kState),
    of_history(get(AGENT "/briefs", "The agent's messages to its operator, oldest first.",
                   reads::briefs, kBriefs, kBriefsQuery)),
    of_history(
        get("/briefs", "The same for the default agent.", reads::briefs, kBriefs, kBriefsQuery)),
    of_history(get(AGENT "/transcript", "The conversation, oldest first.", reads::transcript,
                   kTranscript, kHistoryQuery)),
    of_history(get("/transcript", "The same for the default agent.", reads::transcript, kTranscript,
                   kHistoryQuery)),
    of_history(get(AGENT "/memory", "Searches what the agent noted, did and reported, best first.",
                   searches::memory, answer_schema<domain::MemoryHits>, kMemoryQuery)),
    of_history(get(AGENT "/memory/document", "The text behind a hit.", searches::document,
                   answer_schema<domain::MemoryDocument>, kDocumentQuery)),
    of_history(get("/search", "Searches transcripts, briefs and events of all agents, best first.",
                   searches::records, answer_schema<domain::RecordHits>, kRecordsQuery)),
    get(AGENT "/tasks", "Active tasks, newest change first.", reads::tasks,
        answer_schema<std::vector<domain::Task>>, kLimit50),
    get(AGENT "/timers", "Timers, newest first.", reads::timers,
        answer_schema<std::vector<domain::Timer>>, kHistoryQuery),
    of_history(get(AGENT "/work-items", "A page of work items, newest change first.", work::list,
                   answer_schema<service::WorkItemsPage>, kWorkQuery)),
    of_history(get(AGENT "/work-items/{work_item_id}", "One work item.", work::show, any_json)),
    of_history(get(AGENT "/events", "A page of the agent's events.", reads::events,
                   answer_schema<EventPage>, kPageQuery)),
    get(AGENT "/events/stream", "The agent's events as they happen.", reads::event_stream, nullptr,
        kStreamQuery),
    get("/control/runtime/status", "The process, and what it is doing.", runtime::status,
        answer_schema<RuntimeStatus>),
    get("/control/runtime/readiness", "The process.", runtime::readiness,
        answer_schema<RuntimeStatus>),
    get("/metrics", "Counters of this server, for Prometheus.", runtime::metrics, nullptr),
    get("/openapi.json", "This document.", runtime::openapi, any_json),
    open(get("/healthz", "Is the process alive?", runtime::healthz, answer_schema<Ok>)),
    open(get("/readyz", "Can the runtime write, and is its database sound? 503 with the reason.",
             runtime::readyz, answer_schema<Ok>)),

    of_history(get("/control/gate/documents",
                   "Result documents, newest first; waiting ones are judged first.", gates::list,
                   answer_schema<std::vector<domain::GateDocument>>, kGateQuery)),
    of_history(get("/control/gate/documents/{document_id}", "One document, with all reasons.",
                   gates::show, answer_schema<service::GateView>)),
    post("/control/gate/check", "The gate's verdict on a document; nothing is moved.", gates::check,
         strict_schema<GateCheckBody>, answer_schema<service::GateVerdict>),
    post("/control/gate/documents/{document_id}/release",
         "Releases a rejected document, and sends a message to its agent.", gates::release,
         strict_schema<GateReleaseBody>, answer_schema<domain::GateDocument>),
    post("/control/gate/purge", "Deletes rejected documents: one, or all older than some days.",
         gates::purge, strict_schema<service::PurgeRequest>,
         answer_schema<std::vector<domain::GateDocument>>),

    of_history(get("/control/mcp/questions",
                   "What MCP servers ask the operator while a call waits, the oldest first.",
                   mcp_servers::questions, answer_schema<std::vector<service::McpQuestion>>)),
    post("/control/mcp/questions/{question_id}/answer",
         "Answers or declines a question; values that do not fit its schema are refused.",
         mcp_servers::answer, strict_schema<service::McpAnswer>, answer_schema<Ok>),
    of_history(get("/control/mcp/prompts", "The prompts that MCP servers offer.",
                   mcp_servers::prompts, answer_schema<std::vector<service::McpPrompt>>)),
    post("/control/mcp/prompts/expand", "The text of a prompt, as its server makes it.",
         mcp_servers::expand, strict_schema<service::McpPromptRequest>,
         answer_schema<service::McpPromptText>),

    post(AGENT "/enqueue", "Content from an external sender, as evidence.", deliveries::enqueue,
         body_schema<EnqueueBody>, answer_schema<Delivered>),
    post("/enqueue", "The same for the default agent.", deliveries::enqueue,
         body_schema<EnqueueBody>, answer_schema<Delivered>),
    webhook(post("/webhooks/{token}",
                 "A delivery of an external system, as JSON. The token is that of `holon webhook "
                 "create`; GitHub, GitLab and Stripe sign it, too.",
                 deliveries::webhook, any_json, answer_schema<Delivered>)),
    webhook(post("/webhooks/generic/{agent_id}", "Closed; the answer says how to open one.",
                 deliveries::closed_webhook, any_json, answer_schema<Delivered>)),
    capability(post("/callbacks/wake/{token}",
                    "Reports an external change: wakes the agent of this URL.",
                    deliveries::wake_callback, nullptr, answer_schema<CalledBack>)),
    capability(post("/callbacks/enqueue/{token}", "The deprecated form of the same.",
                    deliveries::enqueue_callback, nullptr, answer_schema<CalledBack>)),
    post(CONTROL "/prompt", "A message from the operator.", deliveries::prompt,
         body_schema<PromptBody>, answer_schema<Delivered>),
    post(CONTROL "/wake", "Wakes the agent.", deliveries::wake, body_schema<WakeBody>,
         answer_schema<Woken>),
    post(CONTROL "/control",
         "Starts, stops, pauses or resumes the agent, or recovers it after a fault.",
         controls::control, body_schema<ControlBody>, answer_schema<Ok>),
    post(CONTROL "/current-run/abort", "Aborts the current turn and leaves the agent stopped.",
         controls::abort_run, body_schema<AbortBody>, answer_schema<Aborted>),
    post(CONTROL "/compact", "Compacts the conversation of an agent that is in no turn.",
         controls::compact, strict_schema<TrustBody>, answer_schema<ConversationCompacted>),
    post(CONTROL "/create", "Creates the agent, or returns the existing one.", controls::create,
         body_schema<CreateBody>, answer_schema<domain::AgentIdentity>),
    post(CONTROL "/tasks", "Starts a command as a background task of the agent.",
         controls::start_task, strict_schema<TaskBody>, answer_schema<domain::Task>),
    post(CONTROL "/tasks/{task_id}/stop", "Stops a task; again: by force.", controls::stop_task,
         strict_schema<TrustBody>, answer_schema<domain::Task>),
    post(CONTROL "/tasks/{task_id}/input", "Writes to the standard input of a task.",
         controls::task_input, strict_schema<TaskInputBody>, answer_schema<domain::Task>),
    of_history(get(AGENT "/tasks/{task_id}/output", "A task and the end of its output.",
                   controls::task_output, any_json)),
    post(CONTROL "/delete", "Removes the agent with its records and its home.",
         controls::delete_agent, strict_schema<TrustBody>, answer_schema<Ok>),
    post(CONTROL "/workspace/move", "Changes the folder that the agent works in.",
         controls::move_agent, strict_schema<MoveBody>, answer_schema<domain::WorkspaceEntry>),
    post(CONTROL "/timers", "Sets a timer.", controls::create_timer, body_schema<TimerBody>,
         answer_schema<domain::Timer>),
    post(CONTROL "/timers/{timer_id}/cancel", "Cancels a timer.", controls::cancel_timer,
         body_schema<TrustBody>, answer_schema<domain::Timer>),
    post(CONTROL "/work-items", "Creates a work item; the agent starts on it when it is free.",
         work::create, body_schema<WorkItemBody>, answer_schema<domain::WorkItem>),
    post(CONTROL "/work-items/{work_item_id}/pick", "Makes it the agent's current one.", work::pick,
         strict_schema<TrustBody>, any_json),
    post(CONTROL "/work-items/{work_item_id}/block", "Blocks it; the agent is reminded later.",
         work::block, strict_schema<WorkBlockBody>, any_json),
    post(CONTROL "/work-items/{work_item_id}/unblock",
         "Lets it continue, whether it was blocked or waited for the operator.", work::unblock,
         strict_schema<TrustBody>, any_json),
    post(CONTROL "/work-items/{work_item_id}/done", "Completes it.", work::done,
         strict_schema<TrustBody>, any_json),
    post(CONTROL "/debug-prompt", "Shows the prompt that a message would produce; runs nothing.",
         controls::debug_prompt, body_schema<DebugPromptBody>, answer_schema<PromptDump>),
    post(CONTROL "/model", "Sets the agent's own model.", controls::set_model,
         body_schema<ModelBody>, answer_schema<ModelChanged>),
    post(CONTROL "/model/clear", "Restores the default model.", controls::clear_model,
         body_schema<TrustBody>, answer_schema<ModelChanged>),
    post(CONTROL "/workspace/attach", "Allows the agent to use a folder.",
         controls::attach_workspace, strict_schema<AttachBody>, answer_schema<Attached>),
    post(CONTROL "/workspace/exit", "Leaves the active workspace.", controls::exit_workspace,
         strict_schema<TrustBody>, answer_schema<Done>),
    post(CONTROL "/workspace/detach", "No longer allows the agent to use a folder.",
         controls::detach_workspace, strict_schema<DetachBody>, answer_schema<Detached>),
    post(CONTROL "/undo", "Undoes the patches that the agent made last.", controls::undo,
         strict_schema<service::UndoRequest>, answer_schema<service::Undone>),
    post(CONTROL "/external-trigger", "The agent's wake URL, which is a secret.",
         controls::external_trigger, strict_schema<TrustBody>, answer_schema<Done>),
    post(CONTROL "/external-trigger/rotate", "Replaces the wake URL; the old one stops working.",
         controls::rotate_trigger, strict_schema<TrustBody>, answer_schema<Done>),
    post(CONTROL "/external-trigger/revoke", "Revokes the wake URL.", controls::revoke_trigger,
         strict_schema<TrustBody>, answer_schema<Done>),
    get(AGENT "/webhooks", "The agent's webhooks, newest first, without URLs and secrets.",
        controls::webhooks, answer_schema<std::vector<service::WebhookView>>),
    post(CONTROL "/webhooks", "Makes a webhook. Its URL and secret are shown only now.",
         controls::create_webhook, strict_schema<service::WebhookRequest>,
         answer_schema<service::WebhookView>),
    post(CONTROL "/webhooks/{webhook_id}/rotate",
         "Replaces the URL and the secret of a webhook; the old ones stop working.",
         controls::rotate_webhook, strict_schema<RotateWebhookBody>,
         answer_schema<service::WebhookView>),
    post(CONTROL "/webhooks/{webhook_id}/revoke", "Revokes a webhook.", controls::revoke_webhook,
         strict_schema<TrustBody>, answer_schema<service::WebhookView>),
    get(AGENT "/operator-bindings", "The transports bound to the agent, without their tokens.",
        controls::operator_bindings, answer_schema<std::vector<domain::OperatorBinding>>),
    post(CONTROL "/operator-bindings",
         "Binds a transport by which an operator talks to the agent, or changes a binding.",
         controls::bind_operator, strict_schema<service::OperatorBindingRequest>,
         answer_schema<Bound>),
    post(CONTROL "/operator-bindings/{binding_id}/revoke", "Revokes a binding.",
         controls::revoke_operator_binding, strict_schema<TrustBody>,
         answer_schema<domain::OperatorBinding>),
    post(CONTROL "/operator-ingress", "A message from an operator over a bound transport.",
         controls::operator_ingress, strict_schema<service::OperatorIngressRequest>,
         answer_schema<Delivered>),
    post("/control/runs/stream",
         "Gives an agent one prompt. The connection holds the run: closing it interrupts the turn.",
         runs::start, strict_schema<service::RunRequest>, nullptr),
    of_history(get("/control/runs", "Runs of temporary agents that are kept, newest first.",
                   runs::list, answer_schema<std::vector<service::RecentRun>>, kLimitRuns)),
    get("/control/runs/{run_id}", "The result of a run that is over.", runs::result,
        answer_schema<service::RunResponse>),
    post("/control/runs/{run_id}/interrupt", "Stops the turn of a run; its message is kept.",
         runs::interrupt, body_schema<InterruptBody>, answer_schema<Ok>),
    post("/control/runs/{run_id}/finish", "Says that the client has read the result of its run.",
         runs::finish, body_schema<TrustBody>, answer_schema<Ok>),
    get("/templates", "What agents can be created from.", skills::templates,
        answer_schema<std::vector<json::object>>),
    get(AGENT "/skills", "The agent's own skills.", skills::list, answer_schema<InstalledSkills>),
    of_history(get(AGENT "/skills/{skill}",
                   "A skill that the agent can discover, with its SKILL.md.", skills::show,
                   any_json)),
    post(CONTROL "/skills/install",
         "Installs a skill: a builtin one, one of the user's, a folder, or one on GitHub.",
         skills::install, strict_schema<SkillInstallBody>, answer_schema<SkillChanged>),
    post(CONTROL "/skills/uninstall", "Removes one of the agent's own skills.", skills::uninstall,
         strict_schema<SkillNameBody>, answer_schema<SkillChanged>),
    {.method = Method::Post,
     .pattern = "/control/runtime/shutdown",
     .summary = "Shuts the process down. Does not stop agents.",
     .handle = runtime::shutdown,
     .response_schema = answer_schema<ShutdownRequested>},

    later(Method::Get, AGENT "/worktree-summary", "The agent's worktrees."),
    later(Method::Get, "/worktree-summary", "The same for the default agent."),
};

#undef AGENT
#undef CONTROL

}  // namespace

std::span<const Route> routes() {
    static const auto all = [] {
        std::vector<Route> list(std::begin(kRoutes), std::end(kRoutes));
        const auto plans = plan_routes();
        list.insert(list.end(), plans.begin(), plans.end());
        return list;
    }();
    return all;
}

}  // namespace http_surface
