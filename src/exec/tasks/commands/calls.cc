// Commands of calls, and how they become tasks.
#include <algorithm>
#include <utility>

#include "base/os/files.h"
#include "exec/sandbox/permit.h"
#include "exec/tasks/commands/live.h"
#include "exec/tasks/commits.h"
#include "exec/tasks/output.h"

namespace tasks {
namespace {

using base::ErrorCode;

results::Preview preview_of(const std::filesystem::path& log, const CommandTaskSpec& spec) {
    const std::size_t chars = output_chars(spec.max_output_tokens);
    const auto ends = read_ends(log, chars);
    return ends ? results::preview(*ends, chars) : results::Preview{};
}

// The most that a command may print into a file of this folder.
std::uint64_t output_share(const std::filesystem::path& folder, std::uint64_t bytes_max) {
    std::error_code failed;
    const auto space = std::filesystem::space(folder, failed);
    if (failed) return bytes_max;
    return std::min<std::uint64_t>(bytes_max, space.available / kFreeDiskShare);
}

// Is the result of the call that this command belongs to in the store?
bool is_recorded(store::Store& store, const domain::TaskId& id) {
    bool recorded = false;
    const auto status = store.read([&](store::Tx& tx) -> base::Status {
        const auto call = TRY(tx.tool_execution(domain::ToolCallId{id.value}));
        recorded = !call || call->state == domain::CallState::Finished;
        return {};
    });
    return status && recorded;
}

}  // namespace

// What is known before a command is started: whether an earlier process has started it, and else
// how much it may print.
struct Host::Ground {
    bool was_started{false};
    std::uint64_t log_bytes_max{0};
};

void Host::start(CommandRequest request, supervisor::OnEnd on_end, Started started) {
    auto live = std::make_shared<Live>(Live{.request = std::move(request)});
    live->on_end = std::move(on_end);
    live_[live->request.id] = live;
    start(live, std::move(started));
}

void Host::start(const std::shared_ptr<Live>& live, Started started) {
    const CommandRequest& request = live->request;
    forget_finished(request.agent_id);
    committer_.background<Ground>(
        lifetime_,
        [&supervisor = parts_.supervisor, id = request.id.value,
         folder = request.output_path.parent_path(),
         bytes_max = parts_.output_bytes_max]() -> base::Result<Ground> {
            if (supervisor.knows(id)) return Ground{.was_started = true};
            TRY(base::make_folders(folder, 0700));
            return Ground{.log_bytes_max = output_share(folder, bytes_max)};
        },
        [this, live, started = std::move(started)](base::Result<Ground> ground) mutable {
            auto launched = ground ? launch(*live, *ground) : std::unexpected(ground.error());
            if (!launched) drop(live);
            started(std::move(launched));
        });
}

// A command that was started already is reattached to even when it was cancelled meanwhile, since
// it runs; its stop follows.
base::Status Host::launch(Live& live, const Ground& ground) {
    const CommandRequest& request = live.request;
    if (ground.was_started)
        live.command = parts_.supervisor.attach(request.id.value, ending_of(request.id));
    else if (live.is_cancelled)
        return base::fail(ErrorCode::Conflict, "command {} was cancelled before it started",
                          request.id);
    else
        live.command = TRY(parts_.supervisor.start({.id = request.id.value,
                                                    .argv = request.argv,
                                                    .cwd = request.workdir,
                                                    .environment = request.environment,
                                                    .files = request.files,
                                                    .tty = request.spec.tty,
                                                    .accepts_input = request.spec.accepts_input,
                                                    .log = request.output_path,
                                                    .log_bytes_max = ground.log_bytes_max},
                                                   ending_of(request.id)));
    if (live.stop_grace) live.command->stop(*live.stop_grace);
    return {};
}

void Host::drop(const std::shared_ptr<Live>& live) {
    const auto found = live_.find(live->request.id);
    if (found != live_.end() && found->second == live) live_.erase(found);
}

void Host::knows(const domain::TaskId& id, std::move_only_function<void(bool)> done) {
    if (live_.contains(id)) return done(true);
    committer_.background<bool>(
        lifetime_,
        [&store = parts_.store, &supervisor = parts_.supervisor, id]() -> base::Result<bool> {
            bool is_known = supervisor.knows(id.value);
            if (!is_known)
                TRY(store.read([&](store::Tx& tx) -> base::Status {
                    is_known = TRY(tx.task(id)).has_value();
                    return {};
                }));
            return is_known;
        },
        [done = std::move(done)](const base::Result<bool>& is_known) mutable {
            done(is_known.value_or(false));
        });
}

// A process can be reattached to, whatever the store says.
void Host::load_command(const domain::AgentId& agent, const domain::TaskId& id,
                        std::move_only_function<void(base::Result<CommandState>)> done) {
    when_recovered([this, agent, id, done = std::move(done)]() mutable {
        committer_.background<CommandState>(
            lifetime_,
            [&store = parts_.store, &supervisor = parts_.supervisor, agent, id,
             is_live = live_.contains(id)]() -> base::Result<CommandState> {
                CommandState state;
                const bool has_process = is_live || supervisor.knows(id.value);
                const auto loaded = store.read([&](store::Tx& tx) -> base::Status {
                    state.task = TRY(tx.task(id));
                    state.active = TRY(load_active(tx, agent));
                    return {};
                });
                if (!loaded && !has_process) return std::unexpected(loaded.error());
                if (!loaded) state = {};
                state.was_started = has_process || state.task.has_value();
                if (state.task && state.task->agent_id != agent) state.task = std::nullopt;
                return state;
            },
            std::move(done));
    });
}

void Host::cancel(const domain::TaskId& id) {
    const auto found = live_.find(id);
    if (found == live_.end() || found->second->owner != Live::Owner::Call) return;
    found->second->is_cancelled = true;
    found->second->stop(kCancelGrace);
}

void Host::collect(const domain::TaskId& id, const std::filesystem::path& log,
                   const supervisor::Ended& ended, supervisor::Capture capture,
                   std::move_only_function<void(base::Result<supervisor::Captured>)> done) {
    parts_.supervisor.collect(id.value, log, ended, std::move(capture),
                              lifetime_.guard(std::move(done)));
}

void Host::ended(const domain::TaskId& id, supervisor::End end) {
    const auto found = live_.find(id);
    if (found == live_.end()) return;
    const auto live = found->second;
    switch (live->owner) {
        case Live::Owner::Call:
            live_.erase(found);
            finished_[live->request.agent_id].push_back(
                {id, live->request.output_path, live->request.network_log});
            return live->on_end(std::move(end));
        case Live::Owner::Promoting:
            live->end = std::move(end);
            return;
        case Live::Owner::Task:
            return settle(live->request.agent_id, id, end);
    }
}

// By the time of an agent's next command the result of the one before is recorded, unless its
// commit failed: then the call is resumed, and its command must still be known.
void Host::forget_finished(const domain::AgentId& agent) {
    const auto found = finished_.find(agent);
    if (found == finished_.end()) return;
    committer_.background<std::vector<domain::TaskId>>(
        lifetime_,
        [&store = parts_.store, &supervisor = parts_.supervisor,
         list = found->second]() -> base::Result<std::vector<domain::TaskId>> {
            return remove_recorded(store, supervisor, list);
        },
        [this, agent](const base::Result<std::vector<domain::TaskId>>& recorded) {
            const auto left = finished_.find(agent);
            if (!recorded || left == finished_.end()) return;
            std::erase_if(left->second, [&](const Finished& finished) {
                return std::ranges::find(*recorded, finished.id) != recorded->end();
            });
            if (left->second.empty()) finished_.erase(left);
        });
}

std::vector<domain::TaskId> Host::remove_recorded(store::Store& store,
                                                  supervisor::Supervisor& supervisor,
                                                  const std::vector<Finished>& list) {
    std::vector<domain::TaskId> recorded;
    for (const auto& finished : list) {
        if (!is_recorded(store, finished.id)) continue;
        std::error_code ignored;
        std::filesystem::remove(finished.log, ignored);
        if (!finished.network_log.empty()) std::filesystem::remove(finished.network_log, ignored);
        supervisor.forget(finished.id.value);
        recorded.push_back(finished.id);
    }
    return recorded;
}

std::optional<base::Error> Host::refusal(const domain::AgentId& agent) const {
    const auto allowed = sandbox::permit(parts_.execution_of(agent), sandbox::Use::BackgroundTask);
    return allowed ? std::nullopt : std::optional(allowed.error());
}

void Host::promote(const domain::TaskId& id, TaskDone done) {
    const auto found = live_.find(id);
    if (found == live_.end() || found->second->owner != Live::Owner::Call)
        return done(base::fail(ErrorCode::Conflict, "command {} is over", id));
    const auto live = found->second;
    if (auto refused = refusal(live->request.agent_id))
        return done(std::unexpected(std::move(*refused)));
    live->owner = Live::Owner::Promoting;
    const bool withheld =
        withholds(live->request.agent_id, domain::trust_of(live->request.authority_class));
    committer_.background<results::Preview>(
        lifetime_,
        [log = live->request.output_path, spec = live->request.spec,
         withheld]() -> base::Result<results::Preview> {
            return withheld ? results::Preview{} : preview_of(log, spec);
        },
        [this, live, withheld,
         done = std::move(done)](base::Result<results::Preview> initial) mutable {
            commit_promotion(live, std::move(initial).value_or(results::Preview{}), withheld,
                             std::move(done));
        });
}

// A power cut ends the command anyway, so the record need not survive one.
void Host::commit_promotion(const std::shared_ptr<Live>& live, results::Preview initial,
                            bool withheld, TaskDone done) {
    committer_.commit<domain::Task>(
        lifetime_, events::kRetryWhileAwaited,
        [request = live->request, initial = std::move(initial), withheld](events::Log& log) {
            return commit_running(log, request, initial, true, withheld);
        },
        [this, live, done = std::move(done)](base::Result<domain::Task> task) mutable {
            live->owner = task ? Live::Owner::Task : Live::Owner::Call;
            if (task) live->on_end = nullptr;
            done(std::move(task));
            if (live->end) ended(live->request.id, *std::exchange(live->end, std::nullopt));
        });
}

// The command is known here before its record is: a recovery that loads the record meanwhile must
// not reattach to it.
void Host::create(CommandRequest request, TaskDone done) {
    if (auto refused = refusal(request.agent_id)) return done(std::unexpected(std::move(*refused)));
    auto live =
        std::make_shared<Live>(Live{.request = std::move(request), .owner = Live::Owner::Task});
    live_[live->request.id] = live;
    committer_.commit<domain::Task>(
        lifetime_,
        {.durability = store::Durability::Disk,
         .on_fault = events::OnFault::Retry,
         .patience = events::kNowPatience},
        [request = live->request,
         withheld =
             withholds(live->request.agent_id, domain::trust_of(live->request.authority_class))](
            events::Log& log) -> base::Result<domain::Task> {
            if (TRY(log.tx().active_tasks(request.agent_id)).size() >= kCommandTasksPerAgentMax)
                return base::fail(ErrorCode::Refused,
                                  "agent {} already has {} tasks running; stop one first",
                                  request.agent_id, kCommandTasksPerAgentMax);
            return commit_running(log, request, {}, false, withheld);
        },
        [this, live, done = std::move(done)](base::Result<domain::Task> task) mutable {
            if (!task) {
                drop(live);
                return done(std::move(task));
            }
            start(live, [this, task = std::move(*task),
                         done = std::move(done)](const base::Status& started) mutable {
                if (!started)
                    settle(task.agent_id, task.id, supervisor::NotStarted{started.error().message});
                done(std::move(task));
            });
        });
}

}  // namespace tasks
