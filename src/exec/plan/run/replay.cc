#include "exec/plan/run/replay.h"

#include <deque>

#include "exec/plan/language/wire.h"
#include "exec/plan/run/journal.h"

namespace plan {
namespace {

constexpr std::int64_t kTasksMax = 10'000'000;

std::string key_of(const domain::ToolCall& call) {
    if (!call.iteration) return fmt::format("{} attempt {}", call.step_id, call.attempt);
    return fmt::format("{} item {} attempt {}", call.step_id, call.iteration->index, call.attempt);
}

// Was it decided without a tool: skipped, or without its args? Then it is decided again.
bool was_decided(const domain::ToolCall& call, const domain::ToolResult& result) {
    if (result.status == domain::ResultStatus::Skipped) return true;
    return result.error && result.error->details &&
           base::find(*result.error->details, "path") != nullptr &&
           call.args == json::value(json::object());
}

// A loop and clock whose time stands still until nothing else is left to do.
class QuietLoop final : public base::Loop, public base::Clock {
public:
    explicit QuietLoop(base::Time start) : now_(start) {}

    void post(base::Job task) override { tasks_.push_back(std::move(task)); }
    TimerHandle after(std::chrono::microseconds delay, base::Job task) override {
        const auto handle = static_cast<TimerHandle>(++last_);
        timers_.emplace(std::pair(now_ + std::max(delay, std::chrono::microseconds(0)), last_),
                        std::move(task));
        return handle;
    }
    TimerHandle at(base::Time when, base::Job task) override {
        return after(when - now_, std::move(task));
    }
    void cancel(TimerHandle timer) override {
        std::erase_if(timers_, [&](const auto& entry) {
            return static_cast<TimerHandle>(entry.first.second) == timer;
        });
    }
    void offload(base::Job work, base::Job done) override {
        work();
        post(std::move(done));
    }
    base::Time now() override { return now_; }

    void set(base::Time time) { now_ = std::max(now_, time); }
    bool run_task() {
        if (tasks_.empty()) return false;
        auto task = std::move(tasks_.front());
        tasks_.pop_front();
        task();
        return true;
    }
    bool run_timer() {
        if (timers_.empty()) return false;
        auto first = timers_.extract(timers_.begin());
        set(first.key().first);
        first.mapped()();
        return true;
    }

private:
    base::Time now_;
    std::uint64_t last_{0};
    std::deque<base::Job> tasks_;
    std::map<std::pair<base::Time, std::uint64_t>, base::Job> timers_;
};

class RecordedPerformer final : public Performer {
public:
    RecordedPerformer(const RunFiles& files, const tools::Dispatcher& dispatcher, QuietLoop& loop)
        : dispatcher_(dispatcher),
          loop_(loop),
          was_cancelled_(files.run.status == domain::PlanRunStatus::Cancelled) {
        std::map<std::string, domain::ToolCall> calls;
        for (const auto& record : files.records) {
            const auto value = base::parse_json(record.line).value_or(nullptr);
            if (record.kind == domain::PlanRecordKind::Call) {
                if (auto call = call_from(value)) calls[call->call_id.value] = std::move(*call);
            } else if (record.kind == domain::PlanRecordKind::Result) {
                auto result = result_from(value);
                const auto call = result ? calls.find(result->call_id.value) : calls.end();
                if (call == calls.end() || was_decided(call->second, *result)) continue;
                const std::string key = key_of(call->second);
                order_.push_back(key);
                recorded_[key] = {std::move(call->second), std::move(*result)};
            }
        }
    }

    std::shared_ptr<tools::Running> start(const CallPtr& call,
                                          std::move_only_function<void(CallEnded)> done) override {
        const std::string key = key_of(*call);
        const auto found = recorded_.find(key);
        if (found == recorded_.end()) {
            // Where a run was cancelled is not in the record; what came after it is no surprise.
            if (!was_cancelled_) out.divergences.push_back(key + ": the record has no such call");
            done({dispatcher_
                      .without_running(*call, {.kind = "not_recorded", .message = "Not recorded."},
                                       domain::ResultStatus::Cancelled)
                      .result});
            return nullptr;
        }
        const auto& recorded = found->second.call;
        // By the args themselves: what a record says of them may be another thing.
        if (const auto args = domain::args_hash(recorded.args); args != call->args_hash)
            out.divergences.push_back(fmt::format("{}: the record has args {}, the replay {}", key,
                                                  args, call->args_hash));
        if (recorded.tool != call->tool)
            out.divergences.push_back(fmt::format("{}: the record has tool {}, the replay {}", key,
                                                  recorded.tool, call->tool));
        waiting_.emplace(key, Waiting{call, std::move(done)});
        return nullptr;
    }

    // Serves the next result in the order of the record, if its call was made.
    bool serve() {
        if (order_.empty()) return false;
        const auto waiting = waiting_.find(order_.front());
        if (waiting == waiting_.end()) return false;
        auto result = recorded_[order_.front()].result;
        order_.pop_front();
        ++out.served;
        loop_.set(result.ended_at);
        result.call_id = waiting->second.call->call_id;
        auto done = std::move(waiting->second.done);
        waiting_.erase(waiting);
        done({std::move(result)});
        return true;
    }

    // Nothing can happen before a call that is never made: it is named, and the next one is served.
    bool give_up_one() {
        if (order_.empty()) return false;
        out.divergences.push_back(order_.front() + ": the replay never made this call");
        order_.pop_front();
        return true;
    }

    Replayed out;

private:
    struct Recorded {
        domain::ToolCall call;
        domain::ToolResult result;
    };
    struct Waiting {
        CallPtr call;
        std::move_only_function<void(CallEnded)> done;
    };
    const tools::Dispatcher& dispatcher_;
    QuietLoop& loop_;
    bool was_cancelled_;
    std::map<std::string, Recorded> recorded_;
    std::deque<std::string> order_;
    std::map<std::string, Waiting> waiting_;
};

}  // namespace

Replayed replay(const RunFiles& files, const CheckedPlan& plan,
                const tools::Dispatcher& dispatcher) {
    domain::PlanRun run = files.run;
    run.pass = 0;
    run.counts = {};
    run.ended_at.reset();
    run.cancel_reason.reset();
    QuietLoop loop(run.created_at);
    MemoryJournal journal(loop);
    RecordedPerformer performer(files, dispatcher, loop);
    Runner runner({.loop = loop,
                   .clock = loop,
                   .dispatcher = dispatcher,
                   .journal = journal,
                   .performer = performer,
                   .place = {.agent_id = {"plan"}}},
                  State(run, plan));
    for (std::int64_t pass = 0; pass < files.run.pass; ++pass) {
        bool ended = false;
        runner.on_ended = [&] { ended = true; };
        runner.begin();
        for (std::int64_t i = 0; !ended && i < kTasksMax; ++i)
            if (!loop.run_task() && !performer.serve() && !loop.run_timer() &&
                !performer.give_up_one())
                break;
    }
    while (performer.give_up_one()) {
    }
    performer.out.status = runner.state().run.status;
    if (files.run.status != domain::PlanRunStatus::Cancelled &&
        performer.out.status != files.run.status)
        performer.out.divergences.push_back(fmt::format("the record ended as {}, the replay as {}",
                                                        base::enum_name(files.run.status),
                                                        base::enum_name(performer.out.status)));
    return std::move(performer.out);
}

}  // namespace plan
