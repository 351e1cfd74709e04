#include "exec/plan/run/state.h"

#include <algorithm>

#include "base/hash.h"

namespace plan {
namespace {

constexpr std::int64_t kJitterPercent = 25;

// The same call waits equally long whenever it is asked; different calls spread out.
std::int64_t jitter_percent(const domain::ToolCallId& call) {
    const std::string digest = base::sha256_hex(call.value);
    const auto number = std::strtoll(digest.substr(0, 8).c_str(), nullptr, 16);
    return 100 - kJitterPercent + number % (2 * kJitterPercent + 1);
}

// What went wrong, and what to do about it.
domain::PlanFailure failure_of(const std::string& step, const domain::ResultError& error) {
    const std::string hint = error.details ? base::string_at(*error.details, "hint") : "";
    return {step, error.code, error.message + (hint.empty() ? "" : " " + hint)};
}

}  // namespace

bool is_unknown_outcome(const domain::ToolResult& result) {
    return result.error && result.error->details &&
           base::string_at(*result.error->details, "outcome") == "unknown";
}

State::State(domain::PlanRun from, CheckedPlan plan)
    : run(std::move(from)), checked(std::move(plan)), steps(checked->plan.steps.size()) {
    for (std::size_t i = 0; i < steps.size(); ++i)
        if (!checked->plan.steps[i].foreach) {
            steps[i].expanded = true;
            steps[i].units.resize(1);
        }
    run.counts.steps = static_cast<std::int64_t>(steps.size());
    run_var_ = json::object{
        {"id", run.run_id.value}, {"goal", run.goal}, {"startedAt", base::to_text(run.created_at)}};
    context_var_ = run.context;
    params_var_ = run.params;
    begin_pass();
}

domain::AuthorityClass authority_of(const domain::PlanRun& run) {
    return run.owner ? run.owner->authority_class : domain::AuthorityClass::OperatorInstruction;
}

// The journal has the form of the plan surface, which knows no agents.
static domain::ToolCall of_owner(domain::ToolCall call, const domain::PlanRun& run) {
    call.authority_class = authority_of(run);
    if (run.owner) call.agent_id = run.owner->agent_id;
    return call;
}

base::Result<State> State::from_journal(domain::PlanRun run, CheckedPlan plan,
                                        const std::vector<domain::PlanRecord>& records) {
    run.counts = {};
    const auto cancel_reason = std::exchange(run.cancel_reason, std::nullopt);
    State state(std::move(run), std::move(plan));
    for (const auto& record : records) {
        const auto value = TRY(base::parse_json(record.line));
        switch (record.kind) {
            case domain::PlanRecordKind::Call:
                state.note_call(std::make_shared<const domain::ToolCall>(
                    of_owner(TRY(call_from(value)), state.run)));
                break;
            case domain::PlanRecordKind::Result:
                state.note_result(TRY(result_from(value)));
                break;
            case domain::PlanRecordKind::Event: {
                const auto event = TRY(event_from(value));
                if (event.type == EventType::RunStarted) state.begin_pass();
                const auto step = state.checked->by_id.find(event.step_id);
                if (event.type == EventType::StepFinished && event.call_id.empty() &&
                    step != state.checked->by_id.end())
                    state.note_empty_loop(step->second);
                break;
            }
        }
    }
    state.run.cancel_reason = cancel_reason;
    // A resumed run has nothing to announce: that was done before.
    state.newly_ready.clear();
    return state;
}

void State::begin_pass() {
    in_flight.clear();
    ready.clear();
    retries.clear();
    newly_ready.clear();
    to_skip.clear();
    stopping = out_of_time = false;
    run.failure.reset();
    run.counts.failed = run.counts.skipped = 0;
    open_steps = 0;
    for (auto& step : steps) {
        if (step.phase == Phase::Succeeded) continue;
        ++open_steps;
        step.phase = Phase::Waiting;
        step.next = step.running = step.settled = 0;
        step.again.clear();
        if (step.whole) {
            step.expanded = step.whole = false;
            step.units.clear();
        }
        for (auto& unit : step.units) {
            if (unit.phase == Phase::Succeeded) {
                ++step.settled;
            } else {
                unit.phase = Phase::Waiting;
                unit.tries = 0;
            }
        }
    }
    count_waits();
}

void State::count_waits() {
    for (std::size_t i = 0; i < steps.size(); ++i) {
        steps[i].waits_for = static_cast<std::size_t>(std::ranges::count_if(
            checked->needs[i],
            [&](std::size_t other) { return steps[other].phase != Phase::Succeeded; }));
        refresh(i);
        if (ready.contains(i)) newly_ready.push_back(i);
    }
}

std::int64_t State::concurrency_max() const {
    return std::max<std::int64_t>(run.policy.limits.max_concurrency, 1);
}

std::optional<std::size_t> State::startable(std::size_t index) {
    auto& step = steps[index];
    const auto& loop = plan().steps[index].foreach;
    const auto window = static_cast<std::size_t>(
        loop ? std::min(loop->concurrency, concurrency_max()) : std::int64_t{1});
    if (step.running >= window) return std::nullopt;
    if (!step.again.empty()) return *step.again.begin();
    while (step.next < step.units.size() && step.units[step.next].phase != Phase::Waiting)
        ++step.next;
    if (step.next < step.units.size()) return step.next;
    return std::nullopt;
}

void State::refresh(std::size_t index) {
    auto& step = steps[index];
    const bool open = step.phase == Phase::Waiting || step.phase == Phase::Running;
    if (open && step.waits_for == 0 && (!step.expanded || startable(index)))
        ready.insert(index);
    else
        ready.erase(index);
}

void State::wake(base::Time now) {
    while (!retries.empty() && retries.begin()->first <= now) {
        const UnitAt at = retries.begin()->second;
        retries.erase(retries.begin());
        steps[at.step].again.insert(at.unit);
        refresh(at.step);
    }
}

Scope State::scope(std::size_t index, std::size_t unit) const {
    const auto data_of = [this](std::size_t other) -> const json::value* {
        return steps[other].phase == Phase::Succeeded ? &steps[other].data : nullptr;
    };
    Scope scope;
    scope.step = [this, data_of](const std::string& id) -> const json::value* {
        const auto found = checked->by_id.find(id);
        return found == checked->by_id.end() ? nullptr : data_of(found->second);
    };
    scope.var = [this, data_of](const std::string& name) -> const json::value* {
        if (name == kRunVar) return &run_var_;
        if (name == kContextVar) return &context_var_;
        if (name == kParamsVar) return &params_var_;
        const auto found = checked->by_capture.find(name);
        return found == checked->by_capture.end() ? nullptr : data_of(found->second);
    };
    const auto& step = steps[index];
    if (const auto& loop = plan().steps[index].foreach; loop && unit < step.items.size()) {
        scope.names = {loop->item_name, loop->index_name};
        scope.item = &step.items[unit];
        scope.index = static_cast<std::int64_t>(unit);
    }
    return scope;
}

std::expected<json::array, Unresolved> State::items_of(std::size_t index) const {
    const std::string path = fmt::format("/steps/{}/foreach/from", index);
    const auto& from = plan().steps[index].foreach->from;
    auto list = resolve(json::string(from), scope(index, 0), path);
    if (!list) return std::unexpected(std::move(list).error());
    if (!list->is_array()) return std::unexpected(Unresolved{path, from + " is not a list"});
    const auto max = run.policy.limits.max_foreach_items.value_or(kForeachItemsMaxDefault);
    if (std::ssize(list->get_array()) > max)
        return std::unexpected(Unresolved{path,
                                          fmt::format("{} has {} items, and the policy allows {}",
                                                      from, list->get_array().size(), max),
                                          "policy_denied"});
    return std::move(list->get_array());
}

void State::expand(std::size_t index, json::array items) {
    auto& step = steps[index];
    step.units.resize(items.size());
    step.items = std::move(items);
    step.expanded = true;
}

UnitAt State::locate(const domain::ToolCall& call) {
    const std::size_t index = checked->by_id.at(call.step_id);
    auto& step = steps[index];
    if (!step.expanded && call.iteration) {
        if (auto items = items_of(index)) expand(index, std::move(*items));
    } else if (!step.expanded) {
        step.whole = step.expanded = true;
        step.units.assign(1, {});
    }
    return {index, call.iteration ? static_cast<std::size_t>(call.iteration->index) : 0};
}

void State::note_call(const CallPtr& call) {
    const UnitAt at = locate(*call);
    auto& step = steps[at.step];
    CHECK(at.unit < step.units.size(), "a call belongs to an item of its loop");
    auto& unit = step.units[at.unit];
    unit.phase = Phase::Running;
    unit.attempt = call->attempt;
    ++unit.tries;
    step.again.erase(at.unit);
    step.phase = Phase::Running;
    ++step.running;
    ++run.counts.calls;
    in_flight[call->call_id.value] = {at, call};
    // After a restart the wait for it is over, too.
    if (!retries.empty())
        std::erase_if(retries, [&](const auto& entry) { return entry.second == at; });
    refresh(at.step);
}

void State::note_result(const domain::ToolResult& result) {
    const auto found = in_flight.find(result.call_id.value);
    if (found == in_flight.end()) return;
    const UnitAt at = found->second.at;
    in_flight.erase(found);
    auto& state = steps[at.step];
    auto& unit = state.units[at.unit];
    const auto& step = plan().steps[at.step];
    --state.running;
    if (is_unknown_outcome(result)) ++run.counts.unknown_outcomes;
    if (result.ok) {
        unit.data = result.data.value_or(json::object());
        settle_unit(at, Phase::Succeeded);
    } else if (result.status == domain::ResultStatus::Skipped) {
        settle_unit(at, Phase::Skipped);
    } else if (may_retry(step, unit, result)) {
        unit.phase = Phase::Retrying;
        retries.emplace(retry_at(step, unit, result), at);
        refresh(at.step);
    } else {
        if (on_error_of(plan(), step) != OnError::Skip && !is_halted()) {
            stopping = true;
            run.failure = failure_of(step.id, *result.error);
        }
        settle_unit(at, Phase::Failed);
    }
}

void State::note_empty_loop(std::size_t index) {
    expand(index, {});
    settle_step(index);
}

void State::settle_unit(UnitAt at, Phase phase) {
    auto& step = steps[at.step];
    step.units[at.unit].phase = phase;
    if (++step.settled == step.units.size()) settle_step(at.step);
    refresh(at.step);
}

void State::settle_step(std::size_t index) {
    auto& step = steps[index];
    const auto has = [&](Phase phase) {
        return std::ranges::any_of(step.units,
                                   [&](const Unit& unit) { return unit.phase == phase; });
    };
    step.phase = has(Phase::Failed)    ? Phase::Failed
                 : has(Phase::Skipped) ? Phase::Skipped
                                       : Phase::Succeeded;
    --open_steps;
    ready.erase(index);
    if (step.phase == Phase::Failed) ++run.counts.failed;
    if (step.phase == Phase::Skipped) ++run.counts.skipped;
    if (step.phase != Phase::Succeeded) {
        for (const std::size_t other : checked->needed_by[index])
            if (steps[other].phase == Phase::Waiting) to_skip.push_back(other);
        return;
    }
    ++run.counts.succeeded;
    if (plan().steps[index].foreach) {
        auto& list = step.data.emplace_array();
        for (const auto& unit : step.units) list.push_back(unit.data);
    } else {
        step.data = step.units[0].data;
    }
    for (const std::size_t other : checked->needed_by[index]) {
        --steps[other].waits_for;
        refresh(other);
        if (ready.contains(other)) newly_ready.push_back(other);
    }
}

bool State::may_retry(const Step& step, const Unit& unit, const domain::ToolResult& result) const {
    if (is_halted()) return false;
    const std::string& code = result.error->code;
    // Nothing about the call would be different the next time.
    if (code == "VALIDATION_ERROR" || code == "POLICY_DENIED" || code == "CANCELLED") return false;
    const auto rule = retry_of(plan(), step);
    const bool author = on_error_of(plan(), step) == OnError::Retry;
    const bool wanted =
        is_unknown_outcome(result)
            ? author
            : author || result.error->retryable.value_or(false) || (rule && code == "TIMEOUT");
    const auto tries = std::min(rule ? rule->max_attempts : kAttemptsDefault,
                                run.policy.limits.max_attempts.value_or(kAttemptsMax));
    return wanted && unit.tries < tries;
}

base::Time State::retry_at(const Step& step, const Unit& unit,
                           const domain::ToolResult& result) const {
    const auto rule = retry_of(plan(), step).value_or(Retry{});
    const auto max =
        std::min(run.policy.limits.max_backoff_ms.value_or(kBackoffClampMsDefault), kBackoffMsMax);
    std::int64_t wait = rule.backoff_ms;
    for (std::int64_t i = 1; i < unit.tries && wait < max; ++i) wait *= 2;
    wait = std::min(wait * jitter_percent(result.call_id) / 100, max);
    return result.ended_at + std::chrono::milliseconds(wait);
}

}  // namespace plan
