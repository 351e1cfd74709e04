#include "exec/plan/run/runner.h"

#include "exec/plan/record/chain.h"

namespace plan {
namespace {

// A result for a call that somebody ended, whatever its tool says about it.
void mark_ended(domain::ToolResult& result, domain::ResultStatus why,
                const domain::ToolCall& call) {
    if (result.ok) return;  // It was done before the order to stop reached it.
    result.status = why;
    // A tool that did not end is of unknown outcome, and the details say so.
    auto details = result.error ? std::move(result.error->details) : std::nullopt;
    if (why == domain::ResultStatus::Timeout) {
        const std::string message =
            call.timeout_ms
                ? fmt::format("It took longer than {} ms and was ended.", *call.timeout_ms)
                : "The run's time was over and it was ended.";
        result.error = domain::ResultError{.code = "TIMEOUT", .message = message};
        result.user_message = message;
    } else {
        result.error = domain::ResultError{.code = "CANCELLED", .message = "It was cancelled."};
        result.user_message = "Cancelled.";
    }
    result.error->details = std::move(details);
    result.debug_message =
        fmt::format("{} {} ({})", call.tool, base::enum_name(result.status), call.step_id);
}

}  // namespace

// A call that is being made.
struct Runner::Flight {
    CallPtr call;
    std::shared_ptr<tools::Running> running;
    base::Loop::TimerHandle timer{base::Loop::TimerHandle::None};  // Its timeout, then the grace.
    base::Loop::TimerHandle progress{base::Loop::TimerHandle::None};
    std::optional<domain::ResultStatus> ended_as{};
};

Runner::Runner(RunnerParts parts, State state)
    : parts_(std::move(parts)), state_(std::move(state)), self_(std::make_shared<Runner*>(this)) {}

Runner::~Runner() {
    parts_.loop.cancel(wake_);
    parts_.loop.cancel(deadline_);
    for (auto& [id, flight] : flights_) {
        parts_.loop.cancel(flight->timer);
        parts_.loop.cancel(flight->progress);
        flight->running = nullptr;
    }
}

Input Runner::input() const {
    const base::Time now = parts_.clock.now();
    return {.now = now,
            .describe =
                [this](tools::Asked asked) {
                    return parts_.dispatcher.describe(std::move(asked), parts_.place);
                },
            .not_run =
                [this, now](const domain::ToolCall& call, domain::ToolError error,
                            domain::ResultStatus status) {
                    auto result =
                        parts_.dispatcher.without_running(call, std::move(error), status).result;
                    result.started_at = result.ended_at = now;
                    return result;
                },
            .repeatable =
                [this](const std::string& tool) { return parts_.dispatcher.is_repeatable(tool); }};
}

void Runner::receive(Event event) {
    if (std::holds_alternative<Begin>(event)) is_over_ = false;
    inbox_.push_back(std::move(event));
    if (committing_ || pump_posted_ || is_over_) return;
    // Posted, so that calls which end at once are taken together and the stack does not grow.
    pump_posted_ = true;
    parts_.loop.post([this, alive = std::weak_ptr(self_)] {
        if (!alive.lock()) return;
        pump_posted_ = false;
        pump();
    });
}

namespace {

// Inputs may be as long as the run, and each call commits: they are copied where they are written.
domain::PlanRun copy_for_commit(domain::PlanRun& run, bool is_first) {
    if (is_first || !run.is_open()) return run;
    auto context = std::exchange(run.context, {});
    auto params = std::exchange(run.params, {});
    domain::PlanRun copy = run;
    run.context = std::move(context);
    run.params = std::move(params);
    return copy;
}

}  // namespace

void Runner::pump() {
    if (committing_ || is_over_ || inbox_.empty()) return;
    Delta delta;
    const Input now = input();
    for (const auto& event : std::exchange(inbox_, {})) decide(state_, event, now, delta);

    auto commit = std::make_shared<Commit>();
    auto& run = state_.run;
    commit->records.reserve(delta.drafts.size());
    for (const auto& draft : delta.drafts) {
        using Kind = domain::PlanRecordKind;
        const Kind kind = std::holds_alternative<CallPtr>(draft)    ? Kind::Call
                          : std::holds_alternative<RunEvent>(draft) ? Kind::Event
                                                                    : Kind::Result;
        json::object body = kind == Kind::Call ? call_json(*std::get<CallPtr>(draft))
                            : kind == Kind::Event
                                ? event_json(run.run_id, std::get<RunEvent>(draft))
                                : result_json(std::get<domain::ToolResult>(draft));
        commit->records.push_back(seal(run.last_seq, run.last_hash, kind, std::move(body)));
    }
    commit->run = copy_for_commit(run, std::exchange(is_first_commit_, false));
    commit->needs_disk = delta.needs_disk;
    committing_ = true;
    parts_.journal.commit(commit, [this, alive = std::weak_ptr(self_), commit,
                                   effects = std::move(delta.effects)](base::Status status) {
        if (!alive.lock()) return;
        if (status && on_commit) on_commit(*commit);
        committed(effects, status);
    });
}

void Runner::committed(const std::vector<Effect>& effects, const base::Status& status) {
    committing_ = false;
    if (!status) {
        is_over_ = true;
        if (on_stuck) on_stuck(status.error());
        return;
    }
    for (const auto& effect : effects) act(effect);
    if (!inbox_.empty() && !pump_posted_) pump();
    notify_quiet();
}

void Runner::hold(std::function<void()> quiet) {
    state_.held = true;
    quiet_ = std::move(quiet);
    notify_quiet();
}

void Runner::notify_quiet() {
    if (!quiet_ || is_over_ || committing_ || pump_posted_ || !inbox_.empty() ||
        !flights_.empty() || recovering_ > 0)
        return;
    std::exchange(quiet_, nullptr)();
}

void Runner::act(const Effect& effect) {
    if (const auto* one = std::get_if<Dispatch>(&effect)) {
        dispatch(one->call);
    } else if (const auto* cut_off = std::get_if<Recover>(&effect)) {
        recover(cut_off->call);
    } else if (const auto* end = std::get_if<EndCall>(&effect)) {
        end_call(end->call_id, end->why);
    } else if (const auto* wake = std::get_if<WakeAt>(&effect)) {
        parts_.loop.cancel(wake_);
        wake_ = parts_.loop.after(wake->at - parts_.clock.now(), [this] { receive(Tick{}); });
    } else if (const auto* deadline = std::get_if<RunDeadline>(&effect)) {
        parts_.loop.cancel(deadline_);
        deadline_ =
            parts_.loop.after(deadline->at - parts_.clock.now(), [this] { receive(TimeOver{}); });
    } else {
        is_over_ = true;
        parts_.loop.cancel(wake_);
        parts_.loop.cancel(deadline_);
        if (on_ended) on_ended();
    }
}

void Runner::dispatch(const CallPtr& call) {
    auto flight = std::make_shared<Flight>(Flight{.call = call});
    const std::string id = call->call_id.value;
    flights_[id] = flight;
    if (call->timeout_ms)
        flight->timer = parts_.loop.after(std::chrono::milliseconds(*call->timeout_ms), [this, id] {
            end_call({id}, domain::ResultStatus::Timeout);
        });
    if (parts_.reports_progress) report_later(flight, std::chrono::seconds(0), kProgressFirst);
    flight->running =
        parts_.performer.start(call, [this, alive = std::weak_ptr(self_), id](CallEnded ended) {
            if (alive.lock()) call_ended(id, std::move(ended));
        });
}

void Runner::report_later(const std::shared_ptr<Flight>& flight, std::chrono::seconds since,
                          std::chrono::seconds pause) {
    flight->progress = parts_.loop.after(pause, [this, flight, since, pause] {
        receive(StillRunning{flight->call->call_id, since + pause});
        report_later(flight, since + pause, std::min(pause * 2, kProgressPauseMax));
    });
}

void Runner::recover(const CallPtr& call) {
    ++recovering_;
    parts_.performer.recover(call, [this, alive = std::weak_ptr(self_)](CallRecovered found) {
        if (!alive.lock()) return;
        --recovering_;
        receive(std::move(found));
    });
}

void Runner::end_call(const domain::ToolCallId& id, domain::ResultStatus why) {
    const auto found = flights_.find(id.value);
    if (found == flights_.end() || found->second->ended_as) return;
    const auto flight = found->second;
    flight->ended_as = why;
    parts_.loop.cancel(flight->timer);
    flight->timer = parts_.loop.after(kEndGrace, [this, flight] {
        auto result = parts_.dispatcher
                          .without_running(*flight->call,
                                           {.kind = "tool_outcome_unknown",
                                            .message = "It did not end when it was asked to.",
                                            .details = json::object{{"outcome", "unknown"}}},
                                           domain::ResultStatus::Error)
                          .result;
        call_ended(flight->call->call_id.value, {std::move(result)});
    });
    if (flight->running) flight->running->cancel();
}

void Runner::call_ended(const std::string& id, CallEnded ended) {
    const auto found = flights_.find(id);
    if (found == flights_.end()) return;
    const auto flight = found->second;
    flights_.erase(found);
    parts_.loop.cancel(flight->timer);
    parts_.loop.cancel(flight->progress);
    if (flight->ended_as) mark_ended(ended.result, *flight->ended_as, *flight->call);
    receive(std::move(ended));
}

}  // namespace plan
