#include "exec/tasks/host.h"

#include <algorithm>
#include <utility>

#include "base/log/log.h"
#include "base/os/files.h"
#include "domain/events/tasks.h"
#include "exec/sandbox/denials.h"
#include "exec/sandbox/permit.h"
#include "exec/tasks/commits.h"
#include "exec/tasks/output.h"
#include "exec/tasks/plan_task.h"

namespace tasks {
namespace {

using base::ErrorCode;
using domain::TaskStatus;

results::Preview preview_of(const std::filesystem::path& log, const CommandTaskSpec& spec) {
    const std::size_t chars = output_chars(spec.max_output_tokens);
    const auto ends = read_ends(log, chars);
    return ends ? results::preview(*ends, chars) : results::Preview{};
}

std::vector<sandbox::Denial> denials_of(const CommandDetail& detail, const supervisor::End& end) {
    if (!detail.confined.value_or(false)) return {};
    const auto* ended = std::get_if<supervisor::Ended>(&end);
    if (!ended) return {};
    return sandbox::denials_of(detail.network_log.value_or(""), ended->exit_code, ended->signal);
}

domain::events::TaskInputDelivered input_delivered(const InputReceipt& receipt) {
    return {.task_id = receipt.task.id,
            .task_kind = receipt.task.kind,
            .bytes_written = receipt.bytes_written.value_or(0),
            .input_target = detail_of(receipt.task).input_target.value_or("")};
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

base::Result<std::vector<domain::Task>> load_active(store::Tx& tx, const domain::AgentId& agent) {
    auto list = TRY(tx.active_tasks(agent));
    std::ranges::sort(list, std::ranges::greater{},
                      [](const domain::Task& task) { return std::pair(task.updated_at, task.id); });
    return list;
}

std::unexpected<base::Error> no_such_task(const domain::TaskId& id) {
    return base::fail(ErrorCode::NotFound,
                      "there is no task {} of this agent; TaskList names those that run", id);
}

}  // namespace

// A command that runs, as far as this process knows.
struct Host::Live {
    enum class Owner { Call, Promoting, Task };
    CommandRequest request;
    Owner owner{Owner::Call};
    supervisor::OnEnd on_end{};  // The call's.
    std::shared_ptr<supervisor::Supervisor::Command> command{};
    std::optional<supervisor::End> end{};  // It came while the promotion was on its way.
    // Asked for before `command` exists: not to start it at all, or to stop it at once.
    bool is_cancelled{false};
    std::optional<std::chrono::milliseconds> stop_grace{};

    void stop(std::chrono::milliseconds grace) {
        if (command)
            command->stop(grace);
        else
            stop_grace = std::min(grace, stop_grace.value_or(grace));
    }
};

// What earlier processes left behind, as the store has it.
struct Host::Leftovers {
    struct OfAgent {
        domain::AgentId agent;
        base::Result<std::vector<domain::Task>> open;
    };
    std::vector<OfAgent> agents;
    std::vector<std::string> abandoned;  // Commands whose calls are finished.
};

// Commands under supervision.
class Host::Commands final : public Executor {
public:
    explicit Commands(Host& host) : host_(host) {}
    domain::TaskKind kind() const override { return domain::TaskKind::CommandTask; }
    StopDecision decide_stop(domain::Task task, base::Time now) const override {
        return tasks::decide_stop(std::move(task), now);
    }
    void stop(const domain::Task& task, bool force) override { host_.stop_command(task, force); }
    void resume(const domain::Task& task) override { host_.reattach(task); }

private:
    Host& host_;
};

Host::Host(Parts parts)
    : parts_(std::move(parts)),
      commands_(std::make_unique<Commands>(*this)),
      committer_({parts_.store, parts_.loop, parts_.clock, parts_.ids, parts_.feed}) {
    add(*commands_);
}

// The process ends here: what would be done in the background is done now.
Host::~Host() {
    for (const auto& [agent, list] : finished_)
        for (const auto& id : remove_recorded(parts_.store, list))
            parts_.supervisor.forget(id.value);
}

void Host::add(Executor& executor) {
    CHECK(executors_.emplace(executor.kind(), &executor).second,
          "a kind of task has two executors");
}

Executor* Host::executor_of(domain::TaskKind kind) const {
    const auto found = executors_.find(kind);
    return found == executors_.end() ? nullptr : found->second;
}

void Host::report_stuck(const domain::AgentId& agent, const base::Error& error) const {
    if (listener_.on_stuck) listener_.on_stuck(agent, error);
}

supervisor::OnEnd Host::ending_of(const domain::TaskId& id) {
    return lifetime_.guard([this, id](supervisor::End end) { ended(id, std::move(end)); });
}

void Host::start(CommandRequest request, supervisor::OnEnd on_end, Started started) {
    auto live = std::make_shared<Live>(Live{.request = std::move(request)});
    live->on_end = std::move(on_end);
    live_[live->request.id] = live;
    start(live, std::move(started));
}

void Host::start(const std::shared_ptr<Live>& live, Started started) {
    const CommandRequest& request = live->request;
    forget_finished(request.agent_id);
    if (parts_.supervisor.knows(request.id.value)) {
        live->command = parts_.supervisor.attach(request.id.value, ending_of(request.id));
        return started({});
    }
    committer_.background<std::uint64_t>(
        lifetime_,
        [folder = request.output_path.parent_path(),
         bytes_max = parts_.output_bytes_max]() -> base::Result<std::uint64_t> {
            TRY(base::make_folders(folder, 0700));
            return output_share(folder, bytes_max);
        },
        [this, live, started = std::move(started)](base::Result<std::uint64_t> bytes_max) mutable {
            auto launched =
                bytes_max ? launch(*live, *bytes_max) : std::unexpected(bytes_max.error());
            if (!launched) drop(live);
            started(std::move(launched));
        });
}

base::Status Host::launch(Live& live, std::uint64_t log_bytes_max) {
    const CommandRequest& request = live.request;
    if (live.is_cancelled)
        return base::fail(ErrorCode::Conflict, "command {} was cancelled before it started",
                          request.id);
    live.command = TRY(parts_.supervisor.start({.id = request.id.value,
                                                .argv = request.argv,
                                                .cwd = request.workdir,
                                                .environment = request.environment,
                                                .tty = request.spec.tty,
                                                .accepts_input = request.spec.accepts_input,
                                                .log = request.output_path,
                                                .log_bytes_max = log_bytes_max},
                                               ending_of(request.id)));
    if (live.stop_grace) live.command->stop(*live.stop_grace);
    return {};
}

void Host::drop(const std::shared_ptr<Live>& live) {
    const auto found = live_.find(live->request.id);
    if (found != live_.end() && found->second == live) live_.erase(found);
}

void Host::when_recovered(base::Job job) {
    if (recovering_ == 0) return job();
    after_recovery_.push_back(std::move(job));
}

void Host::knows(const domain::TaskId& id, std::move_only_function<void(bool)> done) {
    if (live_.contains(id) || parts_.supervisor.knows(id.value)) return done(true);
    committer_.load<bool>(
        lifetime_,
        [id](store::Tx& tx) -> base::Result<bool> { return TRY(tx.task(id)).has_value(); },
        [done = std::move(done)](const base::Result<bool>& is_task) mutable {
            done(is_task.value_or(false));
        });
}

void Host::load_command(const domain::AgentId& agent, const domain::TaskId& id,
                        std::move_only_function<void(base::Result<CommandState>)> done) {
    when_recovered([this, agent, id, done = std::move(done)]() mutable {
        committer_.load<CommandState>(
            lifetime_,
            [agent, id](store::Tx& tx) -> base::Result<CommandState> {
                CommandState state{.task = TRY(tx.task(id)), .active = TRY(load_active(tx, agent))};
                state.was_started = state.task.has_value();
                if (state.task && state.task->agent_id != agent) state.task = std::nullopt;
                return state;
            },
            [this, id, done = std::move(done)](base::Result<CommandState> state) mutable {
                if (live_.contains(id) || parts_.supervisor.knows(id.value)) {
                    // Its process can be reattached to, whatever the store says.
                    if (!state) state = CommandState{};
                    state->was_started = true;
                }
                done(std::move(state));
            });
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
        [&store = parts_.store, list = found->second]()
            -> base::Result<std::vector<domain::TaskId>> { return remove_recorded(store, list); },
        [this, agent](const base::Result<std::vector<domain::TaskId>>& recorded) {
            if (recorded) forget(agent, *recorded);
        });
}

std::vector<domain::TaskId> Host::remove_recorded(store::Store& store,
                                                  const std::vector<Finished>& list) {
    std::vector<domain::TaskId> recorded;
    for (const auto& finished : list) {
        if (!is_recorded(store, finished.id)) continue;
        std::error_code ignored;
        std::filesystem::remove(finished.log, ignored);
        if (!finished.network_log.empty()) std::filesystem::remove(finished.network_log, ignored);
        recorded.push_back(finished.id);
    }
    return recorded;
}

void Host::forget(const domain::AgentId& agent, const std::vector<domain::TaskId>& recorded) {
    const auto found = finished_.find(agent);
    if (found == finished_.end()) return;
    std::erase_if(found->second, [&](const Finished& finished) {
        if (std::ranges::find(recorded, finished.id) == recorded.end()) return false;
        parts_.supervisor.forget(finished.id.value);
        return true;
    });
    if (found->second.empty()) finished_.erase(found);
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
    const bool withheld = withholds(live->request.agent_id);
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
        lifetime_, {},
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
        lifetime_, {.durability = store::Durability::Disk},
        [request = live->request, withheld = withholds(live->request.agent_id)](
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

bool Host::withholds(const domain::AgentId& agent) const {
    return parts_.gate && parts_.gate->policy(agent) == domain::GatePolicy::Enforce;
}

void Host::settle(const domain::AgentId& agent, const domain::TaskId& id,
                  const supervisor::End& end) {
    using Found = std::optional<domain::Task>;
    committer_.load<Found>(
        lifetime_, [id](store::Tx& tx) { return tx.task(id); },
        [this, agent, id, end](const base::Result<Found>& found) {
            if (!found) {
                if (!events::is_passing_fault(found.error()))
                    return report_stuck(agent, found.error());
                parts_.loop.after(kSettleRetry, lifetime_.guard([this, agent, id, end] {
                    settle(agent, id, end);
                }));
                return;
            }
            const auto task = found->value_or(domain::Task{.id = id, .agent_id = agent});
            if (!*found || !parts_.gate || parts_.gate->policy(agent) == domain::GatePolicy::Off)
                return commit(task, end, std::nullopt);
            parts_.gate->judge({task, end}, lifetime_.guard([this, task, end](OutputAnswer answer) {
                commit(task, end, std::move(answer));
            }));
        });
}

// The end of a task is committed however long it takes: nobody else would ever report it.
void Host::commit(const domain::Task& task, const supervisor::End& end,
                  std::optional<OutputAnswer> answer) {
    // What is in quarantine is not left lying about in a log.
    std::optional<std::string> rejected_log;
    if (answer && answer->instead) rejected_log = detail_of(task).output_path;
    struct Ending {
        results::Preview output;
        std::vector<sandbox::Denial> denials;
    };
    committer_.background<Ending>(
        lifetime_,
        [task, end, answer]() -> base::Result<Ending> {
            auto shown = show_output(judged_task(task, answer));
            return Ending{{std::move(shown.text), shown.truncated},
                          denials_of(detail_of(task), end)};
        },
        [this, task, end, answer, rejected_log](base::Result<Ending> ending) {
            if (!ending) return report_stuck(task.agent_id, ending.error());
            committer_.commit<bool>(
                lifetime_,
                {.durability = store::Durability::Disk, .on_fault = events::OnFault::Retry},
                [id = task.id, end, ending = std::move(*ending), answer,
                 rejoin = parts_.rejoin](events::Log& log) {
                    return commit_end(log, rejoin, id, end, ending.output, ending.denials, answer);
                },
                [this, agent = task.agent_id, id = task.id,
                 rejected_log](const base::Result<bool>& has_ended) {
                    if (!has_ended) return report_stuck(agent, has_ended.error());
                    if (rejected_log) remove_later(*rejected_log);
                    settled(agent, id, *has_ended);
                });
        });
}

void Host::settled(const domain::AgentId& agent, const domain::TaskId& id, bool has_ended) {
    live_.erase(id);
    parts_.supervisor.forget(id.value);
    report_end(id);
    if (has_ended && listener_.on_result) listener_.on_result(agent);
}

void Host::remove_later(const std::filesystem::path& file) const {
    parts_.loop.offload(
        [file] {
            std::error_code ignored;
            std::filesystem::remove(file, ignored);
        },
        [] {});
}

void Host::find(const domain::AgentId& agent, const domain::TaskId& id, TaskDone done) {
    when_recovered([this, agent, id, done = std::move(done)]() mutable {
        committer_.load<domain::Task>(
            lifetime_,
            [agent, id](store::Tx& tx) -> base::Result<domain::Task> {
                auto task = TRY(tx.task(id));
                if (!task || task->agent_id != agent) return no_such_task(id);
                return std::move(*task);
            },
            std::move(done));
    });
}

void Host::active(const domain::AgentId& agent,
                  std::move_only_function<void(base::Result<std::vector<domain::Task>>)> done) {
    when_recovered([this, agent, done = std::move(done)]() mutable {
        committer_.load<std::vector<domain::Task>>(
            lifetime_, [agent](store::Tx& tx) { return load_active(tx, agent); }, std::move(done));
    });
}

void Host::stop(const domain::AgentId& agent, const domain::TaskId& id,
                std::move_only_function<void(base::Result<StopReceipt>)> done) {
    committer_.commit<StopReceipt>(
        lifetime_, {},
        [agent, id, executors = executors_](events::Log& log) -> base::Result<StopReceipt> {
            auto task = TRY(log.tx().task(id));
            if (!task || task->agent_id != agent) return no_such_task(id);
            const auto executor = executors.find(task->kind);
            if (executor == executors.end())
                return base::fail(ErrorCode::InvalidInput, "task {} cannot be stopped", id);
            auto decision = executor->second->decide_stop(std::move(*task), log.now());
            auto* ordered = std::get_if<StopOrdered>(&decision);
            if (!ordered)
                return base::fail(ErrorCode::Conflict,
                                  "task {} is over; TaskOutput shows how it ended", id);
            TRY(log.tx().put_task(ordered->task));
            TRY(log.append(agent, domain::events::TaskStatusUpdated(ordered->task)));
            return StopReceipt{std::move(ordered->task), ordered->force};
        },
        [this, done = std::move(done)](base::Result<StopReceipt> receipt) mutable {
            if (receipt)
                executor_of(receipt->task.kind)->stop(receipt->task, receipt->force_stop_requested);
            done(std::move(receipt));
        });
}

void Host::stop_command(const domain::Task& task, bool force) {
    when_recovered([this, agent = task.agent_id, id = task.id, force] {
        const auto found = live_.find(id);
        if (found != live_.end())
            found->second->stop(force ? std::chrono::milliseconds(0) : kStopGrace);
        else
            settle(agent, id, supervisor::Lost{"No process of it was left to stop."});
    });
}

void Host::input(const domain::AgentId& agent, const domain::TaskId& id, std::string text,
                 InputDone done) {
    find(agent, id,
         [this, text = std::move(text),
          done = std::move(done)](base::Result<domain::Task> task) mutable {
             if (!task) return done(std::unexpected(task.error()));
             write_input({.task = std::move(*task)}, std::move(text), std::move(done));
         });
}

void Host::write_input(InputReceipt receipt, std::string text, InputDone done) {
    const auto found = live_.find(receipt.task.id);
    if (domain::is_terminal(receipt.task.status))
        receipt.refusal = "the task is over";
    else if (!detail_of(receipt.task).accepts_input)
        receipt.refusal = "the task was started without accepts_input";
    else if (found == live_.end() || !found->second->command)
        receipt.refusal = "no process of the task is attached here";
    if (!receipt.refusal.empty()) return done(std::move(receipt));
    auto shared = std::make_shared<InputReceipt>(std::move(receipt));
    found->second->command->write(
        std::move(text), lifetime_.guard([this, shared, done = std::move(done)](
                                             base::Result<std::int64_t> written) mutable {
            if (!written) {
                shared->refusal = written.error().message;
                return done(std::move(*shared));
            }
            shared->bytes_written = *written;
            committer_.commit<InputReceipt>(
                lifetime_, {},
                [receipt = *shared](events::Log& log) -> base::Result<InputReceipt> {
                    TRY(log.append(receipt.task.agent_id, input_delivered(receipt)));
                    return receipt;
                },
                std::move(done));
        }));
}

// Waiting begins before the record is loaded: an end that is committed in between is not missed.
std::shared_ptr<void> Host::await_end(const domain::TaskId& id, std::function<void()> on_end) {
    auto token = std::make_shared<std::function<void()>>(std::move(on_end));
    waiting_[id].push_back(token);
    committer_.load<bool>(
        lifetime_,
        [id](store::Tx& tx) -> base::Result<bool> {
            const auto task = TRY(tx.task(id));
            return !task || domain::is_terminal(task->status);
        },
        [this, id, waiter = Waiter(token)](const base::Result<bool>& is_over) {
            if (!is_over)
                report_end(waiter);
            else if (*is_over)
                report_end(id);
        });
    return token;
}

void Host::report_end(const domain::TaskId& id) {
    if (const auto waiting = waiting_.extract(id))
        for (const auto& waiter : waiting.mapped()) report_end(waiter);
}

void Host::report_end(const Waiter& waiter) {
    const auto token = waiter.lock();
    if (!token) return;
    if (const auto on_end = std::exchange(*token, nullptr)) on_end();
}

void Host::recover(std::vector<domain::AgentId> agents) {
    recover_from(
        [agents = std::move(agents)](store::Store&) -> base::Result<std::vector<domain::AgentId>> {
            return agents;
        });
}

void Host::recover_all(std::int64_t agents_max) {
    recover_from([agents_max](store::Store& store) -> base::Result<std::vector<domain::AgentId>> {
        std::vector<domain::AgentId> agents;
        TRY(store.read([&](store::Tx& tx) -> base::Status {
            agents = TRY(tx.agents_with_active_tasks(agents_max));
            return {};
        }));
        return agents;
    });
}

void Host::recover_from(
    std::function<base::Result<std::vector<domain::AgentId>>(store::Store&)> agents_of) {
    ++recovering_;
    committer_.background<Leftovers>(
        lifetime_,
        [&store = parts_.store, agents_of = std::move(agents_of),
         known = parts_.supervisor.known()]() -> base::Result<Leftovers> {
            return load_leftovers(store, TRY(agents_of(store)), known);
        },
        [this](const base::Result<Leftovers>& left) {
            if (left)
                resume(*left);
            else
                base::log_error("tasks cannot be resumed: {}", left.error().message);
            if (--recovering_ > 0) return;
            for (auto& job : std::exchange(after_recovery_, {})) job();
        });
}

// Agent by agent: a record that cannot be read harms the tasks of one.
Host::Leftovers Host::load_leftovers(store::Store& store,
                                     const std::vector<domain::AgentId>& agents,
                                     const std::vector<std::string>& known) {
    Leftovers left;
    for (const auto& agent : agents) {
        auto& of_agent = left.agents.emplace_back(Leftovers::OfAgent{.agent = agent, .open = {}});
        const auto status = store.read([&](store::Tx& tx) -> base::Status {
            of_agent.open = TRY(load_active(tx, agent));
            return {};
        });
        if (!status) of_agent.open = std::unexpected(status.error());
    }
    for (const auto& id : known) {
        bool is_over = false;
        const auto status = store.read([&](store::Tx& tx) -> base::Status {
            const auto call = TRY(tx.tool_execution({id}));
            is_over = call && call->state == domain::CallState::Finished &&
                      std::ranges::find(agents, call->call.agent_id) != agents.end();
            return {};
        });
        if (status && is_over) left.abandoned.push_back(id);
    }
    return left;
}

void Host::resume(const Leftovers& left) {
    for (const auto& [agent, open] : left.agents) {
        if (!open) {
            report_stuck(agent, open.error());
            continue;
        }
        for (const auto& task : *open) {
            if (live_.contains(task.id)) continue;
            if (task.kind == domain::TaskKind::SleepJob)
                settle(agent, task.id, supervisor::Lost{"The runtime was restarted meanwhile."});
            else if (auto* executor = executor_of(task.kind))
                executor->resume(task);
        }
    }
    for (const auto& id : left.abandoned) end_abandoned(id);
}

// Also asks again for the end of a task that was being stopped: the order may not have gone out.
void Host::reattach(const domain::Task& task) {
    const auto detail = detail_of(task);
    // It was started before output was kept back.
    if (!detail.output_withheld && withholds(task.agent_id)) withhold(task.agent_id, task.id);
    auto live = std::make_shared<Live>();
    live->request = {.id = task.id, .agent_id = task.agent_id};
    live->owner = Live::Owner::Task;
    live_[task.id] = live;
    live->command = parts_.supervisor.attach(task.id.value, ending_of(task.id));
    if (task.status == TaskStatus::Cancelling)
        live->command->stop(detail.force_stop_requested.value_or(false)
                                ? std::chrono::milliseconds(0)
                                : kStopGrace);
}

void Host::withhold(const domain::AgentId& agent, const domain::TaskId& id) {
    committer_.commit<bool>(
        lifetime_, {.on_fault = events::OnFault::Retry},
        [id](events::Log& log) -> base::Result<bool> {
            auto task = TRY(log.tx().task(id));
            if (!task || domain::is_terminal(task->status)) return false;
            auto detail = detail_of(*task);
            detail.output_withheld = kOutputWithheld;
            task->detail = base::to_json(detail);
            TRY(log.tx().put_task(*task));
            return true;
        },
        [this, agent](const base::Result<bool>& done) {
            if (!done) report_stuck(agent, done.error());
        });
}

// What a call left behind, and no turn will come back for.
void Host::end_abandoned(const std::string& id) {
    if (live_.contains({id})) return;
    const auto command = parts_.supervisor.attach(
        id, lifetime_.guard([this, id](const supervisor::End&) { parts_.supervisor.forget(id); }));
    command->stop(kCancelGrace);
}

}  // namespace tasks
