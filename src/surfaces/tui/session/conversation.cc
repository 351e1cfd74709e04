#include "surfaces/tui/session/conversation.h"

#include <algorithm>

#include "base/text.h"
#include "domain/events/messages.h"
#include "domain/events/scheduler.h"
#include "domain/events/turn.h"
#include "surfaces/show/times.h"
#include "surfaces/show/words.h"

namespace tui {

using namespace domain::events;

namespace {

constexpr const char* kThinking = "thinking";

bool is_operators(const domain::Message& message) {
    return std::holds_alternative<domain::OperatorOrigin>(message.origin) &&
           message.kind == domain::MessageKind::OperatorPrompt;
}

std::string safe(std::string_view text) {
    return base::printable(base::to_utf8(text), true);
}

BlockKind kind_of(const BriefCreated& brief) {
    if (brief.kind == domain::BriefKind::Failure) return BlockKind::Failure;
    return brief.visibility == domain::BriefVisibility::ActionRequired ? BlockKind::Asks
                                                                       : BlockKind::Result;
}

// What a command did is in its exit code, not in whether it could be run.
bool has_succeeded(const ToolExecuted& done) {
    if (done.status != domain::ResultStatus::Ok) return false;
    if (!done.exec_command_cmd || !done.exit_status || !done.exit_status->is_int64()) return true;
    return done.exit_status->get_int64() == 0;
}

Block call_block(const ToolExecuted& done, base::Time at) {
    const std::string took = show::duration_text(done.duration_ms);
    const std::string cmd = done.exec_command_cmd.value_or("");
    Block block{.kind = has_succeeded(done) ? BlockKind::Done : BlockKind::Failed, .at = at};
    block.text = base::printable(
        base::collapse_whitespace(base::to_utf8(cmd.empty() ? done.summary : "$ " + cmd)));
    block.outcome = cmd.empty() ? took : fmt::format("→ {} {}", views::outcome_of(done), took);
    return block;
}

// The brief of a failed turn says the same in the next event.
bool is_said_by_brief(const domain::Event& event) {
    if (const auto error = read<RuntimeError>(event)) return error->run_id.has_value();
    const auto end = read<TurnTerminal>(event);
    return end && end->kind == domain::TerminalKind::Completed;
}

}  // namespace

void Conversation::begin_here(bool is_in_turn, base::Time now) {
    tokens_ = 0;
    cost_usd_ = 0;
    if (!is_in_turn) end_turn();
    if (is_in_turn && !is_in_turn_) begin("working", now);
    is_in_turn_ = is_in_turn;
}

void Conversation::begin(std::string what, base::Time now) {
    activity_ = {.what = std::move(what), .since = now};
}

void Conversation::end_turn() {
    is_in_turn_ = false;
    activity_ = {};
    streamed_.clear();
}

void Conversation::forget_stream() {
    streamed_.clear();
    activity_.output.clear();
}

std::vector<Block> Conversation::on_event(const domain::Event& event) {
    if (event.event_seq <= newest_seq_) return {};
    newest_seq_ = event.event_seq;
    track(event);
    std::vector<Block> blocks;
    if (auto block = operator_block(event)) blocks.push_back(std::move(*block));
    if (auto block = shown_block(event)) blocks.push_back(std::move(*block));
    return blocks;
}

// What the agent is doing. It belongs to one turn: nothing of the turn before is left.
void Conversation::track(const domain::Event& event) {
    const base::Time at = event.created_at;
    if (is<TurnStarted>(event)) {
        streamed_.clear();
        is_in_turn_ = true;
        begin(kThinking, at);
    } else if (is<AttemptResumed>(event)) {
        is_in_turn_ = true;
        begin("resuming after a restart", at);
    } else if (is_any<TurnTerminal, RuntimeError>(event)) {
        end_turn();
    } else if (const auto round = read<ProviderRoundCompleted>(event)) {
        tokens_ += round->token_usage.total_tokens;
        cost_usd_ += round->cost_usd.value_or(0);
    } else if (is<AssistantRoundRecorded>(event)) {
        streamed_.clear();
        if (is_in_turn_) begin(kThinking, at);
    } else if (const auto command = read<ProcessExecutionRequested>(event)) {
        begin("$ " + base::printable(base::collapse_whitespace(command->cmd_preview)), at);
    } else if (is_any<ToolExecuted, ToolExecutionFailed>(event)) {
        if (is_in_turn_) begin(kThinking, at);
    } else if (const auto parked = read<TurnParked>(event)) {
        begin("the provider does not answer, asking again: " +
                  base::printable(show::failure_text(parked->reason)),
              at);
        activity_.until = parked->until;
    } else if (is<TurnWaitOver>(event)) {
        begin(kThinking, at);
    } else if (const auto delayed = read<ModelAnswerDelayed>(event)) {
        begin(fmt::format("waiting for {}", base::printable(delayed->model_ref)),
              at - std::chrono::milliseconds(delayed->waited_ms));
    }
}

void Conversation::on_delta(const service::Delta& delta, base::Time now) {
    switch (delta.kind) {
        case service::DeltaKind::Text:
            if (activity_.what == kThinking) begin("writing", now);
            streamed_ += base::to_utf8(delta.text);
            if (streamed_.size() > kStreamBytesMax)
                streamed_ = base::to_utf8(
                    std::string_view(streamed_).substr(streamed_.size() - kStreamBytesMax / 2));
            break;
        case service::DeltaKind::Output:
            activity_.output = base::printable(base::to_utf8(delta.text));
            break;
        case service::DeltaKind::Retry:
            streamed_.clear();
            begin(show::retry_text(delta), now);
            activity_.until = now + std::chrono::milliseconds(delta.wait_ms.value_or(0));
            break;
        case service::DeltaKind::Question:  // Not part of the conversation.
            break;
    }
}

bool Conversation::was_read(const std::string& message_id) const {
    return std::ranges::find(read_ids_, message_id) != read_ids_.end();
}

Block Conversation::read_message(const std::string& message_id, base::Time at, std::string text) {
    const auto waiting = std::ranges::find(pending_, message_id, &Pending::message_id);
    if (waiting != pending_.end()) {
        text = waiting->text;
        pending_.erase(waiting);
    }
    read_ids_.push_back(message_id);
    if (read_ids_.size() > kRememberedIds) read_ids_.pop_front();
    return {.kind = BlockKind::Operator, .at = at, .text = safe(text)};
}

void Conversation::queue(const std::string& message_id, const std::string& text) {
    const auto known = std::ranges::find(pending_, message_id, &Pending::message_id);
    if (known != pending_.end()) {
        known->state = Pending::State::Queued;
        return;
    }
    // One that was sent here, whose answer has not come yet.
    const auto same = std::ranges::find_if(pending_, [&](const Pending& one) {
        return one.message_id.empty() && one.state == Pending::State::Sending && one.text == text;
    });
    if (same != pending_.end()) {
        same->message_id = message_id;
        same->state = Pending::State::Queued;
        return;
    }
    if (pending_.size() < kPendingMax)
        pending_.push_back(
            {.message_id = message_id, .text = text, .state = Pending::State::Queued});
}

std::optional<Block> Conversation::operator_block(const domain::Event& event) {
    if (const auto queued = read<MessageEnqueued>(event)) {
        if (is_operators(*queued) && !was_read(queued->id.value))
            queue(queued->id.value, domain::readable(queued->body));
    } else if (const auto started = read<MessageProcessingStarted>(event)) {
        if (is_operators(*started) && !was_read(started->id.value))
            return read_message(started->id.value, started->created_at,
                                domain::readable(started->body));
    } else if (const auto joined = read<OperatorInterjectionAdmitted>(event)) {
        if (!was_read(joined->message_id.value))
            return read_message(joined->message_id.value, event.created_at, joined->text_preview);
    } else if (const auto dropped = read<MessageQuarantined>(event)) {
        std::erase_if(pending_, [&](const Pending& one) {
            return one.message_id == dropped->message_id.value;
        });
    }
    return std::nullopt;
}

std::optional<Block> Conversation::shown_block(const domain::Event& event) const {
    const auto presented = views::present(event);
    if (!views::is_shown(event, presented, mode_)) return std::nullopt;
    if (mode_ != views::DisplayMode::Debug && is_said_by_brief(event)) return std::nullopt;
    const base::Time at = event.created_at;
    if (const auto brief = read<BriefCreated>(event))
        return Block{
            kind_of(*brief), at,
            safe(brief->kind == domain::BriefKind::Failure ? show::failure_text(brief->text)
                                                           : brief->text)};
    if (const auto done = read<ToolExecuted>(event)) return call_block(*done, at);
    if (is_any<ToolExecutionFailed, ToolCallRefused, SandboxDenied>(event))
        return Block{BlockKind::Failed, at, presented.summary};
    // The command is shown when it has ended, with its outcome.
    if (is<ProcessExecutionRequested>(event)) return std::nullopt;
    if (const auto round = read<AssistantRoundRecorded>(event)) {
        // The text of the last round is the brief.
        if (!round->has_tool_calls) return std::nullopt;
        return Block{BlockKind::Progress, at, safe(round->text_preview)};
    }
    if (presented.visibility == views::Visibility::ActionRequired)
        return Block{BlockKind::Asks, at, presented.body.value_or(presented.summary)};
    if (const auto end = read<TurnTerminal>(event); end && end->reason)
        return Block{BlockKind::Warning, at, presented.summary};
    return Block{BlockKind::Note, at, presented.summary};
}

void Conversation::sending(std::int64_t local_id, std::string text) {
    pending_.push_back({.local_id = local_id, .text = std::move(text)});
}

void Conversation::sent(std::int64_t local_id, const std::string& message_id) {
    const auto known = std::ranges::find(pending_, local_id, &Pending::local_id);
    if (known == pending_.end()) return;
    // Its events may have been faster than the answer.
    if (was_read(message_id)) {
        pending_.erase(known);
        return;
    }
    known->message_id = message_id;
    known->state = Pending::State::Queued;
    // Another row may have been made by the event, where two equal texts were sent.
    const auto twin = std::ranges::find_if(pending_, [&](const Pending& one) {
        return one.local_id == 0 && one.message_id == message_id;
    });
    if (twin != pending_.end()) pending_.erase(twin);
}

void Conversation::failed(std::int64_t local_id) {
    std::erase_if(pending_,
                  [&](const Pending& one) { return one.state == Pending::State::Failed; });
    const auto known = std::ranges::find(pending_, local_id, &Pending::local_id);
    if (known != pending_.end()) known->state = Pending::State::Failed;
}

}  // namespace tui
