// The one interface that operators get. Surfaces see this and nothing behind it; what crosses it
// survives a trip through JSON. In one process it is LocalService, over HTTP RemoteService.
//
// Any thread may call, except the loop's: a call may block for a commit or for the network. A
// write is on disk when it returns successfully; an Error means that nothing was changed. Values
// returned belong to the caller.
//
// Failures that programs act on carry a `kind`: agent_stopped (Conflict), stale_run_id and
// no_current_run (Conflict), cursor_not_found (NotFound), capability_refused (Refused),
// not_supported (Unavailable). An unknown or archived agent is NotFound everywhere.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/typed.h"
#include "domain/agent.h"
#include "domain/message.h"
#include "domain/provider.h"
#include "domain/record.h"
#include "domain/turn.h"
#include "domain/waiting.h"

namespace service {

// One prompt, answered to its end. Without `agent` a private temporary agent does it and is removed
// after a success.
struct RunRequest {
    std::string text;
    std::optional<std::string> agent{};
    bool create_agent{false};
    // Resumes what an earlier run of `agent` left open or interrupted; `text` may be empty.
    bool resume{false};
    domain::TrustLevel trust{domain::TrustLevel::TrustedOperator};
    std::optional<std::int64_t> max_turns{};  // Model rounds, at most.
    std::optional<std::string> workspace_root{};
    std::optional<std::string> cwd{};
    // Returns only when background tasks are over and the agent has handled their results.
    bool wait_for_tasks{true};
};
BOOST_DESCRIBE_STRUCT(RunRequest, (),
                      (text, agent, create_agent, resume, trust, max_turns, workspace_root, cwd,
                       wait_for_tasks))
constexpr auto describe_fields(const RunRequest*) {
    return std::to_array<base::FieldDoc>({{.field = "wait_for_tasks", .has_default = true}});
}

enum class FinalStatus { Completed, Waiting, Failed, MaxTurnsExceeded, Interrupted };
BOOST_DESCRIBE_ENUM(FinalStatus, Completed, Waiting, Failed, MaxTurnsExceeded, Interrupted)

struct CacheSummary {
    std::int64_t read_input_tokens{0};
    std::int64_t creation_input_tokens{0};
    std::int64_t cacheable_input_tokens{0};
    std::optional<double> hit_rate{};
};
BOOST_DESCRIBE_STRUCT(CacheSummary, (),
                      (read_input_tokens, creation_input_tokens, cacheable_input_tokens, hit_rate))

struct RunResponse {
    std::string agent_id;
    FinalStatus final_status{FinalStatus::Completed};
    std::optional<domain::WaitingReason> waiting_reason{};
    std::string final_text;
    std::optional<std::string> raw_final_text{};
    std::optional<std::string> sleep_reason{};
    std::optional<domain::FailureArtifact> failure_artifact{};
    std::vector<json::value> tasks{};  // Begun or ended in this run, `{task: TaskOutputSnapshot}`.
    std::int64_t message_count{0};
    std::vector<std::string> changed_files{};
    domain::TokenUsage token_usage{};
    std::int64_t input_tokens{0};
    std::int64_t output_tokens{0};
    std::optional<CacheSummary> provider_cache_usage{};
    std::optional<domain::AttemptTimeline>
        provider_attempt_timeline{};  // All attempts of the run, in order.
    std::int64_t model_rounds{0};
    std::int64_t tool_calls{0};
    std::int64_t shell_commands{0};
    std::int64_t exec_command_items{0};
    std::int64_t batched_exec_command_items{0};
};
BOOST_DESCRIBE_STRUCT(RunResponse, (),
                      (agent_id, final_status, waiting_reason, final_text, raw_final_text,
                       sleep_reason, failure_artifact, tasks, message_count, changed_files,
                       token_usage, input_tokens, output_tokens, provider_cache_usage,
                       provider_attempt_timeline, model_rounds, tool_calls, shell_commands,
                       exec_command_items, batched_exec_command_items))

// Watches a run. Called on the thread that runs it; must not block.
class Observer {
public:
    virtual ~Observer() = default;
    virtual void on_started(const std::string& /*agent_id*/, const std::string& /*model_ref*/) {}
    // A committed event.
    virtual void on_event(const domain::Event& /*event*/) {}
    // Text of the model as it streams in; the committed round follows.
    virtual void on_text(std::string_view /*delta*/) {}
    // Every tick_interval(), while there is one.
    virtual std::chrono::milliseconds tick_interval() const { return std::chrono::milliseconds(0); }
    virtual void on_tick() {}
};

// How a caller was admitted, as its surface saw it. What it may do follows from this, never from
// what it says.
struct Caller {
    domain::AdmissionContext admission{domain::AdmissionContext::LocalProcess};
    std::optional<std::string> actor_id{};
};

// Content of an external sender, by an entry point that authenticates nobody (POST …/enqueue,
// webhooks).
struct EnqueueRequest {
    domain::MessageKind kind{domain::MessageKind::WebhookEvent};
    domain::Origin origin{domain::WebhookOrigin{.source = "http"}};
    domain::Priority priority{domain::Priority::Normal};
    domain::Body body{};
    domain::DeliverySurface surface{domain::DeliverySurface::HttpPublicEnqueue};
    std::optional<json::value> metadata{};
    std::optional<std::string> correlation_id{};
    std::optional<std::string> causation_id{};
    std::optional<std::string> dedupe_key{};
};

// Something changed in the world and the agent may want to check. Never content for the queue.
struct WakeRequest {
    std::string reason;
    std::optional<std::string> source{};
    std::optional<std::string> correlation_id{};
    std::optional<std::string> causation_id{};
};

// What an external system sent to a capability URL. `mode` is the one that the URL names.
struct CallbackRequest {
    std::string token;
    std::string mode;  // wake, enqueue (old; treated as wake)
    std::optional<domain::Body> body{};
    std::optional<std::string> content_type{};
    std::optional<std::string> correlation_id{};
    std::optional<std::string> causation_id{};
};

struct TaskRequest {
    std::string summary;
    std::string cmd;
    std::optional<std::string> workdir{};
    std::optional<std::string> shell{};
    bool login{true};
    bool tty{false};
    bool accepts_input{false};
    std::optional<std::int64_t> yield_time_ms{};
    std::optional<std::int64_t> max_output_tokens{};
    std::optional<domain::TrustLevel> trust{};
};

struct TimerRequest {
    std::int64_t duration_ms{0};
    std::optional<std::int64_t> interval_ms{};
    std::optional<std::string> summary{};
};

enum class LifecycleAction { Pause, Resume, Start, Stop };
BOOST_DESCRIBE_ENUM(LifecycleAction, Pause, Resume, Start, Stop)

struct EventsQuery {
    std::optional<std::int64_t> after_seq{};
    std::optional<std::int64_t> before_seq{};
    std::int64_t limit{128};
    bool newest_first{true};
};

class Service {
public:
    virtual ~Service() = default;

    // Runs one request until the agent sleeps, the budget is spent or it is interrupted; blocks
    // meanwhile and calls `observer`, which outlives the call, on the thread that runs it. A turn
    // that failed is a RunResponse; an Error means that nothing was run (no such agent, no model,
    // or another process runs the agent: Conflict).
    virtual base::Result<RunResponse> run(const RunRequest& request, Observer& observer) = 0;

    // Reads. None of them starts an agent or makes one, and none waits for a writer. -------------

    // The agent as operators see it, in the AgentSummary shape.
    virtual base::Result<json::object> status(const std::string& agent) = 0;
    // The ids of all agents, temporary ones included, in order.
    virtual base::Result<std::vector<std::string>> agents() = 0;
    // Active public agents by id, in the AgentListEntry shape.
    virtual base::Result<std::vector<json::object>> agent_list() = 0;
    // Everything a console shows of one agent, each list bounded, with the event cursor to follow
    // from.
    virtual base::Result<json::object> state(const std::string& agent) = 0;
    // The active tasks, last changed first, at most `limit`.
    virtual base::Result<std::vector<domain::Task>> tasks(const std::string& agent,
                                                          std::int64_t limit) = 0;
    // All timers, newest first, at most `limit`.
    virtual base::Result<std::vector<domain::Timer>> timers(const std::string& agent,
                                                            std::int64_t limit) = 0;
    // What the runtime is doing: counts of agents and tasks, and the last failure.
    virtual base::Result<json::object> activity() = 0;
    // The prompt that `text` would be sent with, as text. Nothing is run and nothing is stored.
    virtual base::Result<std::string> debug_prompt(const std::string& agent,
                                                   const std::string& text,
                                                   domain::TrustLevel trust) = 0;
    // Which model the agent asks, and why, in the AgentModelState shape.
    virtual base::Result<json::object> model(const std::string& agent) = 0;
    // Gives this agent a model of its own from its next turn on; a turn that is open ends with the
    // model it began with. Returns the new state. A model that cannot be asked is Refused.
    virtual base::Result<json::object> set_model(const std::string& agent,
                                                 const std::string& model_ref) = 0;
    // Returns the agent to the default model and its fallbacks, in the same way.
    virtual base::Result<json::object> clear_model(const std::string& agent) = 0;
    // The newest `limit` entries, oldest first.
    virtual base::Result<std::vector<domain::TranscriptEntry>> transcript(const std::string& agent,
                                                                          std::int64_t limit) = 0;
    // The newest `limit` briefs, oldest first.
    virtual base::Result<std::vector<domain::Brief>> briefs(const std::string& agent,
                                                            std::int64_t limit) = 0;
    // Events after `after_seq`, oldest first, at most `limit`.
    virtual base::Result<std::vector<domain::Event>> events(const std::string& agent,
                                                            std::int64_t after_seq,
                                                            std::int64_t limit) = 0;
    // A page of events in either direction. A cursor beyond the history is cursor_not_found.
    virtual base::Result<std::vector<domain::Event>> event_page(const std::string& agent,
                                                                const EventsQuery& query) = 0;
    // The number of the agent's newest event; 0 when it has none.
    virtual base::Result<std::int64_t> newest_event(const std::string& agent) = 0;
    // Calls `changed` after each commit that added events to the agent, with the number of the
    // newest, until the token is dropped; a call that has begun by then may still arrive. It runs
    // on a thread of the runtime, must return at once, and reads the events on a thread of its own.
    // Numbers may be skipped, never the last one.
    [[nodiscard]] virtual std::shared_ptr<void> watch(
        const std::string& agent, std::function<void(std::int64_t newest_seq)> changed) = 0;

    // Deliveries. Each is queued durably and wakes the agent; a stopped agent refuses
    // (agent_stopped). ---------------------------------------------------------------------------

    // A message of the operator. Returns its id.
    virtual base::Result<std::string> prompt(const std::string& agent, const std::string& text,
                                             const Caller& caller) = 0;
    // A message of an external sender. Returns its id; the same dedupe key again returns the first.
    virtual base::Result<std::string> enqueue(const std::string& agent,
                                              const EnqueueRequest& request) = 0;
    // A hint without content. Returns {disposition: triggered | coalesced | ignored}.
    virtual base::Result<json::object> wake(const std::string& agent, const WakeRequest& request,
                                            const Caller& caller) = 0;
    // A request to a capability URL; returns the body of its answer. Refused (capability_refused)
    // for a token that no agent holds.
    virtual base::Result<json::object> callback(const CallbackRequest& request) = 0;

    // Control. Each is recorded with its caller. --------------------------------------------------

    // Makes an agent and returns its identity record. An agent that exists is returned as it is.
    virtual base::Result<domain::AgentIdentity> create_agent(
        const std::string& agent, const std::optional<std::string>& template_name,
        const Caller& caller) = 0;
    // Pauses, resumes, starts or stops an agent. An open turn of a paused or stopped agent is
    // interrupted after the commit. The same action again changes nothing.
    virtual base::Status set_lifecycle(const std::string& agent, LifecycleAction action,
                                       const Caller& caller) = 0;
    // Ends the current turn and leaves the agent stopped; its message is dropped. `run_id` guards
    // against ending another one (stale_run_id); without an open turn: no_current_run.
    virtual base::Result<json::object> abort_run(const std::string& agent,
                                                 const std::optional<std::string>& run_id,
                                                 const Caller& caller) = 0;
    // Starts a command as a task of the agent and returns its record; its result comes to the agent
    // as a message. Refused where the sandbox or the number of tasks forbids it.
    virtual base::Result<domain::Task> start_task(const std::string& agent,
                                                  const TaskRequest& request,
                                                  const Caller& caller) = 0;
    // A timer that wakes the agent, once or at an interval. Refused beyond the agent's bound.
    virtual base::Result<domain::Timer> create_timer(const std::string& agent,
                                                     const TimerRequest& request,
                                                     const Caller& caller) = 0;
    // Cancels an active timer and returns it; NotFound for one that is not this agent's.
    virtual base::Result<domain::Timer> cancel_timer(const std::string& agent,
                                                     const std::string& timer,
                                                     const Caller& caller) = 0;
    // The agent's wake capability, with its URL path, which is a secret. `rotate` replaces the
    // token: the old URL fails from then on.
    virtual base::Result<json::object> external_trigger(const std::string& agent, bool rotate,
                                                        const Caller& caller) = 0;
    // Revokes the capability; its URL fails from now on.
    virtual base::Status revoke_trigger(const std::string& agent, const Caller& caller) = 0;
    // Attaches the folder at `path` to the agent: it may choose to work there from now on. Refused
    // beyond the bound of attached workspaces.
    virtual base::Result<domain::WorkspaceEntry> attach_workspace(const std::string& agent,
                                                                  const std::string& path,
                                                                  const Caller& caller) = 0;
    // Moves the agent back to its own folder; what is attached stays attached.
    virtual base::Status exit_workspace(const std::string& agent, const Caller& caller) = 0;
    // Forgets an attached workspace. Conflict for the one the agent works in, and for its home.
    virtual base::Status detach_workspace(const std::string& agent, const std::string& workspace_id,
                                          const Caller& caller) = 0;
};

}  // namespace service
