#include "flow/scheduler/open.h"

#include <algorithm>

#include "agent/identity/closure.h"
#include "agent/identity/transition.h"
#include "agent/memory/working_memory.h"
#include "agent/skills/activation.h"
#include "agent/workspace/moves.h"
#include "base/text.h"
#include "domain/events/messages.h"
#include "domain/events/scheduler.h"
#include "domain/events/turn.h"
#include "domain/events/workspace.h"
#include "flow/ingress/ingress.h"
#include "flow/queue/queue.h"
#include "flow/queue/waits.h"
#include "flow/scheduler/continuation.h"
#include "flow/scheduler/hints.h"
#include "flow/scheduler/timers/timers.h"
#include "flow/scheduler/triggers.h"
#include "flow/supervision/supervision.h"
#include "flow/turn/apply.h"
#include "flow/work_items/reminders.h"
#include "flow/work_items/work_items.h"
#include "record/briefs/briefs.h"

namespace scheduler {
namespace {

constexpr std::string_view kResumeNote =
    "The work above was interrupted before it was done. Before you repeat a call that is marked as "
    "not made or unknown, check what it has changed. Continue from here; do not start over.";

base::Status record_continuation(events::Log& log, const domain::Message& message,
                                 const domain::ContinuationResolution& resolution) {
    TRY(log.append(message.agent_id, domain::events::ContinuationTriggerReceived{
                                         .agent_id = message.agent_id,
                                         .message_id = message.id,
                                         .trigger_kind = resolution.trigger_kind,
                                         .contentful = is_contentful(message),
                                         .prior_closure_outcome = resolution.prior_closure_outcome,
                                         .prior_waiting_reason = resolution.prior_waiting_reason}));
    return log.append(
        message.agent_id,
        domain::events::ContinuationResolved{
            .agent_id = message.agent_id, .message_id = message.id, .resolution = resolution});
}

// The entry of the message itself; a second attempt does not record it twice.
domain::TranscriptEntry incoming(events::Log& log, const domain::Message& message,
                                 const domain::RunId& run) {
    json::object data = base::to_json(message).as_object();
    for (const char* field : {"id", "agent_id", "created_at"}) data.erase(field);
    return {.id = log.ids().uuid(),
            .agent_id = message.agent_id,
            .run_id = run,
            .created_at = log.now(),
            .kind = domain::TranscriptKind::IncomingMessage,
            .related_message_id = message.id,
            .data = std::move(data)};
}

// Begins the record of the attempt: the message with the prompt of its turn or, where an earlier
// attempt has recorded it, a note that the turn is resumed. Returns what the turn continues.
base::Result<context::Conversation> begin_record(events::Log& log, const domain::Message& message,
                                                 const domain::RunId& run,
                                                 const PlannedFrame& planned) {
    const auto transcript = TRY(log.tx().transcript_of(message.id));
    if (transcript.empty()) {
        auto entry = incoming(log, message, run);
        entry.data.as_object()["prompt"] = context::turn_prompt(planned.prompt.frame);
        TRY(log.tx().append_transcript(entry));
        return planned.conversation;
    }
    const bool has_rounds = std::ranges::any_of(transcript, [](const auto& entry) {
        return entry.kind == domain::TranscriptKind::AssistantRound;
    });
    if (!has_rounds) return planned.conversation;
    domain::TranscriptEntry note{.id = log.ids().uuid(),
                                 .agent_id = message.agent_id,
                                 .run_id = run,
                                 .created_at = log.now(),
                                 .kind = domain::TranscriptKind::ContinuationPrompt,
                                 .related_message_id = message.id};
    note.data = json::object{{"text", kResumeNote}, {"reason", "interrupted"}};
    TRY(log.tx().append_transcript(note));
    auto past = planned.facts.past;
    past.pieces.push_back(
        std::make_shared<const context::Piece>(TRY(context::piece_of(past.head + 1, note))));
    return context::conversation_for(past, message.id);
}

std::int64_t chars_of(const std::vector<provider::PromptBlock>& blocks) {
    std::int64_t chars = 0;
    for (const auto& block : blocks)
        chars += static_cast<std::int64_t>(base::char_count(block.text));
    return chars;
}

// The sections that the plan of the prompt judged so; nothing when there is none.
std::optional<std::vector<std::string>> sections(const std::vector<context::Decision>& decisions,
                                                 context::Verdict verdict) {
    std::vector<std::string> names;
    for (const auto& decision : decisions)
        if (decision.verdict == verdict) names.push_back(decision.name);
    if (names.empty()) return std::nullopt;
    return names;
}

base::Status record_opening(events::Log& log, const turn::Facts& facts,
                            const context::PlannedPrompt& prompt, std::int64_t build_ms) {
    const auto& frame = prompt.frame;
    const auto deaths = TRY(log.tx().fault(facts.agent.agent_id));
    if (deaths && !deaths->is_set_aside) TRY(log.tx().erase_fault(facts.agent.agent_id));
    TRY(log.append(
        facts.agent.agent_id,
        domain::events::labelled(domain::events::TurnStarted{.agent_id = facts.agent.agent_id,
                                                             .message_id = facts.message.id,
                                                             .run_id = facts.attempt.run_id,
                                                             .turn_index = facts.attempt.turn_index,
                                                             .message_kind = facts.message.kind},
                                 facts.message)));
    return log.append(
        facts.agent.agent_id,
        domain::events::TurnContextBuilt{
            .agent_id = facts.agent.agent_id,
            .message_id = facts.message.id,
            .run_id = facts.attempt.run_id,
            .turn_index = facts.attempt.turn_index,
            .duration_ms = build_ms,
            .context_section_count = std::ssize(frame.context_blocks),
            .rendered_context_chars = chars_of(frame.context_blocks),
            .rendered_system_chars = chars_of(frame.system_blocks),
            .shortened_sections = sections(prompt.decisions, context::Verdict::Shortened),
            .left_out_sections = sections(prompt.decisions, context::Verdict::LeftOut)});
}

// Sleep ends because there is something to do; its timer and the wait for it end with it.
base::Status wake(events::Log& log, identity::AgentFacts& facts, const domain::Message& message) {
    auto& agent = facts.agent;
    facts.statistics.last_wake_reason = std::string(base::enum_name(message.kind));
    if (!agent.sleep) return {};
    if (agent.sleep->timer_id) TRY(cancel_timer(log, agent.agent_id, *agent.sleep->timer_id));
    agent.sleep.reset();
    return log.append(agent.agent_id, domain::events::SchedulerPostureDecision{
                                          .boundary = "message_admission",
                                          .reason = "message_admission_wake",
                                          .previous_status = domain::AgentStatus::Asleep,
                                          .next_status = domain::AgentStatus::AwakeRunning,
                                          .evidence = json::array{message.id.value}});
}

base::Result<Outcome> reduce(events::Log& log, const identity::AgentFacts& before,
                             const identity::AgentFacts& now, const domain::Message& message) {
    const auto& agent = now.agent;
    TRY(queue::resolve_waits(log, message, std::nullopt));
    TRY(queue::release(log, message.id, domain::QueueStatus::Processed, "liveness only"));
    TRY(log.append(agent.agent_id, domain::events::labelled(
                                       domain::events::SchedulerDecision{
                                           .decision = "ReduceMessageOnly",
                                           .reason = "the message does not reach the model",
                                           .liveness_only = true,
                                           .message_id = message.id,
                                           .boundary = "message_processing"},
                                       message)));
    TRY(log.tx().put_agent(agent));
    TRY(log.tx().put_statistics(now.statistics));
    TRY(identity::record_change(log, agent.agent_id, identity::status_of(before)));
    return Outcome{Reduced{message.id}};
}

// The facts with every wait still active that has been triggered: what was waited for before the
// messages came that are to be claimed.
identity::AgentFacts before_triggers(identity::AgentFacts facts) {
    for (auto& wait : facts.open_waits) wait.status = domain::WaitStatus::Active;
    return facts;
}

// The folder is gone, so the agent is back at its home. What was attached stays attached: the
// folder may come back.
base::Status fall_back(events::Log& log, domain::Agent& agent, const OpenInput& input) {
    const auto& lost = *input.vanished;
    if (lost.projection_kind == domain::ProjectionKind::GitWorktreeRoot)
        TRY(log.append(agent.agent_id, domain::events::RecoveryClearedMissingWorktreeSession{
                                           .agent_id = agent.agent_id,
                                           .worktree_path = lost.execution_root,
                                           .reason = "the folder is gone"}));
    for (auto& note : workspace::move_to(agent, input.home_workspace))
        TRY(log.append(agent.agent_id, std::move(note)));
    return {};
}

// What the prompt says of it.
std::string vanished_notice(const domain::WorkspaceEntry& lost,
                            const domain::WorkspaceEntry& home_workspace) {
    return fmt::format(
        "You worked in {} (workspace {}), and that folder is gone. You are in your own folder, {}, "
        "now. Tell your operator if that is unexpected; UseWorkspace takes you elsewhere.",
        lost.execution_root, lost.workspace_id, home_workspace.cwd);
}

// A limit of the agent is reached: it is paused by policy, and its input is kept.
base::Result<Outcome> suspend(events::Log& log, identity::AgentFacts facts, const Suspend& spent) {
    auto& agent = facts.agent;
    const auto before = identity::status_of(facts);
    agent.paused = true;
    TRY(log.append(agent.agent_id, domain::events::AgentBudgetExhausted{.agent_id = agent.agent_id,
                                                                        .limit = spent.limit,
                                                                        .pending = facts.pending}));
    TRY(briefs::publish(
        log, agent, facts.statistics,
        {.kind = domain::BriefKind::Failure,
         .visibility = domain::BriefVisibility::ActionRequired,
         .text = fmt::format("The agent is paused: {}. {} messages wait. Raise the limit, then "
                             "resume it: holon agent resume {}",
                             spent.text, facts.pending, agent.agent_id)}));
    TRY(log.tx().put_agent(agent));
    TRY(log.tx().put_statistics(facts.statistics));
    TRY(identity::record_state(log, agent.agent_id, before));
    return Outcome{Idle{spent.text}};
}

// A delta that the prompt shows is not shown again; one that did not fit stays pending.
base::Status note_prompted(store::Tx& tx, const domain::AgentId& agent,
                           const std::vector<context::Decision>& decisions) {
    const bool is_left_out = std::ranges::any_of(decisions, [](const auto& decision) {
        return decision.verdict == context::Verdict::LeftOut &&
               (decision.name == context::kMemorySection ||
                decision.name == context::kMemoryDeltaSection);
    });
    const auto memory = TRY(tx.working_memory(agent));
    if (is_left_out || memory.working_memory_revision == 0) return {};
    return tx.put_working_memory(memory::prompted(memory));
}

base::Result<std::optional<domain::ExternalTriggerId>> capability_of(store::Tx& tx,
                                                                     const domain::AgentId& agent) {
    const auto trigger = TRY(tx.active_trigger(agent));
    if (!trigger) return std::nullopt;
    return trigger->external_trigger_id;
}

domain::WorkspaceEntry workspace_of(const domain::Agent& agent, const OpenInput& input) {
    return agent.active_workspace_entry.value_or(input.home_workspace);
}

base::Result<bool> has_capability(store::Tx& tx, const domain::AgentId& agent,
                                  const PromptFacts& facts) {
    if (facts.makes_capability) return !TRY(was_provisioned(tx, agent));
    return TRY(capability_of(tx, agent)) == facts.capability;
}

// Is the prompt that was planned that of this message still?
base::Result<bool> still_holds(store::Tx& tx, const domain::Agent& agent,
                               const domain::Message& message, const OpenInput& input) {
    if (!input.planned) return false;
    const auto& ahead = *input.planned;
    return ahead.facts.message.id == message.id && ahead.workspace == workspace_of(agent, input) &&
           ahead.work_item == agent.current_work_item_id &&
           TRY(has_capability(tx, agent.agent_id, ahead.facts)) &&
           ahead.facts.work_version == TRY(tx.work_version(agent.agent_id)) &&
           ahead.facts.memory.working_memory_revision ==
               TRY(tx.working_memory(agent.agent_id)).working_memory_revision &&
           ahead.facts.past.head == TRY(tx.stream_head(agent.agent_id, store::Stream::Transcript));
}

}  // namespace

base::Result<PromptFacts> load_prompt_facts(store::Tx& tx, const domain::Agent& agent,
                                            const domain::Message& message,
                                            const OpenInput& input) {
    const auto tokens_max =
        input.limits ? input.limits->prompt_budget * kPastBudgets : context::kPastTokensMax;
    PromptFacts facts{.message = message, .loading_began = input.now()};
    facts.capability = TRY(capability_of(tx, agent.agent_id));
    if (!facts.capability && input.fresh_capability && !TRY(was_provisioned(tx, agent.agent_id))) {
        facts.capability = input.fresh_capability();
        facts.makes_capability = true;
    }
    facts.work_version = TRY(tx.work_version(agent.agent_id));
    facts.past = TRY(context::load_past(
        tx, agent.agent_id, {.message = message.id, .tokens_max = tokens_max}, input.recent.get()));
    facts.work = TRY(context::load_work(tx, agent));
    facts.memory = TRY(tx.working_memory(agent.agent_id));
    return facts;
}

context::PlannedPrompt plan_prompt(const domain::Agent& agent, const PromptFacts& facts,
                                   const OpenInput& input, const context::Conversation& said,
                                   std::string workspace_notice) {
    context::FrameInput frame{
        .agent = agent,
        .workspace = agent.active_workspace_entry.value(),
        .message = facts.message,
        .agent_home = input.home.string(),
        .guidance = input.guidance,
        .offer = input.offer,
        .memory = facts.memory,
        .compression_epoch = said.compression_epoch,
        .work = facts.work,
        .skills = input.skills,
        .active_skills = skills::at_turn_start(agent.active_skills, input.session),
        .workspace_notice = std::move(workspace_notice),
        .conversation_tokens = said.tokens};
    if (input.limits) frame.prompt_budget = input.limits->prompt_budget;
    if (facts.capability) frame.capability = context::Capability{*facts.capability};
    return context::plan_prompt(frame);
}

std::shared_ptr<const PlannedFrame> plan_ahead(domain::Agent agent, PromptFacts facts,
                                               const OpenInput& input) {
    if (input.recent) input.recent->keep(agent.agent_id, facts.past);
    context::read_plan(facts.work, input.home);
    PlannedFrame planned{.workspace = workspace_of(agent, input),
                         .work_item = agent.current_work_item_id};
    agent.execution = input.execution;
    std::string notice;
    if (input.vanished) {
        notice = vanished_notice(*input.vanished, input.home_workspace);
        workspace::move_to(agent, input.home_workspace);  // As the commit does.
    }
    if (!agent.active_workspace_entry) agent.active_workspace_entry = input.home_workspace;
    planned.conversation = context::conversation_for(facts.past, facts.message.id);
    planned.prompt = plan_prompt(agent, facts, input, planned.conversation, std::move(notice));
    planned.build_ms = base::millis_between(facts.loading_began, input.now());
    planned.facts = std::move(facts);
    return std::make_shared<const PlannedFrame>(std::move(planned));
}

base::Result<bool> note_failure(events::Log& log, const domain::AgentId& agent_id,
                                const base::Error& error) {
    const auto next = TRY(log.tx().next_message(agent_id));
    const auto agent = TRY(log.tx().agent(agent_id));
    if (!next || !agent) return false;
    auto statistics = TRY(log.tx().statistics(agent_id));
    const auto& message = next->message;
    const std::int64_t failures = TRY(log.tx().count_failure(message.id, error.message, log.now()));
    TRY(log.append(agent_id, domain::events::labelled(
                                 domain::events::RuntimeError{.message_id = message.id,
                                                              .message_kind = message.kind,
                                                              .error = error.message,
                                                              .failures = failures},
                                 message)));
    if (failures < kOpenFailuresMax) return true;
    TRY(queue::release(log, message.id, domain::QueueStatus::Dropped,
                       "quarantined: " + error.message));
    TRY(queue::resolve_waits(log, message, std::nullopt));
    TRY(log.append(agent_id, domain::events::labelled(
                                 domain::events::MessageQuarantined{.message_id = message.id,
                                                                    .message_kind = message.kind,
                                                                    .failures = failures,
                                                                    .error = error.message},
                                 message)));
    TRY(briefs::publish(log, *agent, statistics,
                        {.kind = domain::BriefKind::Failure,
                         .visibility = domain::BriefVisibility::TurnResult,
                         .text = fmt::format("A message was set aside: no turn could be opened for "
                                             "it in {} tries. {}",
                                             failures, error.message),
                         .related_message_id = message.id}));
    TRY(log.tx().put_statistics(statistics));
    return true;
}

base::Result<Outcome> open_next(events::Log& log, const domain::AgentId& agent_id,
                                const OpenInput& input) {
    auto facts = TRY(identity::load_facts(log.tx(), agent_id));
    if (facts.agent.booting && input.is_booted) {
        facts.agent.booting = false;
        TRY(log.tx().put_agent(facts.agent));
        TRY(identity::record_state(log, agent_id, domain::AgentStatus::Booting));
    }
    if (TRY(emit_pending(log, facts))) return Outcome{Ticked{}};
    if (is_free(facts) && identity::work_signal(facts)) {
        // Nothing is queued for an agent that may not run: the tick would only wait.
        facts.pending = 1;
        if (std::holds_alternative<TakeNext>(choose(facts, input.budget)) &&
            TRY(work_items::emit_tick(log, facts)))
            return Outcome{Ticked{}};
    }
    const Choice choice = choose(facts, input.budget);
    if (const auto* idle = std::get_if<Idle>(&choice)) {
        TRY(supervision::settle(log, facts));
        return Outcome{*idle};
    }
    if (const auto* spent = std::get_if<Suspend>(&choice)) {
        if (!domain::is_supervised(facts.agent)) return suspend(log, std::move(facts), *spent);
        // A child that has used up what it was given is over as soon as its own tasks are; its
        // parent decides what follows.
        TRY(supervision::settle(log, facts, spent->text));
        return Outcome{Idle{spent->text}};
    }
    const auto next = TRY(log.tx().next_message(agent_id));
    if (!next) return Outcome{Idle{std::string(kNothingQueued)}};
    // Another commit came between, and what it changed is prepared, too.
    if (!TRY(still_holds(log.tx(), facts.agent, next->message, input))) return Outcome{Ticked{}};
    const auto& taken = std::get<TakeNext>(choice);
    // As things stood before this message became the active run.
    const auto before = facts;
    const auto prior = identity::decide_closure(before_triggers(facts));
    auto claimed = TRY(queue::claim(log, agent_id));
    if (!claimed) return Outcome{Idle{std::string(kNothingQueued)}};
    const domain::Message& message = claimed->message;
    auto& agent = facts.agent;
    auto& statistics = facts.statistics;
    agent.execution = input.execution;
    statistics.last_continuation = resolve(prior, message);
    TRY(record_continuation(log, message, *statistics.last_continuation));
    TRY(wake(log, facts, message));
    if (claimed->entry.tries == 0) ++statistics.total_message_count;
    if (!statistics.last_continuation->model_visible) return reduce(log, before, facts, message);

    if (!agent.active_workspace_entry) agent.active_workspace_entry = input.home_workspace;
    if (input.vanished) TRY(fall_back(log, agent, input));
    const auto& planned = *input.planned;
    if (planned.facts.makes_capability)
        TRY(provision(log, agent_id, input.token_hash_of, planned.facts.capability));
    ++agent.turn_index;
    agent.active_skills = skills::at_turn_start(std::move(agent.active_skills), input.session);
    turn::Facts opened{.agent = agent, .statistics = statistics, .message = message};
    opened.attempt = {.run_id = log.ids().fresh<domain::RunId>(),
                      .agent_id = agent_id,
                      .message_id = message.id,
                      .turn_index = agent.turn_index,
                      .state = domain::Thinking{1},
                      .rounds_max = taken.rounds_max,
                      .tokens_max = taken.tokens_max,
                      .work_item_id = TRY(work_items::bind(log.tx(), agent, message)),
                      .operator_route = ingress::operator_route(message),
                      .model_ref = agent.model_override.value_or(input.model_ref),
                      .opened_at = log.now()};
    if (taken.wall_ms_max)
        opened.attempt.deadline = log.now() + std::chrono::milliseconds(*taken.wall_ms_max);
    const auto& frame = planned.prompt.frame;
    auto conversation = TRY(begin_record(log, message, opened.attempt.run_id, planned));
    opened.attempt.history_after = planned.facts.past.after_seq;
    opened.attempt.context_tokens = context::tokens_of(frame.system_blocks) +
                                    context::tokens_of(frame.context_blocks) + input.offer.tokens +
                                    conversation.tokens;
    std::vector<turn::Effect> effects{turn::AskModel{1}};
    const bool is_large = turn::is_compaction_due(opened.attempt, 1, input.limits);
    if (planned.facts.past.is_cut || (is_large && conversation.tokens > 0)) {
        opened.attempt.state = domain::Compacting{.round = 1};
        effects = {turn::Compact{1}};
    }
    TRY(note_prompted(log.tx(), agent_id, planned.prompt.decisions));
    TRY(log.tx().open_attempt(opened.attempt));
    TRY(queue::resolve_waits(log, message, opened.attempt.run_id));
    TRY(log.tx().put_frame(opened.attempt.run_id, base::to_json(frame)));
    TRY(record_opening(log, opened, planned.prompt, planned.build_ms));
    if (claimed->entry.tries == 0)
        TRY(briefs::publish(log, agent, opened.statistics, briefs::ack(agent, message)));
    TRY(log.tx().put_agent(opened.agent));
    TRY(log.tx().put_statistics(opened.statistics));
    TRY(turn::put_effects(log, opened.attempt, effects));
    TRY(identity::record_state(log, agent_id, identity::status_of(before)));
    return Outcome{Opened{std::move(opened), frame, std::move(conversation), effects}};
}

}  // namespace scheduler
