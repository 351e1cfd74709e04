#include "exec/plan/run/decide.h"

#include <algorithm>

#include "base/hash.h"
#include "base/text.h"
#include "exec/plan/record/chain.h"

namespace plan {
namespace {

constexpr std::size_t kPreviewCharsMax = 120;
constexpr std::size_t kLoopIdDigits = 12;

// `undo`: what revert can try; empty when nothing is known.
domain::ToolError unknown_outcome(const domain::ToolCall& call, const json::array& undo) {
    domain::ToolError error{
        .kind = "tool_outcome_unknown",
        .message =
            "The runtime stopped while this call was running. Whether it took effect, "
            "fully or in part, is unknown.",
        .details =
            json::object{
                {"outcome", "unknown"}, {"tool", call.tool}, {"callId", call.call_id.value}},
        .recovery_hint = "Check what it was to change, then resume the run."};
    if (!undo.empty()) error.details->get_object()["undo"] = undo;
    return error;
}

std::string loop_id(const domain::RunId& run, const std::string& step) {
    return step + "-" + base::sha256_hex(run.value + "\n" + step).substr(0, kLoopIdDigits);
}

// One piece of work keeps its key over every attempt; two pieces never share one.
std::string idempotency_key(const domain::RunId& run, const std::string& step,
                            const std::optional<domain::Iteration>& iteration) {
    std::string text = run.value + "\n" + step;
    if (iteration)
        text +=
            fmt::format("\n{}\n{}", iteration->index, base::canonical_json(iteration->item_value));
    return base::sha256_hex(text);
}

// The program of a command line and no more of it: the rest may hold a secret, and this text goes
// to everybody who follows the run.
std::string program_of(std::string_view line) {
    const std::string_view word = line.substr(0, line.find_first_of(" \t\n"));
    if (word.empty() || word.contains('=')) return "";
    return std::string(word) + (word.size() < line.size() ? " …" : "");
}

// "vault.createFile Inbox/Foo.md", "shell.exec make …"
std::string generated_preview(const std::string& tool, const json::value& args) {
    for (const std::string_view name : {"path", "from", "folder", "cmd", "command", "query"}) {
        std::string text = base::string_at(args, name);
        if (name == "cmd" || name == "command") text = program_of(text);
        if (!text.empty())
            return base::printable(
                base::ellipsize(tool + " " + base::to_utf8(text), kPreviewCharsMax));
    }
    return tool;
}

class Decision {
public:
    Decision(State& state, const Input& input, Delta& delta)
        : state_(state), input_(input), delta_(delta) {}

    void on(const Begin&) {
        auto& run = state_.run;
        run.status = domain::PlanRunStatus::Running;
        ++run.pass;
        run.started_at = input_.now;
        run.ended_at.reset();
        run.cancel_reason.reset();
        state_.begin_pass();
        json::object payload{{"pass", run.pass},
                             {"planHash", run.plan_hash},
                             {"policyHash", run.policy_hash},
                             {"inputsHash", inputs_hash(run)},
                             {"identityHash", identity_hash(run)}};
        if (run.approval) payload["confirmationId"] = run.approval->confirmation_id;
        say({.type = EventType::RunStarted,
             .message = run.pass == 1 ? "Run started: " + run.goal
                                      : fmt::format("Run resumed, pass {}: {}", run.pass, run.goal),
             .payload = std::move(payload)});
        delta_.needs_disk = true;
        set_deadline();
        advance();
    }

    // The time that no process executed the run counts, too.
    void on(const Restarted&) {
        const auto deadline = deadline_of_run();
        if (deadline && input_.now >= *deadline && !state_.is_halted()) run_out_of_time();
        std::vector<State::InFlight> cut_off;
        for (const auto& [id, one] : state_.in_flight) cut_off.push_back(one);
        for (const auto& one : cut_off) resume(one.call);
        set_deadline();
        advance();
    }

    void on(const CallEnded& ended) {
        const auto found = state_.in_flight.find(ended.result.call_id.value);
        if (found == state_.in_flight.end()) return;
        const CallPtr call = found->second.call;  // The entry goes while it is settled.
        for (const auto& denial : ended.denials) {
            auto event = about(EventType::StepProgress, *call,
                               fmt::format("The sandbox denied {}.", denial.what));
            event.level = EventLevel::Warn;
            event.payload["sandbox_denied"] = base::to_json(denial);
            say(std::move(event));
        }
        settle(call, ended.result);
        advance();
    }

    void on(const CallRecovered& found) {
        const auto in_flight = state_.in_flight.find(found.call_id.value);
        if (in_flight == state_.in_flight.end()) return;
        const CallPtr call = in_flight->second.call;
        state_.recovering.erase(found.call_id.value);
        using How = tools::Recovery::How;
        if (found.how == How::Made && found.result)
            settle(call, *found.result);
        else if (found.how == How::NotMade)
            state_.to_make_again.push_back(call);
        else
            settle(call, input_.not_run(*call, unknown_outcome(*call, found.undo),
                                        domain::ResultStatus::Error));
        advance();
    }

    void on(const CancelAsked& asked) {
        if (state_.run.cancel_reason) return;
        state_.run.cancel_reason = asked.reason;
        end_all(domain::ResultStatus::Cancelled);
        advance();
    }

    void on(const TimeOver&) {
        if (state_.is_halted()) return;
        run_out_of_time();
        end_all(domain::ResultStatus::Timeout);
        advance();
    }

    void on(const Tick&) { advance(); }

    void on(const StillRunning& running) {
        const auto found = state_.in_flight.find(running.call_id.value);
        if (found == state_.in_flight.end()) return;
        auto event = about(EventType::StepProgress, *found->second.call,
                           fmt::format("{}: still running after {} s", found->second.call->step_id,
                                       running.since.count() / 1000));
        event.payload["elapsedMs"] = running.since.count();
        say(std::move(event));
    }

private:
    void say(RunEvent event) {
        event.timestamp = input_.now;
        delta_.drafts.emplace_back(std::move(event));
    }

    RunEvent about(EventType type, const domain::ToolCall& call, std::string message) const {
        RunEvent event{.type = type,
                       .message = std::move(message),
                       .call_id = call.call_id,
                       .step_id = call.step_id,
                       .tool = call.tool};
        if (call.attempt > 1) event.payload["attempt"] = call.attempt;
        if (call.iteration) event.payload["index"] = call.iteration->index;
        return event;
    }

    std::optional<base::Time> deadline_of_run() const {
        const auto& limit = state_.run.policy.limits.run_timeout_ms;
        if (!limit) return std::nullopt;
        return state_.run.started_at.value_or(input_.now) + std::chrono::milliseconds(*limit);
    }

    void set_deadline() {
        if (const auto deadline = deadline_of_run())
            delta_.effects.emplace_back(RunDeadline{*deadline});
    }

    void run_out_of_time() {
        state_.out_of_time = true;
        state_.run.failure =
            domain::PlanFailure{"", "TIMEOUT",
                                fmt::format("The run took longer than its {} ms.",
                                            state_.run.policy.limits.run_timeout_ms.value_or(0))};
    }

    void end_all(domain::ResultStatus why) {
        for (const auto& [id, one] : state_.in_flight)
            delta_.effects.emplace_back(EndCall{one.call->call_id, why});
    }

    // A call that was running when the last process ended.
    void resume(const CallPtr& call) {
        if (input_.repeatable(call->tool)) return make_again(call);
        state_.recovering.insert(call->call_id.value);
        delta_.effects.emplace_back(Recover{call});
    }

    void make_again(const CallPtr& call) {
        if (state_.run.cancel_reason)
            return settle(
                call, input_.not_run(
                          *call, {.kind = "tool_cancelled", .message = "The run was cancelled."},
                          domain::ResultStatus::Cancelled));
        if (state_.out_of_time)
            return settle(call,
                          input_.not_run(*call,
                                         {.kind = "tool_timed_out",
                                          .message = "The run's time was over after a restart."},
                                         domain::ResultStatus::Timeout));
        say(about(EventType::StepProgress, *call,
                  fmt::format("{}: made again after a restart", call->step_id)));
        if (!input_.repeatable(call->tool)) delta_.needs_disk = true;
        delta_.effects.emplace_back(Dispatch{call});
    }

    void advance() {
        // A call that changes a file would hide whether one that was cut off had changed it.
        if (state_.recovering.empty())
            for (const auto& call : std::exchange(state_.to_make_again, {})) make_again(call);
        state_.wake(input_.now);
        while (true) {
            if (!state_.is_halted() && !state_.to_skip.empty()) {
                const std::size_t step = state_.to_skip.back();
                state_.to_skip.pop_back();
                skip(step);
            } else if (!state_.newly_ready.empty()) {
                announce();
            } else if (can_start()) {
                start_next(*state_.ready.begin());
            } else {
                break;
            }
        }
        if (state_.in_flight.empty() && (state_.is_halted() || state_.is_settled()))
            return finish();
        if (!state_.is_halted() && !state_.retries.empty())
            delta_.effects.emplace_back(WakeAt{state_.retries.begin()->first});
    }

    void announce() {
        const auto list = std::exchange(state_.newly_ready, {});
        if (state_.is_halted()) return;
        for (const std::size_t step : list)
            say({.type = EventType::StepScheduled,
                 .message = state_.plan().steps[step].id + ": scheduled",
                 .step_id = state_.plan().steps[step].id,
                 .tool = state_.plan().steps[step].tool});
    }

    bool can_start() const {
        return !state_.is_halted() && !state_.held && state_.recovering.empty() &&
               !state_.ready.empty() && std::ssize(state_.in_flight) < state_.concurrency_max();
    }

    void start_next(std::size_t index) {
        const auto& step = state_.plan().steps[index];
        if (state_.run.counts.calls >=
            state_.run.policy.limits.max_calls.value_or(kCallsMaxDefault)) {
            state_.stopping = true;
            state_.run.failure = domain::PlanFailure{
                step.id, "POLICY_DENIED",
                fmt::format("The run made {} calls, as many as its policy allows.",
                            state_.run.counts.calls)};
            return;
        }
        if (!state_.steps[index].expanded) {
            auto items = state_.items_of(index);
            if (!items)
                return fail_unresolved(call_for(index, std::nullopt, json::object()),
                                       items.error());
            if (items->empty()) return finish_empty(index);
            state_.expand(index, std::move(*items));
        }
        if (const auto unit = state_.startable(index))
            start(index, *unit);
        else
            state_.refresh(index);
    }

    void finish_empty(std::size_t index) {
        const auto& step = state_.plan().steps[index];
        say({.type = EventType::StepFinished,
             .message = step.id + ": there is nothing to go over",
             .step_id = step.id,
             .tool = step.tool});
        state_.note_empty_loop(index);
    }

    void start(std::size_t index, std::size_t unit) {
        const auto& step = state_.plan().steps[index];
        auto args = resolve(step.args, state_.scope(index, unit), "/args");
        const std::optional<std::size_t> item = step.foreach ? std::optional(unit) : std::nullopt;
        if (!args) return fail_unresolved(call_for(index, item, json::object()), args.error());
        const CallPtr call = call_for(index, item, std::move(*args));
        record_start(call);
        if (!input_.repeatable(call->tool)) delta_.needs_disk = true;
        delta_.effects.emplace_back(Dispatch{call});
    }

    CallPtr call_for(std::size_t index, std::optional<std::size_t> item, json::value args) {
        const auto& step = state_.plan().steps[index];
        const auto& run = state_.run;
        auto call = input_.describe({.call_id = call_id(run.run_id, run.counts.calls, input_.now),
                                     .run_id = run.run_id,
                                     .step_id = step.id,
                                     .source = domain::CallSource::PlanStep,
                                     .tool = step.tool,
                                     .args = std::move(args),
                                     .authority_class = authority_of(run)});
        const auto& units = state_.steps[index].units;
        const std::size_t unit = item.value_or(0);
        call.attempt = (unit < units.size() ? units[unit].attempt : 0) + 1;
        call.policy = run.policy;
        call.planner_version = run.planner_version;
        if (run.approval) call.confirmation_id = run.approval->confirmation_id;
        if (item)
            call.iteration =
                domain::Iteration{static_cast<std::int64_t>(*item), step.foreach->item_name,
                                  state_.steps[index].items[*item]};
        if (step.foreach) call.loop_id = loop_id(run.run_id, step.id);
        call.idempotency_key = idempotency_key(run.run_id, step.id, call.iteration);
        call.preview = preview_of(index, unit, call);
        set_timeout(step, call);
        return std::make_shared<const domain::ToolCall>(std::move(call));
    }

    std::string preview_of(std::size_t index, std::size_t unit, const domain::ToolCall& call) {
        const auto& step = state_.plan().steps[index];
        if (!step.preview) return generated_preview(call.tool, call.args);
        const auto text = resolve(json::string(*step.preview), state_.scope(index, unit));
        return text && text->is_string() ? std::string(std::string_view(text->get_string()))
                                         : *step.preview;
    }

    void set_timeout(const Step& step, domain::ToolCall& call) const {
        const auto& limit = state_.run.policy.limits.step_timeout_ms;
        call.timeout_ms = step.timeout_ms ? step.timeout_ms : limit;
        if (limit && call.timeout_ms) call.timeout_ms = std::min(*call.timeout_ms, *limit);
        if (call.timeout_ms)
            call.deadline_at = input_.now + std::chrono::milliseconds(*call.timeout_ms);
    }

    void record_start(const CallPtr& call) {
        delta_.drafts.emplace_back(call);
        RunEvent event =
            about(EventType::StepStarted, *call, call->step_id + ": " + *call->preview);
        if (call->iteration)
            event.payload["total"] =
                state_.steps[state_.checked->by_id.at(call->step_id)].units.size();
        say(std::move(event));
        state_.note_call(call);
    }

    void fail_unresolved(const CallPtr& call, const Unresolved& why) {
        record_start(call);
        settle(call, input_.not_run(*call,
                                    {.kind = why.kind,
                                     .message = why.message,
                                     .details = json::object{{"path", why.pointer}},
                                     .recovery_hint = "Check what the steps before it gave."},
                                    domain::ResultStatus::Error));
    }

    void skip(std::size_t index) {
        if (state_.steps[index].phase != Phase::Waiting) return;
        std::string because;
        for (const std::size_t other : state_.checked->needs[index]) {
            const Phase phase = state_.steps[other].phase;
            if (phase == Phase::Failed || phase == Phase::Skipped)
                because = fmt::format("{} {}", state_.plan().steps[other].id,
                                      phase == Phase::Failed ? "failed" : "was skipped");
        }
        const CallPtr call = call_for(index, std::nullopt, json::object());
        record_start(call);
        auto result = input_.not_run(*call, {.kind = "skipped", .message = because},
                                     domain::ResultStatus::Skipped);
        result.error.reset();
        result.user_message = fmt::format("Skipped, because {}.", because);
        settle(call, result);
    }

    // Writes down how a call ended, and what that means for its step.
    void settle(const CallPtr& call, const domain::ToolResult& result) {
        const bool good = result.ok || result.status == domain::ResultStatus::Skipped;
        RunEvent event = about(good ? EventType::StepFinished : EventType::StepFailed, *call,
                               fmt::format("{}: {}", call->step_id, result.user_message));
        event.level = result.ok ? EventLevel::Info : good ? EventLevel::Warn : EventLevel::Error;
        event.payload["status"] = base::enum_name(result.status);
        if (result.error) event.payload["code"] = result.error->code;
        const std::size_t waiting = state_.retries.size();
        state_.note_result(result);
        delta_.drafts.emplace_back(result);
        say(std::move(event));
        if (state_.retries.size() <= waiting) return;
        RunEvent again = about(EventType::StepScheduled, *call,
                               fmt::format("{}: will be tried again", call->step_id));
        again.call_id = {};
        again.level = EventLevel::Warn;
        again.payload["attempt"] = call->attempt + 1;
        say(std::move(again));
    }

    void finish() {
        auto& run = state_.run;
        run.ended_at = input_.now;
        run.counts.failed = std::ranges::count_if(state_.steps, [](const StepState& step) {
            return std::ranges::any_of(
                step.units, [](const Unit& unit) { return unit.phase == Phase::Failed; });
        });
        using enum domain::PlanRunStatus;
        run.status = run.cancel_reason                                 ? Cancelled
                     : state_.stopping || state_.out_of_time           ? Failed
                     : run.counts.failed > 0 || run.counts.skipped > 0 ? Partial
                                                                       : Succeeded;
        json::object payload{{"status", base::enum_name(run.status)}, {"steps", run.counts.steps},
                             {"succeeded", run.counts.succeeded},     {"failed", run.counts.failed},
                             {"skipped", run.counts.skipped},         {"calls", run.counts.calls}};
        if (run.counts.unknown_outcomes > 0)
            payload["unknownOutcomes"] = run.counts.unknown_outcomes;
        if (run.failure) payload["failure"] = camel_case(base::to_json(*run.failure));
        if (run.carrier) payload["carrier"] = base::enum_name(*run.carrier);
        if (run.cancel_reason) payload["cancelReason"] = *run.cancel_reason;
        const bool cancelled = run.status == Cancelled;
        say({.type = cancelled ? EventType::RunCancelled : EventType::RunFinished,
             .level = run.status == Succeeded ? EventLevel::Info
                      : run.status == Failed  ? EventLevel::Error
                                              : EventLevel::Warn,
             .message = cancelled ? "Run cancelled: " + *run.cancel_reason
                                  : fmt::format("Run ended: {}", base::enum_name(run.status)),
             .payload = std::move(payload)});
        delta_.needs_disk = true;
        delta_.effects.emplace_back(Ended{});
    }

    State& state_;
    const Input& input_;
    Delta& delta_;
};

}  // namespace

domain::ToolCallId call_id(const domain::RunId& run, std::int64_t number, base::Time now) {
    constexpr std::size_t kTailDigits = 15;
    const std::string tail =
        base::sha256_hex(fmt::format("{}\n{}", run, number)).substr(0, kTailDigits);
    const auto millis = static_cast<std::uint64_t>(base::to_micros(now) / 1000);
    return {fmt::format("{:08x}-{:04x}-7{:03x}-8{}-{}", (millis >> 16U) & 0xffffffffU,
                        millis & 0xffffU, static_cast<std::uint64_t>(number) & 0xfffU,
                        tail.substr(0, 3), tail.substr(3))};
}

void decide(State& state, const Event& event, const Input& input, Delta& delta) {
    if (state.run.ended_at && !std::holds_alternative<Begin>(event)) return;
    Decision decision(state, input, delta);
    std::visit([&](const auto& happened) { decision.on(happened); }, event);
}

}  // namespace plan
