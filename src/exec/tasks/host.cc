#include "exec/tasks/host.h"

#include <algorithm>
#include <utility>

#include "domain/events/tasks.h"
#include "exec/sandbox/denials.h"
#include "exec/tasks/commands/live.h"
#include "exec/tasks/commits.h"
#include "exec/tasks/output.h"
#include "exec/tasks/plan_task.h"

namespace tasks {
namespace {

using base::ErrorCode;

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

base::Result<std::vector<domain::Task>> load_active(store::Tx& tx, const domain::AgentId& agent) {
    auto list = TRY(tx.active_tasks(agent));
    std::ranges::sort(list, std::ranges::greater{},
                      [](const domain::Task& task) { return std::pair(task.updated_at, task.id); });
    return list;
}

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
        remove_recorded(parts_.store, parts_.supervisor, list);
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

void Host::when_recovered(base::Job job) {
    if (recovering_ == 0) return job();
    after_recovery_.push_back(std::move(job));
}

bool Host::withholds(const domain::AgentId& agent, domain::TrustLevel trust) const {
    return parts_.gate && parts_.gate->policy(agent, trust) == domain::GatePolicy::Enforce;
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
            if (!*found || !parts_.gate ||
                parts_.gate->policy(agent, trust_of(task)) == domain::GatePolicy::Off)
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
    forget_later(id.value);
    report_end(id);
    if (has_ended && listener_.on_result) listener_.on_result(agent);
}

void Host::forget_later(const std::string& id) {
    committer_.background<bool>(
        lifetime_,
        [&supervisor = parts_.supervisor, id]() -> base::Result<bool> {
            supervisor.forget(id);
            return true;
        },
        [](const base::Result<bool>&) {});
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
            [agent, id, executors = executors_](store::Tx& tx) -> base::Result<domain::Task> {
                auto task = TRY(tx.task(id));
                if (!task || task->agent_id != agent) return no_such_task(id);
                if (const auto of_kind = executors.find(task->kind); of_kind != executors.end())
                    TRY(of_kind->second->refresh(tx, *task));
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
        lifetime_, events::kRetryWhileAwaited,
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
            // The process has the text: a record of it that fails once is not given up.
            committer_.commit<InputReceipt>(
                lifetime_, events::kRetryWhileAwaited,
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
    // A model may ask for a task that runs on again and again, and give up waiting each time.
    auto& waiters = waiting_[id];
    std::erase_if(waiters, [](const Waiter& waiter) { return waiter.expired(); });
    waiters.push_back(token);
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

}  // namespace tasks
