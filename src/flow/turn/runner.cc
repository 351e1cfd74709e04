#include "flow/turn/runner.h"

#include "agent/context/summary/summary.h"
#include "agent/memory/ledger.h"
#include "agent/work/plan_file.h"
#include "base/os/crash/crash_marks.h"
#include "base/text.h"
#include "domain/events/scheduler.h"
#include "exec/tasks/output.h"
#include "exec/tools/policy/flow_policy.h"
#include "flow/admission/follow_up.h"
#include "flow/turn/apply.h"
#include "flow/turn/compaction/gather.h"
#include "flow/turn/decide/records.h"
#include "flow/turn/remind.h"
#include "flow/turn/skill_uses.h"

namespace turn {
namespace {

// How often people who watch see what a running call prints, and how much of its newest line.
constexpr std::chrono::seconds kOutputInterval{1};
constexpr std::size_t kOutputCharsMax = 200;

const domain::ToolCallId& call_id_of(const domain::ToolExecution& execution) {
    return execution.call.call_id;
}

// What a turn may know of tools, on any thread.
SpecOf specs_of(const tools::Registry& registry) {
    return [&registry](const std::string& name) {
        const auto* tool = registry.find(name);
        return tool ? &tool->spec() : nullptr;
    };
}

// What a decision may know beyond the facts, without anything of the runner: it runs on a thread of
// the store.
Input input_of(const tools::Registry& registry, base::Time now, std::chrono::milliseconds patience,
               const work::Settings& work, const std::optional<ContextLimits>& limits,
               bool summarises) {
    return {.now = now,
            .spec_of = specs_of(registry),
            .patience = patience,
            .work = work,
            .limits = limits,
            .summarises = summarises};
}

std::int64_t tokens_of(const context::Frame& frame, const context::Offer& offer) {
    return context::tokens_of(frame.system_blocks) + context::tokens_of(frame.context_blocks) +
           offer.tokens;
}

// A prompt that was compacted is another request, also for the same round.
std::string request_id(const domain::Attempt& attempt, const AskModel& ask) {
    auto id = effect_id(attempt.run_id, ask);
    if (attempt.compactions > 0) id += fmt::format("/{}", attempt.compactions);
    return id;
}

// May the turn be over with this? A tool that sleeps ends it; others are followed by a round.
bool may_end(const Event& event, const tools::Registry& registry) {
    const auto* finished = std::get_if<ToolFinished>(&event);
    if (!finished) return true;
    const auto* tool = registry.find(finished->dispatched.result.tool);
    return tool && tool->spec().sleeps;
}

}  // namespace

// An open attempt in this process: its facts as last committed, and what is in flight for it.
struct Runner::Live {
    Facts facts;
    context::Frame frame;
    context::Conversation conversation;
    context::Offer offer;
    std::shared_ptr<provider::Exchange> exchange;
    std::shared_ptr<tools::Running> running_tool;
    std::string running_tool_name;
    bool is_output_read{false};  // Of the running tool, now or soon.
    base::Loop::TimerHandle wait{base::Loop::TimerHandle::None};
    base::Loop::TimerHandle deadline{base::Loop::TimerHandle::None};
    base::Loop::TimerHandle answer{base::Loop::TimerHandle::None};  // To record that it is late.
    std::string reminder;                                           // For the next request alone.
    std::optional<Interrupted> stop_request;
    std::int64_t commits{0};  // On their way.
    bool is_over{false};      // What still comes back for it changes nothing.

    // The authority of the calls of the next round. It is that of the input that opened the turn
    // until the turn ends. An operator's prompt that joins the turn does not raise it: the text of
    // an external sender is still in the conversation, and the model may still follow it.
    domain::AuthorityClass authority() const { return domain::instructed_by(facts.message); }

    void take(context::Conversation said) {
        conversation = std::move(said);
        if (frame.cache) frame.cache->compression_epoch = conversation.compression_epoch;
    }
};

// What another process left of an attempt.
struct Runner::Left {
    Facts facts;
    context::Frame frame;
    context::Conversation conversation;
    std::vector<Effect> pending;
};

Runner::Runner(Parts parts)
    : parts_(std::move(parts)),
      committer_({parts_.store, parts_.loop, parts_.clock, parts_.ids, parts_.feed,
                  parts_.brief_channels}) {}

Runner::~Runner() {
    // Break the reference cycle: what is in flight holds its turn, and the turn its handle.
    for (auto& [agent, live] : live_) {
        live->exchange = nullptr;
        live->running_tool = nullptr;
    }
}

bool Runner::is_running(const domain::AgentId& agent) const {
    return live_.contains(agent);
}

bool Runner::is_parked(const domain::AgentId& agent) const {
    const auto found = live_.find(agent);
    return found != live_.end() && found->second->wait != base::Loop::TimerHandle::None;
}

template <class Part>
void Runner::guarded(const std::shared_ptr<Live>& live, Part part) {
    if (live->is_over) return;
    const base::CrashMark mark(live->facts.agent.agent_id.value);
    try {
        part();
    } catch (const std::exception& bug) {
        fail(live, {.code = base::ErrorCode::Internal, .message = bug.what()});
    }
}

void Runner::fail(const std::shared_ptr<Live>& live, const base::Error& error) {
    if (live->is_over) return;
    drop(live);
    on_stuck(live->facts.agent.agent_id, error);
}

void Runner::drop(const std::shared_ptr<Live>& live) {
    auto exchange = std::exchange(live->exchange, nullptr);
    auto tool = std::exchange(live->running_tool, nullptr);
    forget(live);
    if (exchange) exchange->cancel();
    // Destroyed later: this may run inside one of their callbacks.
    parts_.loop.post([exchange = std::move(exchange), tool = std::move(tool)] {});
}

void Runner::abandon(const domain::AgentId& agent) {
    const auto found = live_.find(agent);
    if (found == live_.end()) return;
    const auto live = found->second;
    drop(live);
}

tools::ExecutionContext Runner::place(const Live& live) const {
    const auto& agent = live.facts.agent;
    CHECK(agent.active_workspace_entry, "a turn is open for an agent that has no workspace");
    return {.agent_id = agent.agent_id,
            .agent_home = parts_.home_of(agent.agent_id),
            .workspace = agent.active_workspace_entry.value(),
            .follow_up_refusal = admission::refuse_follow_up(
                live.facts.message, live.facts.statistics, parts_.follow_ups, parts_.clock.now())};
}

void Runner::start(Facts facts, const context::Frame& frame, context::Conversation conversation,
                   const std::vector<Effect>& effects) {
    auto live = std::make_shared<Live>(Live{.facts = std::move(facts), .frame = frame});
    live->take(std::move(conversation));
    prepare(*live);
    live_[live->facts.agent.agent_id] = live;
    guarded(live, [&] {
        watch_deadline(live);
        act(live, effects);
    });
}

void Runner::resume(const domain::AgentId& agent, const domain::RunId& run,
                    std::optional<std::int64_t> rounds_more) {
    auto live = std::make_shared<Live>();
    live->facts.agent.agent_id = agent;
    live_[agent] = live;
    committer_.load<Left>(
        lifetime_,
        [agent, run](store::Tx& tx) -> base::Result<Left> {
            const base::CrashMark mark(agent.value);
            Left left{.facts = TRY(load(tx, run))};
            const auto frame = TRY(tx.frame(run));
            if (!frame)
                return base::fail(base::ErrorCode::Corrupt, "attempt {} has lost its prompt frame",
                                  run);
            left.frame = TRY(base::from_json<context::Frame>(*frame));
            left.conversation = context::conversation_for(TRY(past_of(tx, left.facts.attempt)),
                                                          left.facts.message.id);
            left.pending = TRY(pending_effects(tx, left.facts.attempt));
            return left;
        },
        [this, live, rounds_more](base::Result<Left> left) {
            if (!left) return fail(live, left.error());
            guarded(live, [&] { loaded(live, std::move(*left), rounds_more); });
        });
}

void Runner::loaded(const std::shared_ptr<Live>& live, Left left,
                    std::optional<std::int64_t> rounds_more) {
    live->facts = std::move(left.facts);
    live->facts.agent.execution = parts_.execution_of(live->facts.agent.agent_id);
    live->frame = std::move(left.frame);
    live->take(std::move(left.conversation));
    prepare(*live);
    const auto* state = std::get_if<domain::AwaitingTools>(&live->facts.attempt.state);
    const auto next = state ? static_cast<std::size_t>(state->next) : 0;
    if (state && next >= live->facts.executions.size())
        return fail(live,
                    base::fail(base::ErrorCode::Corrupt, "attempt {} has lost call {} of round {}",
                               live->facts.attempt.run_id, state->next + 1, state->round)
                        .error());
    watch_deadline(live);
    Resumed resumed{.pending = std::move(left.pending), .rounds_more = rounds_more};
    if (!state || parts_.dispatcher.is_repeatable(live->facts.executions[next].call))
        return step(live, std::move(resumed), std::nullopt);
    const domain::ToolCall call = live->facts.executions[next].call;
    parts_.dispatcher.can_resume(
        call,
        lifetime_.guard([this, live, call, resumed = std::move(resumed)](bool can_resume) mutable {
            guarded(live, [&] { continue_call(live, call, can_resume, std::move(resumed)); });
        }));
}

// A call that was under way is made again, or its outcome stays unknown.
void Runner::continue_call(const std::shared_ptr<Live>& live, const domain::ToolCall& call,
                           bool can_resume, Resumed resumed) {
    if (can_resume) return step(live, std::move(resumed), std::nullopt);
    resumed.unknown = ToolFinished{
        call.call_id, tools::without_running(call, tools::unknown_outcome(call),
                                             domain::ResultStatus::Error, parts_.clock.now())};
    step(live, std::move(resumed), RunTool{call.call_id});
}

// What a request is made of besides the conversation. The secret goes in last: neither the cache
// key nor the fingerprint depends on it.
void Runner::prepare(Live& live) {
    live.offer =
        parts_.offers->of(parts_.dispatcher.registry(), live.facts.agent, live.authority());
    // A newer program may offer other tools, and the key says so.
    if (live.frame.cache)
        live.frame.cache->prompt_cache_key =
            context::cache_key(live.facts.agent.agent_id, live.frame, live.offer);
    if (parts_.trigger_url_of) context::reveal(live.frame.context_blocks, parts_.trigger_url_of);
}

// How many estimated tokens the prompt of the next round may still grow by, as far as that is
// known.
std::optional<std::int64_t> Runner::prompt_room(const Live& live) const {
    const auto limits = parts_.context_limits_of(live.facts.attempt.model_ref);
    if (!limits) return std::nullopt;
    return limits->prompt_budget - tokens_of(live.frame, live.offer) - kPromptReserveTokens;
}

void Runner::watch_deadline(const std::shared_ptr<Live>& live) {
    const auto deadline = live->facts.attempt.deadline;
    if (!deadline) return;
    const auto left = std::max(*deadline - parts_.clock.now(), std::chrono::microseconds(0));
    live->deadline = parts_.loop.after(left, lifetime_.guard([this, weak = std::weak_ptr(live)] {
        const auto over = weak.lock();
        if (!over) return;
        over->deadline = base::Loop::TimerHandle::None;
        guarded(over, [&] {
            stop(over, {.reason = std::string(domain::kReasonTimeLimit), .kind = StopKind::Limit});
        });
    }));
}

void Runner::end_wait(Live& live) {
    if (live.wait == base::Loop::TimerHandle::None) return;
    parts_.loop.cancel(std::exchange(live.wait, base::Loop::TimerHandle::None));
    --parked_;
}

void Runner::forget(const std::shared_ptr<Live>& live) {
    live->is_over = true;
    end_wait(*live);
    parts_.loop.cancel(std::exchange(live->answer, base::Loop::TimerHandle::None));
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
    if (found == live_.end()) return;
    const auto live = found->second;
    guarded(live, [&] { stop(live, {.reason = std::move(reason), .kind = kind}); });
}

// The first request counts, except that an operator's abort replaces it.
void Runner::stop(const std::shared_ptr<Live>& live, Interrupted request) {
    if (!live->stop_request || request.kind == StopKind::Abort)
        live->stop_request = std::move(request);
    if (live->exchange) live->exchange->cancel();
    if (live->running_tool) live->running_tool->cancel();
    if (live->wait != base::Loop::TimerHandle::None) {
        end_wait(*live);
        step(live, *live->stop_request, std::nullopt);
    }
    // With nothing in flight but a commit, act() sees the request when the commit is done.
}

void Runner::act(const std::shared_ptr<Live>& live, const std::vector<Effect>& effects) {
    if (live->stop_request) return step(live, *live->stop_request, std::nullopt);
    for (const auto& effect : effects) {
        if (const auto* ask = std::get_if<AskModel>(&effect))
            ask_model(live, *ask);
        else if (const auto* wait = std::get_if<WaitUntil>(&effect))
            wait_until(live, *wait);
        else if (const auto* compacting = std::get_if<Compact>(&effect))
            compact(live, *compacting);
        else if (const auto* summary = std::get_if<Summarise>(&effect))
            summarise(live, *summary);
        else
            run_tool(live, std::get<RunTool>(effect));
    }
}

provider::Request Runner::request_of(const Live& live, std::string id) const {
    const auto& model = live.facts.attempt.model_ref;
    return {.request_id = std::move(id),
            .model_ref = model,
            .frame = live.frame,
            .history = live.conversation.history,
            .conversation = live.conversation.current,
            .tools = live.offer.tools,
            .max_output_tokens = parts_.max_output_tokens_of(model),
            .rounds_left_out = live.conversation.rounds_left_out,
            .media_folder = parts_.home_of(live.facts.agent.agent_id) / store::kArtifactsFolder};
}

void Runner::ask_model(const std::shared_ptr<Live>& live, const AskModel& ask) {
    const base::Time building = parts_.clock.now();
    auto request = request_of(*live, request_id(live->facts.attempt, ask));
    if (auto reminder = std::exchange(live->reminder, ""); !reminder.empty())
        request.conversation.emplace_back(
            provider::UserTurn{{{provider::Stability::TurnScoped, std::move(reminder)}}});
    const base::Time asked = parts_.clock.now();
    RoundTiming timing{.context_build_ms = base::millis_between(building, asked),
                       .started_at = asked};

    auto progress =
        lifetime_.guard([this, weak = std::weak_ptr(live),
                         agent = live->facts.agent.agent_id](const provider::News& news) {
            // It is answering, however long the whole answer takes.
            const auto answering = weak.lock();
            if (answering && std::holds_alternative<std::string_view>(news))
                parts_.loop.cancel(std::exchange(answering->answer, base::Loop::TimerHandle::None));
            if (on_news) on_news(agent, news);
        });
    watch_answer(live, ask);
    live->exchange = parts_.provider.ask(
        std::move(request), std::move(progress),
        lifetime_.guard([this, live, ask, timing](provider::Outcome outcome) mutable {
            guarded(live, [&] {
                live->exchange = nullptr;
                parts_.loop.cancel(std::exchange(live->answer, base::Loop::TimerHandle::None));
                timing.completed_at = parts_.clock.now();
                domain::fill_timing(outcome ? outcome->timeline : outcome.error().timeline,
                                    timing.started_at, timing.completed_at);
                if (!outcome) {
                    if (live->stop_request) return step(live, *live->stop_request, ask);
                    return step(live, ModelFailed{ask.round, std::move(outcome).error(), timing},
                                ask);
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
        }));
}

// A provider that says nothing is on record while the turn still waits for it.
void Runner::watch_answer(const std::shared_ptr<Live>& live, const AskModel& ask) {
    struct Done {};
    live->answer =
        parts_.loop.after(kAnswerDelayed, lifetime_.guard([this, weak = std::weak_ptr(live), ask] {
            const auto late = weak.lock();
            if (!late || late->is_over) return;
            late->answer = base::Loop::TimerHandle::None;
            const auto& attempt = late->facts.attempt;
            domain::events::ModelAnswerDelayed delayed{
                .agent_id = attempt.agent_id,
                .run_id = attempt.run_id,
                .model_ref = attempt.model_ref,
                .round = ask.round,
                .waited_ms = std::chrono::milliseconds(kAnswerDelayed).count()};
            committer_.commit<Done>(
                lifetime_, {},
                [delayed = std::move(delayed)](events::Log& log) -> base::Result<Done> {
                    TRY(log.append(delayed.agent_id, delayed));
                    return Done{};
                },
                [](const base::Result<Done>&) {});
        }));
}

void Runner::compact(const std::shared_ptr<Live>& live, const Compact& compact) {
    CompactionInput input{.agent_id = live->facts.agent.agent_id,
                          .run_id = live->facts.attempt.run_id,
                          .fixed_tokens = tokens_of(live->frame, live->offer),
                          .is_summary_tried = compact.is_summary_tried,
                          .summary = compact.summary,
                          .limits = parts_.context_limits_of(live->facts.attempt.model_ref),
                          .now = parts_.clock.now()};
    committer_.background<Compacted>(
        lifetime_,
        [&store = parts_.store, input]() mutable {
            const base::CrashMark mark(input.agent_id.value);
            return prepare_compaction(store, std::move(input));
        },
        [this, live, compact](base::Result<Compacted> compacted) {
            if (!compacted) return fail(live, compacted.error());
            guarded(live, [&] { step(live, std::move(*compacted), compact); });
        });
}

// The previous request and one message more, so that the provider's cache has nearly all of it. One
// try: a model that fails here is not asked again, and the digest is used.
void Runner::summarise(const std::shared_ptr<Live>& live, const Summarise& summarise) {
    auto request = request_of(*live, effect_id(live->facts.attempt.run_id, summarise));
    request.conversation.emplace_back(
        provider::UserTurn{{{provider::Stability::TurnScoped, context::summary_request()}}});
    live->exchange = parts_.provider.ask(
        std::move(request), [](const provider::News&) {},
        lifetime_.guard([this, live, summarise](provider::Outcome outcome) {
            guarded(live, [&] {
                live->exchange = nullptr;
                if (live->stop_request) return step(live, *live->stop_request, summarise);
                if (!outcome)
                    return step(live,
                                ModelFailed{.round = summarise.round,
                                            .failure = std::move(outcome).error(),
                                            .is_summary = true},
                                summarise);
                step(
                    live,
                    ModelReplied{
                        .round = summarise.round, .reply = std::move(*outcome), .is_summary = true},
                    summarise);
            });
        }));
}

// The file is for people; the records are the truth. What could not be written is written at the
// end of the next turn.
void Runner::write_ledger(const domain::AgentId& agent) {
    struct Done {};
    base::run_in_background<Done>(
        parts_.loop, lifetime_,
        [&store = parts_.store, agent, home = parts_.home_of(agent)]() -> base::Result<Done> {
            TRY(memory::write_ledger(store, agent, home));
            return Done{};
        },
        [](const base::Result<Done>&) {});
}

void Runner::reload(const std::shared_ptr<Live>& live, const std::vector<Effect>& effects) {
    committer_.load<context::Conversation>(
        lifetime_,
        [attempt = live->facts.attempt](store::Tx& tx) -> base::Result<context::Conversation> {
            const base::CrashMark mark(attempt.agent_id.value);
            return context::conversation_for(TRY(past_of(tx, attempt)), attempt.message_id);
        },
        [this, live, effects](base::Result<context::Conversation> said) {
            if (!said) return fail(live, said.error());
            guarded(live, [&] {
                live->take(std::move(*said));
                act(live, effects);
            });
        });
}

void Runner::wait_until(const std::shared_ptr<Live>& live, const WaitUntil& wait) {
    live->wait = parts_.loop.at(wait.until, lifetime_.guard([this, live, wait] {
        guarded(live, [&] {
            end_wait(*live);
            step(live, WaitOver{wait.round}, wait);
        });
    }));
    ++parked_;
    if (on_parked) on_parked(live->facts.agent.agent_id);
}

void Runner::run_tool(const std::shared_ptr<Live>& live, const RunTool& run) {
    const auto found = std::ranges::find(live->facts.executions, run.call_id, call_id_of);
    CHECK(found != live->facts.executions.end(), "a step started a call that it did not record");
    const domain::ToolCall call = found->call;
    auto here = place(*live);
    const auto spec_of = specs_of(parts_.dispatcher.registry());
    if (const auto* spec = spec_of(call.tool); spec && spec->completes_work_item)
        here.context = round_context(live->facts, spec_of);
    live->running_tool = parts_.dispatcher.dispatch(
        call, live->facts.agent.identity.profile_preset, here,
        lifetime_.guard([this, live, run](tools::Dispatched dispatched) {
            // Posted, so that a tool that finishes at once does not grow the stack, round after
            // round.
            parts_.loop.post(
                lifetime_.guard([this, live, run, dispatched = std::move(dispatched)]() mutable {
                    guarded(live, [&] {
                        live->running_tool = nullptr;
                        finished(live, run, std::move(dispatched));
                    });
                }));
        }));
    live->running_tool_name = call.tool;
    watch_output(live);
}

void Runner::finished(const std::shared_ptr<Live>& live, const RunTool& run,
                      tools::Dispatched dispatched) {
    const auto found = std::ranges::find(live->facts.executions, run.call_id, call_id_of);
    const auto* tool = parts_.dispatcher.registry().find(dispatched.result.tool);
    const auto here = place(*live);
    std::vector<Succeeded> commands;
    if (found != live->facts.executions.end() && tool)
        commands =
            succeeded_commands(found->call, dispatched.result, &tool->spec(), here.workspace.cwd);
    if (commands.empty()) return record(live, run, std::move(dispatched));
    base::run_in_background<std::vector<skills::Use>>(
        parts_.loop, lifetime_,
        [commands = std::move(commands), agent = live->facts.agent, home = here.agent_home,
         user_home = parts_.user_home]() -> base::Result<std::vector<skills::Use>> {
            return find_uses(commands, skills::places_of(agent, user_home, home), user_home);
        },
        [this, live, run,
         dispatched = std::move(dispatched)](base::Result<std::vector<skills::Use>> uses) mutable {
            guarded(live, [&] {
                if (uses)
                    for (auto& use : *uses)
                        dispatched.mutations.emplace_back(
                            SkillUsed{std::move(use), parts_.session});
                record(live, run, std::move(dispatched));
            });
        });
}

void Runner::record(const std::shared_ptr<Live>& live, const RunTool& run,
                    tools::Dispatched dispatched) {
    ToolFinished finished{run.call_id, std::move(dispatched)};
    if (!live->stop_request) return step(live, std::move(finished), run);
    Interrupted interrupted = *live->stop_request;
    interrupted.last = std::move(finished);
    step(live, std::move(interrupted), run);
}

void Runner::watch_output(const domain::AgentId& agent) {
    if (const auto found = live_.find(agent); found != live_.end()) watch_output(found->second);
}

void Runner::watch_output(const std::shared_ptr<Live>& live) {
    const auto& agent = live->facts.agent.agent_id;
    if (!live->running_tool || live->is_output_read || !is_watched || !is_watched(agent)) return;
    live->is_output_read = true;
    parts_.loop.after(kOutputInterval, lifetime_.guard([this, live] {
        const auto running = live->running_tool;
        const auto file = running ? running->live_output() : std::filesystem::path();
        if (file.empty()) {
            live->is_output_read = false;
            return watch_output(live);
        }
        base::run_in_background<std::string>(
            parts_.loop, lifetime_, [file] { return tasks::last_line(file, kOutputCharsMax); },
            [this, live, running](const base::Result<std::string>& line) {
                live->is_output_read = false;
                if (line && !line->empty() && live->running_tool == running && on_output)
                    on_output(live->facts.agent.agent_id, live->running_tool_name, *line);
                watch_output(live);
            });
    }));
}

// The end of a turn records the plan of its item as the file is then. Files are never read inside a
// transaction, so a step that may be the end begins with that.
void Runner::step(const std::shared_ptr<Live>& live, Event event,
                  const std::optional<Effect>& finished) {
    ++live->commits;
    const auto& item = live->facts.attempt.work_item_id;
    if (!item || !may_end(event, parts_.dispatcher.registry()))
        return commit(live, std::move(event), finished);
    const auto& agent = live->facts.agent.agent_id;
    base::run_in_background<domain::PlanArtifact>(
        parts_.loop, lifetime_,
        [home = parts_.home_of(agent), agent, item = *item] {
            return work::read_plan(home, agent, item);
        },
        [this, live, event = std::move(event),
         finished](base::Result<domain::PlanArtifact> plan) mutable {
            guarded(live, [&] {
                // A plan that cannot be read stays as it was recorded.
                if (!plan) return commit(live, std::move(event), finished);
                commit(live, std::move(event), finished, std::move(*plan));
            });
        });
}

void Runner::commit(const std::shared_ptr<Live>& live, Event event,
                    const std::optional<Effect>& finished,
                    std::optional<domain::PlanArtifact> plan) {
    committer_.commit<Step>(
        lifetime_, {},
        [agent = live->facts.agent.agent_id, run = live->facts.attempt.run_id,
         event = std::move(event), finished, &registry = parts_.dispatcher.registry(),
         patience = parts_.patience, work = parts_.work, room = prompt_room(*live),
         limits = parts_.context_limits_of(live->facts.attempt.model_ref), plan = std::move(plan),
         execution_of = parts_.execution_of,
         summarises = parts_.summarises](events::Log& log) -> base::Result<Step> {
            const base::CrashMark mark(agent.value);
            Facts facts = TRY(load(log.tx(), run));
            facts.agent.execution = execution_of(facts.agent.agent_id);
            const Input input = input_of(registry, log.now(), patience, work, limits, summarises);
            Step step = decide(facts, event, input);
            TRY(remind(log.tx(), step, work, room));
            if (needs_disk(step, input)) log.tx().require(store::Durability::Disk);
            TRY(apply(log, facts, step, finished, input, plan));
            return step;
        },
        [this, live](base::Result<Step> step) {
            --live->commits;
            if (!step) return fail(live, step.error());
            guarded(live, [&] { committed(live, *step); });
        });
}

void Runner::committed(const std::shared_ptr<Live>& live, const Step& step) {
    live->facts.attempt = step.attempt;
    live->facts.agent = step.agent;
    live->reminder = step.reminder;
    if (step.statistics) live->facts.statistics = *step.statistics;
    for (const auto& changed : step.executions) {
        auto& known = live->facts.executions;
        if (!known.empty() && known.front().round != changed.round) known.clear();
        const auto found = std::ranges::find(known, changed.call.call_id, call_id_of);
        if (found != known.end())
            *found = changed;
        else
            known.push_back(changed);
    }
    for (const auto& entry : step.transcript)
        if (auto piece = context::piece_of(0, entry); piece && piece->turn)
            live->conversation.current.push_back(std::move(*piece->turn));
    if (step.closed()) {
        const domain::AgentId agent = live->facts.agent.agent_id;
        write_ledger(agent);
        forget(live);
        return on_closed(agent);
    }
    const bool is_idle = step.effects.empty() && !live->stop_request && live->commits == 0 &&
                         !live->exchange && !live->running_tool &&
                         live->wait == base::Loop::TimerHandle::None;
    if (is_idle)
        return fail(live, {.code = base::ErrorCode::Conflict,
                           .message = fmt::format("another process has continued turn {} of agent "
                                                  "{}; this process no longer works on it",
                                                  step.attempt.run_id, step.agent.agent_id)});
    if (step.is_compacted) return reload(live, step.effects);
    act(live, step.effects);
}

}  // namespace turn
