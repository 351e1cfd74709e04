#include "flow/turn/runner.h"

#include "flow/turn/apply.h"
#include "flow/turn/decide/records.h"

namespace turn {
namespace {

constexpr std::string_view kUnknownOutcome =
    "The runtime stopped while this call was running. Whether it took effect, fully or in part, is "
    "unknown.";

const domain::ToolCallId& call_id_of(const domain::ToolExecution& execution) {
    return execution.call.call_id;
}

domain::ToolError unknown_outcome(const domain::ToolCall& call) {
    return {
        .kind = "tool_outcome_unknown",
        .message = std::string(kUnknownOutcome),
        .details = json::object{{"tool_name", call.tool}, {"call_id", call.call_id.value}},
        .recovery_hint =
            "Look at the world first (files, processes, services); then decide whether to make the "
            "call again."};
}

}  // namespace

// An open attempt in this process: its facts as last committed, and what is in flight for it.
struct Runner::Live {
    Facts facts;
    context::Frame frame;
    std::vector<provider::ConversationTurn> conversation;
    std::vector<provider::ToolDeclaration> tools;
    std::shared_ptr<provider::Exchange> exchange;
    std::shared_ptr<tools::Running> running_tool;
    base::Loop::TimerHandle wait{base::Loop::TimerHandle::None};
    base::Loop::TimerHandle deadline{base::Loop::TimerHandle::None};
    std::optional<Interrupted> stop_request;
    bool operator_joined{false};  // Their own instructions are in the conversation, too.

    // On whose word the calls of the next round are made.
    domain::AuthorityClass authority() const {
        return operator_joined ? domain::AuthorityClass::OperatorInstruction
                               : domain::instructed_by(facts.message);
    }
    base::Status read_conversation(store::Tx& tx) {
        const auto entries = TRY(tx.transcript_of(facts.message.id));
        operator_joined = std::ranges::any_of(entries, is_interjection_entry);
        conversation = TRY(conversation_of(entries));
        return {};
    }
};

std::vector<provider::ToolDeclaration> declarations(const tools::Registry& registry,
                                                    const domain::Agent& agent) {
    std::vector<provider::ToolDeclaration> list;
    for (const auto* spec : registry.exposed(agent.identity.profile_preset)) {
        if (spec->risk == domain::RiskLevel::Commands && !agent.execution.process_execution_exposed)
            continue;
        list.push_back({spec->name, spec->description, spec->input_schema, spec->freeform_patch});
    }
    return list;
}

Runner::Runner(Parts parts) : parts_(std::move(parts)), self_(std::make_shared<Runner*>(this)) {}
Runner::~Runner() {
    // What is in flight holds its turn, and the turn its handle: whoever goes first lets go.
    for (auto& [agent, live] : live_) {
        live->exchange = nullptr;
        live->running_tool = nullptr;
    }
}

bool Runner::is_running(const domain::AgentId& agent) const {
    return live_.contains(agent);
}

Input Runner::input(base::Time now) const {
    return {.now = now,
            .repeatable =
                [this](const std::string& tool) { return parts_.dispatcher.is_repeatable(tool); },
            .not_run =
                [this](const domain::ToolCall& call, domain::ToolError error,
                       domain::ResultStatus status) {
                    return parts_.dispatcher.without_running(call, std::move(error), status);
                }};
}

tools::Place Runner::place(const Live& live) const {
    const auto& agent = live.facts.agent;
    return {agent.agent_id, parts_.home_of(agent.agent_id), agent.active_workspace_entry.value()};
}

void Runner::start(Facts facts, const context::Frame& frame, const std::vector<Effect>& effects) {
    auto live = std::make_shared<Live>(Live{.facts = std::move(facts), .frame = frame});
    prepare(*live);
    const auto status =
        parts_.store.read([&](store::Tx& tx) { return live->read_conversation(tx); });
    if (!status) return on_stuck(live->facts.agent.agent_id, status.error());
    live_[live->facts.agent.agent_id] = live;
    watch_deadline(live);
    act(live, effects);
}

void Runner::resume(const domain::AgentId& agent, const domain::RunId& run,
                    std::optional<std::int64_t> rounds_more) {
    auto live = std::make_shared<Live>();
    const auto status = parts_.store.read([&](store::Tx& tx) -> base::Status {
        live->facts = TRY(load(tx, run));
        live->facts.agent.execution = parts_.execution_of(agent);
        const auto frame = TRY(tx.frame(run));
        if (!frame)
            return base::fail(base::ErrorCode::Corrupt, "attempt {} has lost its prompt frame",
                              run);
        live->frame = TRY(base::from_json<context::Frame>(TRY(base::parse_json(*frame))));
        return live->read_conversation(tx);
    });
    if (!status) return on_stuck(agent, status.error());
    prepare(*live);
    live_[live->facts.agent.agent_id] = live;
    watch_deadline(live);

    Resumed resumed{.rounds_more = rounds_more};
    std::optional<Effect> finished;
    if (const auto* state = std::get_if<domain::AwaitingTools>(&live->facts.attempt.state)) {
        CHECK(static_cast<std::size_t>(state->next) < live->facts.executions.size(),
              "a waiting turn has lost its call");
        const auto& call = live->facts.executions[static_cast<std::size_t>(state->next)].call;
        if (!parts_.dispatcher.is_repeatable(call) && !parts_.dispatcher.can_resume(call)) {
            resumed.unknown = ToolFinished{
                call.call_id, parts_.dispatcher.without_running(call, unknown_outcome(call),
                                                                domain::ResultStatus::Error)};
            finished = RunTool{call.call_id};
        }
    }
    step(live, std::move(resumed), finished);
}

// What a request is made of besides the conversation. The secret goes in last: neither the cache
// key nor the fingerprint depends on it.
void Runner::prepare(Live& live) {
    live.tools = declarations(parts_.dispatcher.registry(), live.facts.agent);
    // A newer program may offer other tools, and the key tells.
    if (live.frame.cache)
        live.frame.cache->prompt_cache_key =
            context::cache_key(live.facts.agent.agent_id, live.frame, live.tools);
    if (parts_.trigger_url_of) context::reveal(live.frame.context_blocks, parts_.trigger_url_of);
}

void Runner::watch_deadline(const std::shared_ptr<Live>& live) {
    const auto deadline = live->facts.attempt.deadline;
    if (!deadline) return;
    const auto left = std::max(*deadline - parts_.clock.now(), std::chrono::microseconds(0));
    live->deadline =
        parts_.loop.after(left, [this, alive = std::weak_ptr(self_), weak = std::weak_ptr(live)] {
            const auto over = weak.lock();
            if (!alive.lock() || !over) return;
            over->deadline = base::Loop::TimerHandle::None;
            stop(over, {.reason = std::string(domain::kReasonTimeLimit), .kind = StopKind::Limit});
        });
}

void Runner::end_wait(Live& live) {
    if (live.wait == base::Loop::TimerHandle::None) return;
    parts_.loop.cancel(std::exchange(live.wait, base::Loop::TimerHandle::None));
    --parked_;
}

void Runner::forget(const std::shared_ptr<Live>& live) {
    end_wait(*live);
    parts_.loop.cancel(std::exchange(live->deadline, base::Loop::TimerHandle::None));
    live_.erase(live->facts.agent.agent_id);
}

std::vector<domain::AgentId> Runner::running() const {
    std::vector<domain::AgentId> list;
    for (const auto& [agent, live] : live_) list.push_back(agent);
    return list;
}

void Runner::interrupt(const domain::AgentId& agent, std::string reason, StopKind kind) {
    const auto found = live_.find(agent);
    if (found != live_.end()) stop(found->second, {.reason = std::move(reason), .kind = kind});
}

// The first wish counts, but for an operator who wants no more of it.
void Runner::stop(const std::shared_ptr<Live>& live, Interrupted wish) {
    if (!live->stop_request || wish.kind == StopKind::Abort) live->stop_request = std::move(wish);
    if (live->exchange) live->exchange->cancel();
    if (live->running_tool) live->running_tool->cancel();
    if (live->wait != base::Loop::TimerHandle::None) {
        end_wait(*live);
        step(live, *live->stop_request, std::nullopt);
    }
    // With nothing in flight but a commit, act() sees the wish when the commit is done.
}

void Runner::act(const std::shared_ptr<Live>& live, const std::vector<Effect>& effects) {
    if (live->stop_request) return step(live, *live->stop_request, std::nullopt);
    for (const auto& effect : effects) {
        if (const auto* ask = std::get_if<AskModel>(&effect))
            ask_model(live, *ask);
        else if (const auto* wait = std::get_if<WaitUntil>(&effect))
            wait_until(live, *wait);
        else
            run_tool(live, std::get<RunTool>(effect));
    }
}

void Runner::ask_model(const std::shared_ptr<Live>& live, const AskModel& ask) {
    const base::Time building = parts_.clock.now();
    provider::Request request{
        .request_id = effect_id(live->facts.attempt.run_id, ask),
        .model_ref = live->facts.attempt.model_ref,
        .frame = live->frame,
        .conversation = live->conversation,
        .tools = live->tools,
        .max_output_tokens = parts_.max_output_tokens_of(live->facts.attempt.model_ref)};
    const base::Time asked = parts_.clock.now();
    RoundTiming timing{.context_build_ms = base::millis_between(building, asked),
                       .started_at = asked};

    auto progress = [this, alive = std::weak_ptr(self_),
                     agent = live->facts.agent.agent_id](std::string_view text) {
        if (alive.lock() && on_text) on_text(agent, text);
    };
    live->exchange = parts_.provider.ask(
        std::move(request), std::move(progress),
        [this, alive = std::weak_ptr(self_), live, ask, timing](provider::Outcome outcome) mutable {
            if (!alive.lock()) return;
            live->exchange = nullptr;
            timing.completed_at = parts_.clock.now();
            domain::fill_timing(outcome ? outcome->timeline : outcome.error().timeline,
                                timing.started_at, timing.completed_at);
            if (!outcome) {
                if (live->stop_request) return step(live, *live->stop_request, ask);
                return step(live, ModelFailed{ask.round, std::move(outcome).error(), timing}, ask);
            }
            ModelReplied replied{.round = ask.round, .timing = timing};
            if (live->frame.cache) replied.cache = *live->frame.cache;
            std::int64_t ordinal = 0;
            for (const auto& block : outcome->blocks)
                if (const auto* use = std::get_if<domain::ToolUseBlock>(&block))
                    replied.calls.push_back(parts_.dispatcher.describe(
                        {.call_id = parts_.ids.fresh<domain::ToolCallId>(),
                         .run_id = live->facts.attempt.run_id,
                         .step_id = fmt::format("round-{}.{}", ask.round, ++ordinal),
                         .source = domain::CallSource::Turn,
                         .tool = use->name,
                         .args = use->input,
                         .authority_class = live->authority()},
                        place(*live)));
            replied.reply = std::move(*outcome);
            step(live, std::move(replied), ask);
        });
}

void Runner::wait_until(const std::shared_ptr<Live>& live, const WaitUntil& wait) {
    const auto delay = std::max(wait.until - parts_.clock.now(), std::chrono::microseconds(0));
    live->wait = parts_.loop.after(delay, [this, alive = std::weak_ptr(self_), live, wait] {
        if (!alive.lock()) return;
        end_wait(*live);
        step(live, WaitOver{wait.round}, wait);
    });
    ++parked_;
    if (on_parked) on_parked();
}

void Runner::run_tool(const std::shared_ptr<Live>& live, const RunTool& run) {
    const auto found = std::ranges::find(live->facts.executions, run.call_id, call_id_of);
    CHECK(found != live->facts.executions.end(), "a step started a call that it did not record");
    const domain::ToolCall call = found->call;
    live->running_tool = parts_.dispatcher.dispatch(
        call, live->facts.agent.identity.profile_preset, place(*live),
        [this, alive = std::weak_ptr(self_), live, run](tools::Dispatched dispatched) mutable {
            // Posted, so that a tool that finishes at once does not grow the stack, round after
            // round.
            parts_.loop.post(
                [this, alive, live, run, dispatched = std::move(dispatched)]() mutable {
                    if (!alive.lock()) return;
                    live->running_tool = nullptr;
                    ToolFinished finished{run.call_id, std::move(dispatched)};
                    if (!live->stop_request) return step(live, std::move(finished), run);
                    Interrupted wish = *live->stop_request;
                    wish.last = std::move(finished);
                    step(live, std::move(wish), run);
                });
        });
}

void Runner::step(const std::shared_ptr<Live>& live, Event event,
                  const std::optional<Effect>& finished) {
    // Decided once on what is known here, to learn how durable the commit must be, and once for
    // good on what the store says.
    const Step preview = decide(live->facts, event, input(parts_.clock.now()));
    const auto durability =
        needs_disk(preview, input({})) ? store::Durability::Disk : store::Durability::Process;
    struct Result {
        Step step;
        std::vector<events::Committed> events;
    };
    auto result = std::make_shared<Result>();
    const domain::RunId run = live->facts.attempt.run_id;
    parts_.store.write_async(
        durability,
        [this, run, result, event = std::move(event), finished](store::Tx& tx) -> base::Status {
            const base::Time now = parts_.clock.now();
            Facts facts = TRY(load(tx, run));
            facts.agent.execution = parts_.execution_of(facts.agent.agent_id);
            result->step = decide(facts, event, input(now));
            events::Log log(tx, now, parts_.ids);
            TRY(apply(log, facts, result->step, finished));
            result->events = log.take();
            return {};
        },
        [this, alive = std::weak_ptr(self_), live, result](base::Status status) {
            parts_.loop.post([this, alive, live, result, status = std::move(status)] {
                if (!alive.lock()) return;
                if (!status) {
                    forget(live);
                    return on_stuck(live->facts.agent.agent_id, status.error());
                }
                parts_.feed.publish(result->events);
                committed(live, result->step);
            });
        });
}

void Runner::committed(const std::shared_ptr<Live>& live, const Step& step) {
    live->facts.attempt = step.attempt;
    live->facts.agent = step.agent;
    for (const auto& changed : step.executions) {
        auto& known = live->facts.executions;
        if (!known.empty() && known.front().round != changed.round) known.clear();
        const auto found = std::ranges::find(known, changed.call.call_id, call_id_of);
        if (found != known.end())
            *found = changed;
        else
            known.push_back(changed);
    }
    if (!step.interjected.empty()) live->operator_joined = true;
    for (const auto& entry : step.transcript)
        if (auto next = conversation_turn(entry); next && *next)
            live->conversation.push_back(std::move(**next));
    if (step.closed()) {
        const domain::AgentId agent = live->facts.agent.agent_id;
        forget(live);
        return on_closed(agent);
    }
    act(live, step.effects);
}

}  // namespace turn
