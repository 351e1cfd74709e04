#include "flow/scheduler/open.h"

#include <algorithm>

#include "agent/identity/closure.h"
#include "agent/identity/views.h"
#include "base/text.h"
#include "flow/queue/queue.h"
#include "flow/scheduler/continuation.h"
#include "flow/turn/apply.h"
#include "record/briefs/briefs.h"

namespace scheduler {
namespace {

constexpr std::string_view kResumeNote =
    "The work above was interrupted before it was done. Calls marked as not made or unknown may "
    "need a look at the "
    "world first. Go on from here; do not start over.";

json::value reason_or_null(const std::optional<domain::WaitingReason>& reason) {
    return reason ? json::value(base::enum_name(*reason)) : json::value(nullptr);
}

base::Status record_continuation(events::Log& log, const domain::Message& message,
                                 const domain::ContinuationResolution& resolution) {
    TRY(log.append(message.agent_id, "continuation_trigger_received",
                   {{"agent_id", message.agent_id.value},
                    {"message_id", message.id.value},
                    {"trigger_kind", base::enum_name(resolution.trigger_kind)},
                    {"contentful", is_contentful(message)},
                    {"prior_closure_outcome", base::enum_name(resolution.prior_closure_outcome)},
                    {"prior_waiting_reason", reason_or_null(resolution.prior_waiting_reason)}}));
    return log.append(message.agent_id, "continuation_resolved",
                      {{"agent_id", message.agent_id.value},
                       {"message_id", message.id.value},
                       {"resolution", base::to_json(resolution)}});
}

// The entry of the message itself; a second attempt at it does not tell it twice.
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

base::Status begin_record(events::Log& log, const domain::Message& message,
                          const domain::RunId& run) {
    const auto earlier = TRY(log.tx().transcript_of(message.id));
    if (earlier.empty()) return log.tx().append_transcript(incoming(log, message, run));
    const bool has_rounds = std::ranges::any_of(earlier, [](const auto& entry) {
        return entry.kind == domain::TranscriptKind::AssistantRound;
    });
    if (!has_rounds) return {};
    domain::TranscriptEntry note{.id = log.ids().uuid(),
                                 .agent_id = message.agent_id,
                                 .run_id = run,
                                 .created_at = log.now(),
                                 .kind = domain::TranscriptKind::ContinuationPrompt,
                                 .related_message_id = message.id};
    note.data = json::object{{"text", kResumeNote}, {"reason", "interrupted"}};
    return log.tx().append_transcript(note);
}

base::Result<context::Frame> plan_frame(events::Log& log, const domain::Agent& agent,
                                        const domain::Message& message, const OpenInput& input) {
    context::FrameInput facts{.agent = agent,
                              .workspace = agent.active_workspace_entry.value(),
                              .message = message,
                              .guidance = input.guidance,
                              .tools = input.tools};
    auto recent = TRY(log.tx().messages(
        agent.agent_id,
        {.limit = static_cast<std::int64_t>(context::kRecentMessages), .newest_first = true}));
    for (auto entry = recent.rbegin(); entry != recent.rend(); ++entry)
        if (entry->record.message.id != message.id &&
            entry->record.message.kind != domain::MessageKind::SystemTick &&
            entry->record.entry.status == domain::QueueStatus::Processed)
            facts.recent_messages.push_back(std::move(entry->record.message));
    auto briefs = TRY(log.tx().briefs(
        agent.agent_id,
        {.limit = static_cast<std::int64_t>(context::kRecentBriefs), .newest_first = true}));
    for (auto entry = briefs.rbegin(); entry != briefs.rend(); ++entry)
        facts.recent_briefs.push_back(std::move(entry->record));
    return context::build_frame(facts);
}

std::size_t chars_of(const std::vector<provider::PromptBlock>& blocks) {
    std::size_t chars = 0;
    for (const auto& block : blocks) chars += base::char_count(block.text);
    return chars;
}

base::Status record_opening(events::Log& log, const turn::Facts& facts, const context::Frame& frame,
                            std::int64_t build_ms) {
    const json::object place{{"agent_id", facts.agent.agent_id.value},
                             {"message_id", facts.message.id.value},
                             {"run_id", facts.attempt.run_id.value},
                             {"turn_index", facts.attempt.turn_index}};
    json::object started = place;
    started["message_kind"] = base::enum_name(facts.message.kind);
    TRY(log.append(facts.agent.agent_id, "turn_started", std::move(started)));
    json::object built = place;
    built["duration_ms"] = build_ms;
    built["context_section_count"] = frame.context_blocks.size();
    built["rendered_context_chars"] = chars_of(frame.context_blocks);
    built["rendered_system_chars"] = chars_of(frame.system_blocks);
    return log.append(facts.agent.agent_id, "turn_context_built", std::move(built));
}

// Rest ends because there is something to do; its timer and wait end with it.
base::Status wake(events::Log& log, identity::AgentFacts& facts, const domain::Message& message) {
    auto& agent = facts.agent;
    agent.last_wake_reason = std::string(base::enum_name(message.kind));
    if (!agent.rest) return {};
    for (auto& timer : facts.active_timers) {
        if (timer.summary != "sleep_duration") continue;
        timer.status = domain::TimerStatus::Cancelled;
        TRY(log.tx().put_timer(timer));
    }
    for (auto& wait : facts.open_waits) {
        if (wait.kind != domain::WaitKind::Timer) continue;
        wait.status = domain::WaitStatus::Cancelled;
        wait.updated_at = log.now();
        TRY(log.tx().put_wait(wait));
    }
    agent.rest.reset();
    return log.append(agent.agent_id, "scheduler_posture_decision",
                      {{"boundary", "message_admission"},
                       {"reason", "message_admission_wake"},
                       {"previous_status", "asleep"},
                       {"next_status", "awake_running"},
                       {"evidence", json::array{message.id.value}}});
}

base::Result<Outcome> reduce(events::Log& log, const domain::Agent& agent,
                             const domain::Message& message) {
    TRY(queue::release(log, message.id, domain::QueueStatus::Processed, "liveness only"));
    TRY(log.append(agent.agent_id, "scheduler_decision",
                   {{"decision", "ReduceMessageOnly"},
                    {"reason", "the message does not reach the model"},
                    {"model_reentry", false},
                    {"liveness_only", true},
                    {"message_id", message.id.value},
                    {"boundary", "message_processing"}}));
    TRY(log.tx().put_agent(agent));
    return Outcome{Reduced{message.id}};
}

}  // namespace

base::Result<Outcome> open_next(events::Log& log, const domain::AgentId& agent_id,
                                const OpenInput& input) {
    auto facts = TRY(identity::load_facts(log.tx(), agent_id));
    const Choice choice = choose(facts, input.budget);
    if (const auto* rest = std::get_if<Rest>(&choice)) return Outcome{*rest};
    // As things stood before this message became the active run.
    const auto prior = identity::decide_closure(facts);
    auto claimed = TRY(queue::claim(log, agent_id));
    if (!claimed) return Outcome{Rest{std::string(kNothingQueued)}};
    const domain::Message& message = claimed->message;
    auto& agent = facts.agent;
    agent.last_continuation = resolve(prior, message);
    TRY(record_continuation(log, message, *agent.last_continuation));
    TRY(wake(log, facts, message));
    if (claimed->entry.tries == 0) ++agent.total_message_count;
    if (!agent.last_continuation->model_visible) return reduce(log, agent, message);

    if (!agent.active_workspace_entry) agent.active_workspace_entry = input.home_workspace;
    ++agent.turn_index;
    turn::Facts opened{.agent = agent, .message = message};
    opened.attempt = {.run_id = log.ids().fresh<domain::RunId>(),
                      .agent_id = agent_id,
                      .message_id = message.id,
                      .turn_index = agent.turn_index,
                      .state = domain::Thinking{1},
                      .rounds_max = std::get<TakeNext>(choice).rounds_max,
                      .model_ref = agent.model_override.value_or(input.model_ref),
                      .opened_at = log.now()};
    const base::Time building = input.now();
    const auto frame = TRY(plan_frame(log, agent, message, input));
    const auto build_ms = base::millis_between(building, input.now());
    TRY(begin_record(log, message, opened.attempt.run_id));
    TRY(log.tx().open_attempt(opened.attempt));
    TRY(log.tx().put_frame(opened.attempt.run_id, base::json_text(base::to_json(frame))));
    TRY(record_opening(log, opened, frame, build_ms));
    if (claimed->entry.tries == 0)
        TRY(briefs::publish(log, opened.agent, briefs::ack(agent, message)));
    TRY(log.tx().put_agent(opened.agent));
    const std::vector<turn::Effect> effects{turn::AskModel{1}};
    TRY(turn::put_effects(log, opened.attempt, effects));
    TRY(log.append(agent_id, "agent_state_changed",
                   identity::agent_state(TRY(identity::load_facts(log.tx(), agent_id)))));
    return Outcome{Opened{std::move(opened), frame, effects}};
}

}  // namespace scheduler
