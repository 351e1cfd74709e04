#include "service/views/presentation.h"

#include <algorithm>
#include <cctype>

#include "base/text.h"
#include "domain/events/messages.h"
#include "domain/events/operators.h"
#include "domain/events/tasks.h"
#include "domain/events/tools.h"
#include "domain/events/turn.h"
#include "domain/events/work.h"

namespace views {
namespace {

using namespace domain::events;

std::string one_line(std::string_view text, std::size_t chars = kSummaryChars) {
    return base::ellipsize(base::printable(base::collapse_whitespace(base::to_utf8(text))), chars);
}

// "task_created" -> "Task created"
std::string humanised(std::string_view kind) {
    std::string out(kind);
    std::ranges::replace(out, '_', ' ');
    if (!out.empty()) out[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(out[0])));
    return out;
}

std::string joined(const std::vector<std::string>& names) {
    std::string out;
    for (const auto& name : names) out += (out.empty() ? "" : ", ") + name;
    return out;
}

// The member of `data` that says most, for kinds without a sentence of their own.
std::string detail_of(const json::value& data) {
    for (const auto* name : {"summary", "error", "reason", "message", "objective", "text_preview",
                             "status", "workspace_anchor", "worktree_path"})
        if (auto text = base::string_at(data, name); !text.empty()) return text;
    return "";
}

std::string with_detail(std::string_view head, std::string_view detail) {
    return detail.empty() ? std::string(head) : fmt::format("{}: {}", head, detail);
}

std::string round_summary(std::int64_t round, const std::string& preview,
                          const std::vector<std::string>& tools) {
    if (!preview.empty()) return "Assistant progress: " + preview;
    if (!tools.empty()) return "Model requested tools: " + joined(tools);
    return fmt::format("Provider round {} completed", round);
}

std::string progress_summary(const domain::Event& event) {
    if (const auto recorded = read<AssistantRoundRecorded>(event))
        return round_summary(recorded->round, recorded->text_preview, recorded->tool_names);
    const auto completed = read<ProviderRoundCompleted>(event).value_or(ProviderRoundCompleted{});
    return round_summary(completed.round, completed.text_preview.value_or(""),
                         completed.tool_names.value_or(std::vector<std::string>{}));
}

std::string tool_or(const std::string& name) {
    return name.empty() ? "tool" : name;
}

std::string tool_summary(const domain::Event& event) {
    if (const auto asked = read<ProcessExecutionRequested>(event))
        return "Running " + asked->cmd_preview;
    if (const auto denied = read<SandboxDenied>(event))
        return fmt::format("Sandbox denied {} ({})", denied->what, denied->rule);
    if (const auto done = read<ToolExecuted>(event)) {
        const auto cmd = done->exec_command_cmd.value_or("");
        if (cmd.empty()) return with_detail(tool_or(done->tool_name), done->summary);
        // The outcome stays visible, however long the command is.
        const std::string outcome = " → " + outcome_of(*done);
        const std::size_t room = kSummaryChars - std::min(kSummaryChars, base::char_count(outcome));
        return one_line(with_detail(tool_or(done->tool_name), cmd), room) + outcome;
    }
    if (const auto refused = read<ToolCallRefused>(event))
        return with_detail(tool_or(refused->tool_name) + " was not run", refused->reason);
    if (const auto cut = read<TruncatedMutationToolCallRejected>(event))
        return with_detail(tool_or(cut->tool_name) + " failed", cut->tool_error.message);
    const auto failed = read<ToolExecutionFailed>(event).value_or(ToolExecutionFailed{});
    return with_detail(tool_or(failed.tool_name) + " failed",
                       base::string_at(failed.tool_error, "message"));
}

std::string text_of(const domain::Body& body) {
    if (const auto* text = std::get_if<domain::TextBody>(&body)) return text->text;
    if (const auto* brief = std::get_if<domain::BriefBody>(&body)) return brief->text;
    return "";
}

std::string message_line(std::string_view kind, const domain::Origin& origin,
                         std::string_view text) {
    const auto from = std::visit([](const auto& one) { return one.kTag; }, origin);
    return with_detail(fmt::format("{} ({})", humanised(kind), from), text);
}

std::string message_summary(const domain::Event& event) {
    if (const auto admitted = read<MessageAdmitted>(event))
        return message_line(event.kind, admitted->origin, "");
    if (const auto queued = read<MessageEnqueued>(event))
        return message_line(event.kind, queued->origin, text_of(queued->body));
    if (const auto started = read<MessageProcessingStarted>(event))
        return message_line(event.kind, started->origin, text_of(started->body));
    if (const auto aborted = read<MessageProcessingAborted>(event))
        return message_line(event.kind, aborted->origin, "");
    if (const auto joined_turn = read<OperatorInterjectionAdmitted>(event))
        return message_line(event.kind, joined_turn->origin, joined_turn->text_preview);
    return humanised(event.kind);
}

std::string turn_summary(const TurnTerminal& end) {
    if (end.kind == domain::TerminalKind::Completed)
        return fmt::format("Turn {} completed", end.turn_index);
    return with_detail(fmt::format("Turn {} ended ({})", end.turn_index, base::enum_name(end.kind)),
                       end.reason.value_or(""));
}

std::string work_item_summary(const WorkItemWritten& written) {
    return with_detail("Work item " + (written.action.empty() ? "changed" : written.action),
                       base::string_at(written.record, "objective"));
}

std::string delivery_summary(const OperatorDeliveryCompleted& over) {
    if (over.status != domain::DeliveryStatus::FailedToSubmit)
        return "The operator was notified by " + over.route_id;
    return with_detail("The operator could not be notified by " + over.route_id,
                       over.failure_summary.value_or(""));
}

std::string sentence(const domain::Event& event, Category category) {
    if (const auto brief = read<BriefCreated>(event)) return brief->text;
    if (const auto end = read<TurnTerminal>(event)) return turn_summary(*end);
    if (const auto written = read<WorkItemWritten>(event)) return work_item_summary(*written);
    if (const auto over = read<OperatorDeliveryCompleted>(event)) return delivery_summary(*over);
    if (category == Category::AssistantProgress) return progress_summary(event);
    if (category == Category::Tool) return tool_summary(event);
    if (category == Category::Message) return message_summary(event);
    if (category == Category::StateSync) return humanised(event.kind);
    return with_detail(humanised(event.kind), detail_of(event.data));
}

std::string title_of(const domain::Event& event, Category category) {
    if (const auto brief = read<BriefCreated>(event))
        return brief->kind == domain::BriefKind::Failure ? "Failure" : "Result";
    if (category == Category::OperatorNotification) return "Needs you";
    if (category == Category::AssistantProgress) return "Assistant";
    return one_line(humanised(event.kind), kTitleChars);
}

std::optional<std::string> body_of(const domain::Event& event) {
    std::string text;
    if (auto brief = read<BriefCreated>(event)) text = std::move(brief->text);
    if (auto asked = read<OperatorNotificationRequested>(event)) text = std::move(asked->message);
    if (auto failed = read<RuntimeError>(event)) text = std::move(failed->error);
    if (auto round = read<AssistantRoundRecorded>(event)) text = std::move(round->text_preview);
    if (text.empty()) return std::nullopt;
    return base::printable(base::to_utf8(text), true);
}

Visibility visibility_of(const domain::Brief& brief) {
    if (brief.kind == domain::BriefKind::Ack) return Visibility::Trace;
    // It was judged when it was made, by what the agent waited for then.
    switch (brief.visibility.value_or(domain::BriefVisibility::TurnResult)) {
        case domain::BriefVisibility::ActionRequired:
            return Visibility::ActionRequired;
        case domain::BriefVisibility::WorkDone:
            return Visibility::WorkDone;
        case domain::BriefVisibility::TurnResult:
            return Visibility::TurnResult;
    }
    return Visibility::TurnResult;
}

// What the table says of the kind, unless the payload says more.
Visibility visibility_of(const domain::Event& event) {
    if (const auto brief = read<BriefCreated>(event)) return visibility_of(*brief);
    if (const auto written = read<WorkItemWritten>(event);
        written && base::string_at(written->record, "state") == "completed")
        return Visibility::WorkDone;
    if (const auto end = read<TurnTerminal>(event);
        end && end->kind != domain::TerminalKind::Completed)
        return Visibility::TurnResult;
    if (const auto over = read<OperatorDeliveryCompleted>(event);
        over && over->status == domain::DeliveryStatus::FailedToSubmit)
        return Visibility::TurnResult;
    const auto* kind = find_kind(event.kind);
    return kind ? kind->visibility : Visibility::Trace;
}

bool is_conversation(Category category) {
    return category != Category::AssistantProgress && category != Category::Tool &&
           category != Category::StateSync && category != Category::Trace;
}

// Some rows of the verbose view are there for certain payloads only.
bool has_content(const domain::Event& event) {
    if (const auto round = read<AssistantRoundRecorded>(event)) return round->has_text;
    if (const auto asked = read<ProcessExecutionRequested>(event))
        return !asked->cmd_preview.empty();
    return true;
}

bool has_ended(const domain::Event& event) {
    const auto updated = read<TaskStatusUpdated>(event);
    return updated && (domain::is_terminal(updated->status) ||
                       updated->status == domain::TaskStatus::Interrupted);
}

bool ends_activity(const domain::Event& event) {
    return is_any<TurnStarted, MessageProcessingStarted, OperatorInterjectionAdmitted, BriefCreated,
                  TurnTerminal, RuntimeError>(event);
}

}  // namespace

PresentedEvent present(const domain::Event& event) {
    const Category category = category_of(event.kind);
    std::string summary = one_line(sentence(event, category));
    if (summary.empty()) summary = one_line(humanised(event.kind));
    return {.visibility = visibility_of(event),
            .category = category,
            .title = title_of(event, category),
            .body = body_of(event),
            .summary = std::move(summary),
            .source_event_kind = event.kind};
}

std::string outcome_of(const ToolExecuted& done) {
    if (!done.exec_command_cmd) return "";
    if (const auto* code = done.exit_status ? done.exit_status->if_int64() : nullptr)
        return fmt::format("exit {}", *code);
    if (done.status != domain::ResultStatus::Ok) return std::string(base::enum_name(done.status));
    // No exit code: a signal ended it, or it has not ended. Its summary says which.
    constexpr std::string_view kSignal = "ended by signal ";
    if (const auto at = done.summary.find(kSignal); at != std::string::npos) {
        std::string text = done.summary.substr(at);
        while (text.ends_with('.')) text.pop_back();
        return one_line(text);
    }
    return done.summary.contains("ended") ? "ended early" : "continues in the background";
}

std::optional<DisplayMode> parse_display_mode(std::string_view text) {
    std::string lower(base::trim(text));
    for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    for (const auto mode : {DisplayMode::Info, DisplayMode::Verbose, DisplayMode::Debug})
        if (lower == base::enum_name(mode) || lower == std::to_string(number_of(mode))) return mode;
    return std::nullopt;
}

bool is_shown(const domain::Event& event, const PresentedEvent& presented, DisplayMode mode) {
    if (presented.category == Category::StateSync) return false;
    if (is_conversation(presented.category) && presented.visibility <= Visibility::TurnResult)
        return true;
    if (mode == DisplayMode::Info) return false;
    if (has_ended(event)) return true;
    const auto* kind = find_kind(event.kind);
    return kind && kind->shown_from && *kind->shown_from <= mode && has_content(event);
}

std::string activity_after(std::string_view activity, const domain::Event& event) {
    if (ends_activity(event)) return "";
    const auto category = category_of(event.kind);
    if (category == Category::AssistantProgress || category == Category::Tool)
        return present(event).summary;
    return std::string(activity);
}

}  // namespace views
