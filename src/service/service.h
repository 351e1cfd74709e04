// The one interface that operators get. Surfaces see this and nothing behind it; what crosses it
// survives a trip through JSON. In one process it is LocalService, over HTTP RemoteService.
//
// Any thread may call, except the loop's: a call may block for a commit or for the network. A
// write is on disk when it returns successfully; an Error means that nothing was changed. Values
// returned belong to the caller.
//
// Failures that programs act on carry a `kind`: agent_stopped (Conflict), stale_run_id and
// no_current_run (Conflict), cursor_not_found (NotFound), capability_refused (Refused), those of
// deliver_webhook() (Refused), not_supported (Unavailable). An unknown agent is NotFound
// everywhere; an archived one, as a child that has ended, everywhere but in what it said and did:
// transcript(), briefs() and events.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/typed.h"
#include "domain/agent.h"
#include "domain/message.h"
#include "domain/operators/notifications.h"
#include "domain/provider.h"
#include "domain/record.h"
#include "domain/search/memory_search.h"
#include "domain/search/record_search.h"
#include "domain/trigger.h"
#include "domain/turn.h"
#include "domain/waiting.h"
#include "domain/work.h"
#include "service/list.h"

namespace service {

// One prompt, answered to its end. Without `agent` a private temporary agent does it; recent_runs()
// lists those, and retention removes them. Paths are absolute: the runtime may have been started in
// another folder.
struct RunRequest {
    std::string text;
    std::optional<std::string> agent{};
    bool create_agent{false};
    std::optional<std::string> template_{};  // What a new agent is made from; see create_agent().
    // Resumes what an earlier run of `agent` left open or interrupted; `text` may be empty.
    bool resume{false};
    domain::TrustLevel trust{domain::TrustLevel::TrustedOperator};
    std::optional<std::int64_t> max_turns{};  // Model rounds, at most.
    std::optional<std::string> workspace_root{};
    std::optional<std::string> cwd{};
    // The run is over only when background tasks are over and the agent has handled their results.
    bool wait_for_tasks{true};
    // Where a new agent works when neither path above is given: the client's project, and the
    // folder the client was started in where that lies inside the project.
    std::optional<std::string> client_workspace{};
    std::optional<std::string> client_cwd{};
    // The model that the agent asks from now on, provider/model; absent: as before.
    std::optional<std::string> model{};
};
BOOST_DESCRIBE_STRUCT(RunRequest, (),
                      (text, agent, create_agent, template_, resume, trust, max_turns,
                       workspace_root, cwd, wait_for_tasks, client_workspace, client_cwd, model))
constexpr auto describe_fields(const RunRequest*) {
    return std::to_array<base::FieldDoc>({{.field = "text", .has_default = true},
                                          {.field = "create_agent", .has_default = true},
                                          {.field = "resume", .has_default = true},
                                          {.field = "trust", .has_default = true},
                                          {.field = "wait_for_tasks", .has_default = true}});
}

// A run that was admitted.
struct RunStarted {
    std::string run_id;  // Names it in the calls below, for as long as its lease is held.
    std::string agent_id;
    std::string model_ref;                    // The model that the agent asks.
    std::optional<std::string> message_id{};  // Absent for a resumption without a text.
    std::int64_t event_seq{0};                // Events of the run come after this one.
    std::optional<std::string> cwd{};         // The folder that the agent works in.
    // The client was started outside of the project that the agent works in.
    bool is_elsewhere{false};
    friend bool operator==(const RunStarted&, const RunStarted&) = default;
};
BOOST_DESCRIBE_STRUCT(RunStarted, (),
                      (run_id, agent_id, model_ref, message_id, event_seq, cwd, is_elsewhere))
constexpr auto describe_fields(const RunStarted*) {
    return std::to_array<base::FieldDoc>({{.field = "is_elsewhere", .has_default = true}});
}

// A run of a temporary agent, as it is listed.
struct RecentRun {
    std::string agent_id;
    base::Time started_at{};
    std::string text;                  // The beginning of its first prompt, in one line.
    std::optional<std::string> cwd{};  // Where it works.
    std::int64_t turns{0};
    bool is_open{false};  // Interrupted or still at work: `run --resume` continues it.
    friend bool operator==(const RecentRun&, const RecentRun&) = default;
};
BOOST_DESCRIBE_STRUCT(RecentRun, (), (agent_id, started_at, text, cwd, turns, is_open))
inline constexpr std::int64_t kRecentRunsMax = 1000;

// Called once, on a thread of the runtime, and must return at once. Success: the run is over and
// run_result() can be read. An Error: it cannot be followed to its end, and says what to do.
using RunEnded = std::function<void(const base::Status&)>;

// The lease binds a run to its client: dropping it before the run is over interrupts the turn, as
// Ctrl-C does; dropping it later makes the runtime forget the run. Any thread may drop it, but not
// one of the runtime's, and not after the service.
struct RunHold {
    RunStarted started;
    std::shared_ptr<void> lease;
};

// Completed: nothing is left to do. Waiting: the agent waits, for what `waiting_reason` says, and
// continues when that comes, also without a client where a daemon serves. Failed: the last turn
// failed. MaxTurnsExceeded: the bound on model rounds of the run, or of its turn, was reached
// first. Interrupted: the turn was stopped, and its message is kept for a resumption.
enum class FinalStatus { Completed, Waiting, Failed, MaxTurnsExceeded, Interrupted };
BOOST_DESCRIBE_ENUM(FinalStatus, Completed, Waiting, Failed, MaxTurnsExceeded, Interrupted)

// What the cache of the provider saved, over the model rounds whose answer reported it.
struct CacheSummary {
    std::int64_t read_input_tokens{0};
    std::int64_t creation_input_tokens{0};
    std::int64_t cacheable_input_tokens{0};  // All input tokens of these rounds.
    std::optional<double> hit_rate{};        // The share of them that was read from the cache.
};
BOOST_DESCRIBE_STRUCT(CacheSummary, (),
                      (read_input_tokens, creation_input_tokens, cacheable_input_tokens, hit_rate))

// What a run has come to, from committed records: a copy as of one moment. Numbers count what the
// agent did since the run began, in all turns of that time; a resumed turn counts from there on.
struct RunResponse {
    std::string agent_id;
    FinalStatus final_status{FinalStatus::Completed};
    std::optional<domain::WaitingReason> waiting_reason{};  // Of Waiting only.
    std::string final_text;  // The report of the work item completed last, else the model's text.
    std::optional<std::string> raw_final_text{};  // The model's last text; absent without a turn.
    std::optional<std::string> sleep_reason{};    // Of an agent that sleeps now.
    // Of Failed and MaxTurnsExceeded: what happened, and what to do about it.
    std::optional<domain::FailureArtifact> failure_artifact{};
    std::vector<json::value> tasks{};  // Begun or ended in this run, `{task: TaskOutputSnapshot}`.
    std::int64_t message_count{0};     // Messages that got a turn.
    std::vector<std::string> changed_files{};  // That tools report; sorted, each once.
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

// What happens right now; Delta::text says what each has to report.
enum class DeltaKind { Text, Output, Retry, Question };
BOOST_DESCRIBE_ENUM(DeltaKind, Text, Output, Retry, Question)

// What an agent is doing right now, for people to watch. Never stored; the committed events that
// follow are the truth.
struct Delta {
    DeltaKind kind{DeltaKind::Text};
    // Text: a piece of the model's, as it streams in. Output: the newest line of the call under
    // way. Retry: why the request failed; text that came before is void. Question: the MCP server
    // that asks the operator something now; empty when others wait than before. Those who watch
    // any agent receive it, for servers ask on behalf of all; mcp.h has the questions.
    std::string text;
    std::optional<std::string> tool_name{};  // Of Output.
    // Of Retry: the model that failed and the one that is asked next, which try it was, and how
    // long it takes until the next.
    std::optional<std::string> model_ref{};
    std::optional<std::string> next_model_ref{};
    std::optional<std::int64_t> attempt{};
    std::optional<std::int64_t> max_attempts{};
    std::optional<std::int64_t> wait_ms{};
    friend bool operator==(const Delta&, const Delta&) = default;
};
BOOST_DESCRIBE_STRUCT(Delta, (),
                      (kind, text, tool_name, model_ref, next_model_ref, attempt, max_attempts,
                       wait_ms))

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

// A webhook that the operator asks for. Without a name it is called after its signature. A secret
// is given where the sender chooses it (Stripe); else one is made.
struct WebhookRequest {
    std::optional<std::string> name{};
    domain::SignatureScheme signature{domain::SignatureScheme::None};
    std::optional<std::string> secret{};
    std::optional<std::int64_t> rate_per_minute{};
    std::optional<std::int64_t> body_bytes_max{};
};
BOOST_DESCRIBE_STRUCT(WebhookRequest, (),
                      (name, signature, secret, rate_per_minute, body_bytes_max))
constexpr auto describe_fields(const WebhookRequest*) {
    return std::to_array<base::FieldDoc>({{.field = "signature", .has_default = true}});
}

// A webhook as operators see it. Its URL and secret are shown once, when they are made.
struct WebhookView {
    std::string webhook_id;
    std::string agent_id;
    std::string name;
    domain::SignatureScheme signature{domain::SignatureScheme::None};
    domain::TriggerStatus status{domain::TriggerStatus::Active};
    std::int64_t rate_per_minute{0};
    std::int64_t body_bytes_max{0};
    std::int64_t delivery_count{0};
    base::Time created_at{};
    std::optional<base::Time> last_delivered_at{};
    std::optional<base::Time> revoked_at{};
    std::optional<std::string> webhook_url{};
    std::optional<std::string> secret{};
    friend bool operator==(const WebhookView&, const WebhookView&) = default;
};
BOOST_DESCRIBE_STRUCT(WebhookView, (),
                      (webhook_id, agent_id, name, signature, status, rate_per_minute,
                       body_bytes_max, delivery_count, created_at, last_delivered_at, revoked_at,
                       webhook_url, secret))

// What an external system sent to the URL of a webhook: the bytes as they were signed, and the
// headers that a signature may be in, by their names in lower case.
struct WebhookDelivery {
    std::string token;
    std::map<std::string, std::string, std::less<>> headers{};
    std::string body;
};
struct WebhookDelivered {
    std::string agent_id;
    std::string message_id;
};

// A transport by which an operator talks to an agent. The same binding_id again replaces it.
struct OperatorBindingRequest {
    std::optional<std::string> binding_id{};  // Absent: one is made.
    std::string transport;
    std::string operator_actor_id;
    std::optional<std::string> target_agent_id{};  // The agent of the request, if it is given.
    std::string default_route_id;
    std::string delivery_callback_url;
    domain::DeliveryAuth delivery_auth{};
    domain::TransportCapabilities capabilities{};
    std::optional<std::string> provider{};
    std::optional<std::string> provider_identity_ref{};
    std::optional<json::value> metadata{};
};
BOOST_DESCRIBE_STRUCT(OperatorBindingRequest, (),
                      (binding_id, transport, operator_actor_id, target_agent_id, default_route_id,
                       delivery_callback_url, delivery_auth, capabilities, provider,
                       provider_identity_ref, metadata))

// What an operator wrote, as a bound transport delivers it. The same provider_message_ref again is
// the same message.
struct OperatorIngressRequest {
    std::string text;
    std::string actor_id;
    std::string binding_id;
    std::optional<std::string> reply_route_id{};
    std::optional<std::string> provider{};
    std::optional<std::string> upstream_provider{};
    std::optional<std::string> provider_message_ref{};
    std::optional<std::string> correlation_id{};
    std::optional<std::string> causation_id{};
    std::optional<json::value> metadata{};
};
BOOST_DESCRIBE_STRUCT(OperatorIngressRequest, (),
                      (text, actor_id, binding_id, reply_route_id, provider, upstream_provider,
                       provider_message_ref, correlation_id, causation_id, metadata))

// A command for start_task(). It runs as commands of the agent do: in its workspace, behind its
// sandbox, and until it ends or is stopped.
struct TaskRequest {
    std::string summary;                   // For people; empty: it is made of the command.
    std::string cmd;                       // For the shell.
    std::optional<std::string> workdir{};  // Relative to the agent's folder; absent: that folder.
    std::optional<std::string> shell{};    // Absent: the configured one.
    bool login{true};
    bool tty{false};
    bool accepts_input{false};  // By send_task_input().
    // Kept in the record of the task, for who reads it: a task has no time limit.
    std::optional<std::int64_t> yield_time_ms{};
    std::optional<std::int64_t> max_output_tokens{};  // Of what the agent is shown of its output.
    // Of who asked for it, for the audit; absent: the operator.
    std::optional<domain::TrustLevel> trust{};
};

// A timer for create_timer(): InvalidInput for a time that is out of bounds or cannot be read. A
// time that has passed is due at once.
struct TimerRequest {
    std::int64_t duration_ms{0};                // From now to its first fire.
    std::optional<std::int64_t> interval_ms{};  // Between later ones; absent: it fires once.
    std::optional<std::string> summary{};       // Cut to a bound; the agent reads it when it fires.
    std::optional<domain::TrustLevel> trust{};  // Of the summary; absent: the operator's own.
    std::optional<base::Time> at{};             // Instead of duration_ms.
    // Instead of both times: whenever the cron expression fits in the zone (UTC without one).
    std::optional<std::string> cron{};
    std::optional<std::string> time_zone{};
};

// Recover: an agent that was set aside after a fault tries again. RecoverDropMessage: it does so
// without the message that it was at, or that is next: that one is dropped, on record.
enum class LifecycleAction { Pause, Resume, Start, Stop, Recover, RecoverDropMessage };
BOOST_DESCRIBE_ENUM(LifecycleAction, Pause, Resume, Start, Stop, Recover, RecoverDropMessage)

// A new objective for an agent.
struct WorkItemRequest {
    std::string objective;
    std::optional<domain::PlanStatus> plan_status{};
    std::optional<std::string> plan{};          // The first text of its plan file.
    std::optional<domain::TrustLevel> trust{};  // Of the text; absent: the operator's own.
};
// Which work items, most recently changed first.
enum class WorkFilter { All, Open, Runnable, Blocked, WaitingForOperator, Completed };
BOOST_DESCRIBE_ENUM(WorkFilter, All, Open, Runnable, Blocked, WaitingForOperator, Completed)
struct WorkItemsQuery {
    WorkFilter filter{WorkFilter::All};
    std::optional<std::string> after{};  // `next` of the page before.
    std::int64_t limit{50};
};
struct WorkItemsPage {
    std::vector<json::object> work_items{};
    std::optional<std::string> next{};  // Absent on the last page.
};
BOOST_DESCRIBE_STRUCT(WorkItemsPage, (), (work_items, next))
// Pick: the agent's focus moves to the item. Block: it waits for `text`. Unblock: it can continue,
// whether it was blocked or waited for the operator. Done: it is completed.
enum class WorkAction { Pick, Block, Unblock, Done };
BOOST_DESCRIBE_ENUM(WorkAction, Pick, Block, Unblock, Done)
struct WorkItemChange {
    WorkAction action{WorkAction::Pick};
    std::string text{};                              // Of Block: what it waits for.
    std::optional<std::int64_t> recheck_after_ms{};  // Of Block.
};

// The patches of the agent's last turn that made any are undone: all of them, or the last
// `patches`.
struct UndoRequest {
    std::optional<std::int64_t> patches{};
    bool dry_run{false};  // Only says what would change.
    friend bool operator==(const UndoRequest&, const UndoRequest&) = default;
};
BOOST_DESCRIBE_STRUCT(UndoRequest, (), (patches, dry_run))
constexpr auto describe_fields(const UndoRequest*) {
    return std::to_array<base::FieldDoc>({{.field = "dry_run", .has_default = true}});
}
struct Undone {
    std::string agent_id;
    std::string run_id;  // Of the turn that made the patches.
    std::string root;    // The folder that the paths are relative to.
    std::int64_t patches{0};
    std::vector<std::string> paths{};  // Files that changed.
    bool dry_run{false};
    friend bool operator==(const Undone&, const Undone&) = default;
};
BOOST_DESCRIBE_STRUCT(Undone, (), (agent_id, run_id, root, patches, paths, dry_run))

// A skill to install for an agent. Builtin: one that comes with the program, by `name`. Named: a
// builtin one, or one of the user's own skills, by `name`. Local: the folder at the absolute
// `path`. Remote: from a repository on GitHub, see skills::read_remote. A linked skill stays where
// it is; where commands of the agent could not see it there, and for remote ones, it is copied.
enum class SkillInstallKind { Builtin, Named, Local, Remote };
BOOST_DESCRIBE_ENUM(SkillInstallKind, Builtin, Named, Local, Remote)
enum class SkillInstallMode { Linked, Copied };
BOOST_DESCRIBE_ENUM(SkillInstallMode, Linked, Copied)
struct SkillInstall {
    SkillInstallKind kind{SkillInstallKind::Named};
    std::optional<std::string> name{};
    std::optional<std::string> path{};
    std::optional<std::string> package{};
    std::optional<std::string> skill{};  // Of a package that has several.
    std::optional<SkillInstallMode> mode{};
    friend bool operator==(const SkillInstall&, const SkillInstall&) = default;
};
BOOST_DESCRIBE_STRUCT(SkillInstall, (), (kind, name, path, package, skill, mode))

// A page of an agent's events, by their numbers. Absent: no bound on that side.
struct EventsQuery {
    std::optional<std::int64_t> after_seq{};   // Only events behind this one.
    std::optional<std::int64_t> before_seq{};  // Only events before this one.
    std::int64_t limit{128};                   // At most; a runtime gives 512 and no more.
    bool newest_first{true};                   // Begins at the newest, in falling order.
};

// A page of a list of agents: those after `after`, by id.
inline constexpr std::int64_t kAgentsPageMax = 1000;
struct AgentsQuery {
    std::string after{};
    std::int64_t limit{kAgentsPageMax};
};

class Service {
public:
    virtual ~Service() = default;

    // Runs. One prompt from its admission to its result; run_client.h has the client that makes
    // these calls in order. --------------------------------------------------------------------

    // Makes the agent if need be, puts it where it is to work, queues the prompt, all in one
    // commit, and wakes the agent. An Error means that nothing was changed: no such agent, no
    // model, or the agent is in another run or another process (Conflict). `ended` is not called
    // once the lease is dropped, except for a call that has begun by then.
    virtual base::Result<RunHold> start_run(const RunRequest& request, const Caller& caller,
                                            RunEnded ended) = 0;
    // Asks the run to stop its turn, as Ctrl-C does; it is over soon after, and its message is kept
    // for a resumption. A run that is over is left alone; NotFound for one that is not known.
    virtual base::Status interrupt_run(const std::string& run_id, const std::string& reason) = 0;
    // What the run has come to, from the agent's records. A turn that failed is a RunResponse.
    // Conflict while the run is not over, or when there was nothing to resume.
    virtual base::Result<RunResponse> run_result(const std::string& run_id) = 0;
    // The client has read the result. Its agent is kept, a temporary one until retention removes
    // it.
    virtual base::Status finish_run(const std::string& run_id) = 0;
    // Runs of temporary agents that are still kept, newest first, at most `limit` of them and
    // kRecentRunsMax.
    virtual base::Result<std::vector<RecentRun>> recent_runs(std::int64_t limit) = 0;

    // Reads. None of them starts an agent or makes one, and none waits for a writer. -------------

    // The agent as operators see it, in the AgentSummary shape.
    virtual base::Result<json::object> status(const std::string& agent) = 0;
    // The ids of all agents, temporary ones included, in order.
    virtual base::Result<std::vector<std::string>> agents() = 0;
    // Active public agents by id, in the AgentListEntry shape, at most kAgentsPageMax.
    virtual base::Result<std::vector<json::object>> agent_list(const AgentsQuery& query) = 0;
    // Everything a console shows of one agent, each list bounded, with the event cursor to follow
    // from.
    virtual base::Result<json::object> state(const std::string& agent) = 0;
    // The active tasks, last changed first, at most `limit`.
    virtual base::Result<std::vector<domain::Task>> tasks(const std::string& agent,
                                                          std::int64_t limit) = 0;
    // All timers, newest first. Here and below cursor_not_found for a `before` that names nothing.
    virtual base::Result<Listed<domain::Timer>> timers(const std::string& agent,
                                                       const ListQuery& query) = 0;
    // A page of the agent's work items, in the WorkItemView shape. InvalidInput for an `after` that
    // no page gave.
    virtual base::Result<WorkItemsPage> work_items(const std::string& agent,
                                                   const WorkItemsQuery& query) = 0;
    // One work item, in the same shape; NotFound for one that is not this agent's.
    virtual base::Result<json::object> work_item(const std::string& agent,
                                                 const std::string& id) = 0;
    // What the runtime is doing: counts of agents and tasks, and the last failure.
    virtual base::Result<json::object> activity() = 0;
    // Does the runtime do its work? Unavailable (not_ready), with the reason, while nothing can be
    // written and while the database is known to be damaged.
    virtual base::Status ready() {
        TRY(activity());
        return {};
    }
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
    // A part of the conversation, oldest first.
    virtual base::Result<Listed<domain::TranscriptEntry>> transcript(const std::string& agent,
                                                                     const ListQuery& query) = 0;
    // A part of the briefs, oldest first.
    virtual base::Result<Listed<domain::Brief>> briefs(const std::string& agent,
                                                       const ListQuery& query) = 0;
    // Events after `after_seq`, oldest first, at most `limit`. cursor_not_found, with `oldest_seq`,
    // when some of them are no longer kept; 0 begins with the oldest that is kept.
    virtual base::Result<std::vector<domain::Event>> events(const std::string& agent,
                                                            std::int64_t after_seq,
                                                            std::int64_t limit) = 0;
    // A page of events in either direction. An `after_seq` behind which events are no longer kept
    // is cursor_not_found, with `oldest_seq`.
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
    // Calls `changed` with each delta of the agent until the token is dropped, under the same
    // rules. A receiver that is slow bounds what it keeps: deltas may be lost, events may not.
    [[nodiscard]] virtual std::shared_ptr<void> watch_deltas(
        const std::string& agent, std::function<void(const Delta&)> changed) = 0;

    // Searches. They read records and write nothing but their indexes, which can be made again. ---

    // What the agent noted, did and reported, best first. InvalidInput for a blank query.
    virtual base::Result<domain::MemoryHits> search_memory(const std::string& agent,
                                                           const domain::MemoryQuery& query) = 0;
    // The text behind a hit, at most `max_chars` characters of it (1 to kMemoryCharsMax).
    virtual base::Result<domain::MemoryDocument> memory_document(const std::string& agent,
                                                                 const std::string& source_ref,
                                                                 std::int64_t max_chars) = 0;
    // Transcripts, briefs and events of all agents, or of one, best first.
    virtual base::Result<domain::RecordHits> search_records(const domain::RecordQuery& query) = 0;

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
    // A request to the URL of a webhook becomes a message. Refused, and nothing is stored, for a
    // token that no active webhook has (webhook_refused), for a signature that is missing, wrong or
    // too old (signature_missing, signature_wrong, signature_expired), for a body over the bound of
    // the webhook (payload_too_large), and beyond its rate (rate_limited; details has
    // retry_after_s). The sender's id of the delivery is its dedupe key.
    virtual base::Result<WebhookDelivered> deliver_webhook(const WebhookDelivery& delivery) = 0;

    // Control. Each is recorded with its caller. --------------------------------------------------

    // Makes an agent and returns its identity record. An agent that exists is returned as it is,
    // unless a template is named (Conflict). The template is an id, the absolute path of a folder,
    // or the URL of one on GitHub. When it or one of its skills cannot be had, nothing is made.
    virtual base::Result<domain::AgentIdentity> create_agent(
        const std::string& agent, const std::optional<std::string>& template_name,
        const Caller& caller) = 0;
    // What agents can be made from, in the shape of homes::CatalogueEntry.
    virtual base::Result<std::vector<json::object>> templates() = 0;
    // The agent's own skills, in the shape of skills::InstalledSkill.
    virtual base::Result<std::vector<json::object>> skills(const std::string& agent) = 0;
    // A skill that the agent can discover, by its id or name, with the `text` of its SKILL.md.
    virtual base::Result<json::object> skill(const std::string& agent, const std::string& name) = 0;
    // Installs a skill and returns its name. Conflict (skill_already_installed) when the agent has
    // one of that name; remote_skill_install_failed when it could not be fetched.
    virtual base::Result<std::string> install_skill(const std::string& agent,
                                                    const SkillInstall& request,
                                                    const Caller& caller) = 0;
    // Removes one of the agent's own skills by the name of its folder, and returns the name.
    virtual base::Result<std::string> uninstall_skill(const std::string& agent,
                                                      const std::string& name,
                                                      const Caller& caller) = 0;
    // Pauses, resumes, starts or stops an agent. An open turn of a paused or stopped agent is
    // interrupted after the commit. The same action again changes nothing. RecoverDropMessage is a
    // Conflict for an agent that is not set aside, so that no message is dropped by mistake.
    virtual base::Status set_lifecycle(const std::string& agent, LifecycleAction action,
                                       const Caller& caller) = 0;
    // Ends the current turn and leaves the agent stopped; its message is dropped. `run_id` guards
    // against ending another one (stale_run_id); without an open turn: no_current_run.
    virtual base::Result<json::object> abort_run(const std::string& agent,
                                                 const std::optional<std::string>& run_id,
                                                 const Caller& caller) = 0;
    // Compacts the conversation of an agent that has no open turn, in one commit. `compacted` of
    // the answer is false, with a `reason`, when there is too little to compact. Conflict while the
    // agent is in a turn: turns compact by themselves.
    virtual base::Result<json::object> compact_conversation(const std::string& agent,
                                                            const Caller& caller) = 0;
    // Starts a command as a task of the agent and returns its record; its result comes to the agent
    // as a message. Refused where the sandbox or the number of tasks forbids it.
    virtual base::Result<domain::Task> start_task(const std::string& agent,
                                                  const TaskRequest& request,
                                                  const Caller& caller) = 0;
    // Asks for the end of a task, softly; asked again, or after some seconds, by force. Returns its
    // record. Conflict when it is over already.
    virtual base::Result<domain::Task> stop_task(const std::string& agent, const std::string& task,
                                                 const Caller& caller) = 0;
    // Gives the command of a task something to read. Conflict when it takes no input.
    virtual base::Result<domain::Task> send_task_input(const std::string& agent,
                                                       const std::string& task,
                                                       const std::string& text,
                                                       const Caller& caller) = 0;
    // A task of any age that is kept, in the TaskOutputSnapshot shape: its status and the end of
    // its output.
    virtual base::Result<json::object> task_output(const std::string& agent,
                                                   const std::string& task) = 0;
    // A timer that wakes the agent, once or at an interval. Refused beyond the agent's bound.
    virtual base::Result<domain::Timer> create_timer(const std::string& agent,
                                                     const TimerRequest& request,
                                                     const Caller& caller) = 0;
    // Cancels an active timer and returns it; NotFound for one that is not this agent's.
    virtual base::Result<domain::Timer> cancel_timer(const std::string& agent,
                                                     const std::string& timer,
                                                     const Caller& caller) = 0;
    // Gives the agent a new objective and wakes it. No message is made, and a turn that is open is
    // not disturbed. Refused beyond the agent's bound of open work items.
    virtual base::Result<domain::WorkItem> create_work_item(const std::string& agent,
                                                            const WorkItemRequest& request,
                                                            const Caller& caller) = 0;
    // Changes an open work item and returns it in the WorkItemView shape. NotFound for one that is
    // not this agent's, Conflict for one that is completed.
    virtual base::Result<json::object> change_work_item(const std::string& agent,
                                                        const std::string& id,
                                                        const WorkItemChange& change,
                                                        const Caller& caller) = 0;
    // The agent's wake capability, with its URL path, which is a secret. `rotate` replaces the
    // token: the old URL fails from then on.
    virtual base::Result<json::object> external_trigger(const std::string& agent, bool rotate,
                                                        const Caller& caller) = 0;
    // Revokes the capability; its URL fails from now on.
    virtual base::Status revoke_trigger(const std::string& agent, const Caller& caller) = 0;
    // Makes a webhook that sends messages to the agent. The answer has its URL and its secret,
    // which are not shown again. Conflict when an active one has this name; InvalidInput for a
    // secret that is needed and missing, and for bounds that make no sense.
    virtual base::Result<WebhookView> create_webhook(const std::string& agent,
                                                     const WebhookRequest& request,
                                                     const Caller& caller) = 0;
    // The agent's webhooks, newest first, revoked ones included; without URLs and secrets.
    virtual base::Result<std::vector<WebhookView>> webhooks(const std::string& agent) = 0;
    // Replaces the URL of a webhook, by its id or the name of an active one, and its secret, which
    // is `secret` where it is given. The old ones fail from then on. NotFound when there is none.
    virtual base::Result<WebhookView> rotate_webhook(const std::string& agent,
                                                     const std::string& webhook,
                                                     const std::optional<std::string>& secret,
                                                     const Caller& caller) = 0;
    // Revokes it: its URL fails from now on. The same again changes nothing.
    virtual base::Result<WebhookView> revoke_webhook(const std::string& agent,
                                                     const std::string& webhook,
                                                     const Caller& caller) = 0;
    // Binds a transport to the agent, or changes a binding of it; the answer has the token that was
    // given. Conflict for a binding_id of another agent.
    virtual base::Result<domain::OperatorBinding> bind_operator(
        const std::string& agent, const OperatorBindingRequest& request, const Caller& caller) = 0;
    // All bindings of the agent, by id, without their tokens.
    virtual base::Result<std::vector<domain::OperatorBinding>> operator_bindings(
        const std::string& agent) = 0;
    // Nothing comes in or leaves by this binding any more.
    virtual base::Result<domain::OperatorBinding> revoke_operator_binding(
        const std::string& agent, const std::string& binding, const Caller& caller) = 0;
    // A message of the operator that a bound transport delivers. Returns its id. Refused unless the
    // binding is active, of this agent, and of this actor and provider.
    virtual base::Result<std::string> operator_ingress(const std::string& agent,
                                                       const OperatorIngressRequest& request,
                                                       const Caller& caller) = 0;
    // Attaches the folder at `path` to the agent: it may choose to work there from now on. Refused
    // beyond the bound of attached workspaces.
    virtual base::Result<domain::WorkspaceEntry> attach_workspace(const std::string& agent,
                                                                  const std::string& path,
                                                                  const Caller& caller) = 0;
    // Makes the folder at `path` the one that the agent works in, from its next turn on. Conflict
    // while it is in a turn.
    virtual base::Result<domain::WorkspaceEntry> move_agent(const std::string& agent,
                                                            const std::string& path,
                                                            const Caller& caller) = 0;
    // Removes the agent with its records and its home; its projects stay. Conflict while it is in a
    // turn or has tasks.
    virtual base::Status delete_agent(const std::string& agent, const Caller& caller) = 0;
    // Moves the agent back to its own folder; what is attached stays attached.
    virtual base::Status exit_workspace(const std::string& agent, const Caller& caller) = 0;
    // Forgets an attached workspace. Conflict for the one the agent works in, and for its home.
    virtual base::Status detach_workspace(const std::string& agent, const std::string& workspace_id,
                                          const Caller& caller) = 0;
    // Undoes the patches that the agent made last; its next prompt says so. All files or none.
    // Conflict, with a kind: agent_in_turn; nothing_to_undo; changed_since when a file is no longer
    // as the patch left it (details has `paths`); undo_not_kept; plan_run_is_last when a plan run
    // changed something after the patches. Nothing has changed then.
    virtual base::Result<Undone> undo(const std::string& /*agent*/, const UndoRequest& /*request*/,
                                      const Caller& /*caller*/) {
        return std::unexpected(base::Error{base::ErrorCode::Unavailable,
                                           "this runtime cannot undo patches", "not_supported"});
    }
};

}  // namespace service
