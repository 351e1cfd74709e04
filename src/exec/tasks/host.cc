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

Host::~Host() {
    for (auto next = finished_.begin(); next != finished_.end();)
        forget_finished(domain::AgentId{(next++)->first});
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

std::uint64_t Host::output_bytes_max(const std::filesystem::path& folder) const {
    std::error_code failed;
    const auto space = std::filesystem::space(folder, failed);
    if (failed) return parts_.output_bytes_max;
    return std::min<std::uint64_t>(parts_.output_bytes_max, space.available / kFreeDiskShare);
}

base::Status Host::start(CommandRequest request, supervisor::OnEnd on_end) {
    forget_finished(request.agent_id);
    const domain::TaskId id = request.id;
    auto live = std::make_shared<Live>(Live{.request = std::move(request)});
    if (parts_.supervisor.knows(id.value)) {
        live->command = parts_.supervisor.attach(id.value, ending_of(id));
    } else {
        const auto& asked = live->request;
        const auto folder = asked.output_path.parent_path();
        TRY(base::make_folders(folder, 0700));
        live->command = TRY(parts_.supervisor.start({.id = id.value,
                                                     .argv = asked.argv,
                                                     .cwd = asked.workdir,
                                                     .environment = asked.environment,
                                                     .tty = asked.spec.tty,
                                                     .accepts_input = asked.spec.accepts_input,
                                                     .log = asked.output_path,
                                                     .log_bytes_max = output_bytes_max(folder)},
                                                    ending_of(id)));
    }
    live->on_end = std::move(on_end);
    live_[id] = std::move(live);
    return {};
}

bool Host::knows(const domain::TaskId& id) const {
    if (live_.contains(id) || parts_.supervisor.knows(id.value)) return true;
    bool is_task = false;
    const auto status = parts_.store.read([&](store::Tx& tx) -> base::Status {
        is_task = TRY(tx.task(id)).has_value();
        return {};
    });
    return status && is_task;
}

void Host::cancel(const domain::TaskId& id) {
    const auto found = live_.find(id);
    if (found != live_.end() && found->second->owner == Live::Owner::Call)
        found->second->command->stop(kCancelGrace);
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
// commit failed: then the call is taken up again, and its command must still be known.
void Host::forget_finished(const domain::AgentId& agent) {
    const auto found = finished_.find(agent);
    if (found == finished_.end()) return;
    std::erase_if(found->second, [this](const Finished& finished) {
        if (!is_recorded(finished.id)) return false;
        parts_.supervisor.forget(finished.id.value);
        std::error_code ignored;
        std::filesystem::remove(finished.log, ignored);
        if (!finished.network_log.empty()) std::filesystem::remove(finished.network_log, ignored);
        return true;
    });
    if (found->second.empty()) finished_.erase(found);
}

bool Host::is_recorded(const domain::TaskId& id) const {
    bool recorded = false;
    const auto status = parts_.store.read([&](store::Tx& tx) -> base::Status {
        const auto call = TRY(tx.tool_execution(domain::ToolCallId{id.value}));
        recorded = !call || call->state == domain::CallState::Finished;
        return {};
    });
    return status && recorded;
}

std::optional<base::Error> Host::refusal(const domain::AgentId& agent) const {
    const auto allowed = sandbox::permit(parts_.execution_of(agent), sandbox::Use::BackgroundTask);
    return allowed ? std::nullopt : std::optional(allowed.error());
}

void Host::promote(const domain::TaskId& id,
                   std::move_only_function<void(base::Result<domain::Task>)> done) {
    const auto found = live_.find(id);
    if (found == live_.end() || found->second->owner != Live::Owner::Call)
        return done(base::fail(ErrorCode::Conflict, "command {} is over", id));
    const auto live = found->second;
    if (auto refused = refusal(live->request.agent_id))
        return done(std::unexpected(std::move(*refused)));
    live->owner = Live::Owner::Promoting;
    const bool withheld = withholds(live->request.agent_id);
    auto initial =
        withheld ? results::Preview{} : preview_of(live->request.output_path, live->request.spec);
    // A power cut ends the command anyway, so the record need not survive one.
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

void Host::create(CommandRequest request,
                  std::move_only_function<void(base::Result<domain::Task>)> done) {
    if (auto refused = refusal(request.agent_id)) return done(std::unexpected(std::move(*refused)));
    auto shared = std::make_shared<CommandRequest>(std::move(request));
    committer_.commit<domain::Task>(
        lifetime_, {.durability = store::Durability::Disk},
        [request = *shared,
         withheld = withholds(shared->agent_id)](events::Log& log) -> base::Result<domain::Task> {
            if (TRY(log.tx().active_tasks(request.agent_id)).size() >= kCommandTasksPerAgentMax)
                return base::fail(ErrorCode::Refused,
                                  "agent {} already has {} tasks running; stop one first",
                                  request.agent_id, kCommandTasksPerAgentMax);
            return commit_running(log, request, {}, false, withheld);
        },
        [this, shared, done = std::move(done)](base::Result<domain::Task> task) mutable {
            if (!task) return done(std::move(task));
            const domain::TaskId id = shared->id;
            const domain::AgentId agent = shared->agent_id;
            const auto started = start(std::move(*shared), nullptr);
            if (started)
                live_[id]->owner = Live::Owner::Task;
            else
                settle(agent, id, supervisor::NotStarted{started.error().message});
            done(std::move(task));
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
                    std::error_code ignored;
                    if (rejected_log) std::filesystem::remove(*rejected_log, ignored);
                    settled(agent, id, *has_ended);
                });
        });
}

void Host::settled(const domain::AgentId& agent, const domain::TaskId& id, bool has_ended) {
    live_.erase(id);
    parts_.supervisor.forget(id.value);
    if (const auto waiting = waiting_.extract(id))
        for (const auto& token : waiting.mapped())
            if (const auto on_end = token.lock()) (*on_end)();
    if (has_ended && listener_.on_result) listener_.on_result(agent);
}

base::Result<domain::Task> Host::find(const domain::AgentId& agent,
                                      const domain::TaskId& id) const {
    std::optional<domain::Task> task;
    TRY(parts_.store.read([&](store::Tx& tx) -> base::Status {
        task = TRY(tx.task(id));
        return {};
    }));
    if (!task || task->agent_id != agent) return no_such_task(id);
    return std::move(*task);
}

base::Result<std::vector<domain::Task>> Host::active(const domain::AgentId& agent) const {
    std::vector<domain::Task> list;
    TRY(parts_.store.read([&](store::Tx& tx) -> base::Status {
        list = TRY(tx.active_tasks(agent));
        return {};
    }));
    std::ranges::sort(list, std::ranges::greater{},
                      [](const domain::Task& task) { return std::pair(task.updated_at, task.id); });
    return list;
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
    const auto found = live_.find(task.id);
    if (found != live_.end())
        found->second->command->stop(force ? std::chrono::milliseconds(0) : kStopGrace);
    else
        settle(task.agent_id, task.id, supervisor::Lost{"No process of it was left to stop."});
}

void Host::input(const domain::AgentId& agent, const domain::TaskId& id, std::string text,
                 std::move_only_function<void(base::Result<InputReceipt>)> done) {
    auto task = find(agent, id);
    if (!task) return done(std::unexpected(task.error()));
    const auto found = live_.find(id);
    InputReceipt receipt{.task = std::move(*task)};
    if (domain::is_terminal(receipt.task.status))
        receipt.refusal = "the task is over";
    else if (!detail_of(receipt.task).accepts_input)
        receipt.refusal = "the task was started without accepts_input";
    else if (found == live_.end())
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

std::shared_ptr<void> Host::await_end(const domain::TaskId& id, std::function<void()> on_end) {
    bool is_over = true;
    const auto status = parts_.store.read([&](store::Tx& tx) -> base::Status {
        const auto task = TRY(tx.task(id));
        is_over = !task || domain::is_terminal(task->status);
        return {};
    });
    if (!status || is_over) return nullptr;
    auto token = std::make_shared<std::function<void()>>(std::move(on_end));
    waiting_[id].push_back(token);
    return token;
}

void Host::recover(const std::vector<domain::AgentId>& agents) {
    for (const auto& agent : agents) {
        const auto open = active(agent);
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
    sweep(agents);
}

// Also asks again for the end of a task that was being stopped: the order may not have gone out.
void Host::reattach(const domain::Task& task) {
    const auto detail = detail_of(task);
    // It was started before output was kept back.
    if (!detail.output_withheld && withholds(task.agent_id)) withhold(task);
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

void Host::withhold(domain::Task task) {
    auto detail = detail_of(task);
    detail.output_withheld = kOutputWithheld;
    task.detail = base::to_json(detail);
    const domain::AgentId agent = task.agent_id;
    committer_.commit<bool>(
        lifetime_, {.on_fault = events::OnFault::Retry},
        [task = std::move(task)](events::Log& log) -> base::Result<bool> {
            TRY(log.tx().put_task(task));
            return true;
        },
        [this, agent](const base::Result<bool>& done) {
            if (!done) report_stuck(agent, done.error());
        });
}

// What calls of these agents left behind, and no turn will come back for.
void Host::sweep(const std::vector<domain::AgentId>& agents) {
    for (const auto& id : parts_.supervisor.known()) {
        if (live_.contains({id})) continue;
        bool is_over = false;
        const auto status = parts_.store.read([&](store::Tx& tx) -> base::Status {
            const auto call = TRY(tx.tool_execution({id}));
            is_over = call && call->state == domain::CallState::Finished &&
                      std::ranges::find(agents, call->call.agent_id) != agents.end();
            return {};
        });
        if (!status || !is_over) continue;
        const auto command = parts_.supervisor.attach(
            id,
            lifetime_.guard([this, id](const supervisor::End&) { parts_.supervisor.forget(id); }));
        command->stop(kCancelGrace);
    }
}

}  // namespace tasks
