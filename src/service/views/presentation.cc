#include "service/views/presentation.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/text.h"

namespace views {
namespace {

struct Entry {
    std::string_view kind;
    Category category;
    // The first mode that has a row for it whatever its visibility; empty: visibility alone
    // decides.
    std::optional<DisplayMode> from{};
};

constexpr auto kVerbose = DisplayMode::Verbose;
constexpr auto kDebug = DisplayMode::Debug;

// Kinds that are not here are Trace. Sorted, for looking them up.
constexpr auto kEntries = std::to_array<Entry>({
    {"agent_created", Category::Runtime, kVerbose},
    {"agent_model_override_clear_requested", Category::Runtime, kDebug},
    {"agent_model_override_cleared", Category::Runtime, kVerbose},
    {"agent_model_override_requested", Category::Runtime, kDebug},
    {"agent_model_override_set", Category::Runtime, kVerbose},
    {"agent_state_changed", Category::StateSync},
    {"assistant_round_recorded", Category::AssistantProgress, kVerbose},
    {"brief_created", Category::Brief},
    {"callback_delivered", Category::Waiting, kVerbose},
    {"closure_decided", Category::Runtime, kDebug},
    {"command_task_result_enqueue_failed", Category::Task, kVerbose},
    {"command_task_runner_failed", Category::Task, kVerbose},
    {"command_task_running_persisted", Category::Task, kDebug},
    {"continuation_resolved", Category::Runtime, kDebug},
    {"continuation_trigger_received", Category::Runtime, kDebug},
    {"control_applied", Category::Runtime, kVerbose},
    {"control_request_admitted", Category::Runtime, kDebug},
    {"current_run_aborted", Category::Runtime, kVerbose},
    {"debug_prompt_requested", Category::Runtime, kDebug},
    {"episode_memory_finalized", Category::Runtime, kDebug},
    {"max_output_tokens_recovery", Category::Runtime, kVerbose},
    {"message_admitted", Category::Message},
    {"message_enqueued", Category::Message},
    {"message_processing_aborted", Category::Message, kDebug},
    {"message_processing_started", Category::Message},
    {"missing_current_work_item_before_wait", Category::WorkItem, kVerbose},
    {"operator_delivery_completed", Category::Runtime, kDebug},
    {"operator_delivery_submitted", Category::Runtime, kDebug},
    {"operator_interjection_admitted", Category::Message, kDebug},
    {"operator_notification_mirror_failed", Category::Runtime, kVerbose},
    {"operator_notification_requested", Category::OperatorNotification},
    {"operator_transport_binding_upserted", Category::Runtime, kDebug},
    {"process_execution_requested", Category::Tool, kVerbose},
    {"provider_round_completed", Category::AssistantProgress, kDebug},
    {"recovery_cleared_missing_worktree_session", Category::Runtime, kVerbose},
    {"runtime_error", Category::Runtime},
    {"runtime_service_shutdown_requested", Category::Runtime, kVerbose},
    {"sandbox_denied", Category::Tool, kVerbose},
    {"scheduler_decision", Category::Runtime},
    {"session_state_changed", Category::StateSync},
    {"skill_activated", Category::Runtime, kDebug},
    {"skill_installed", Category::Runtime, kVerbose},
    {"skill_uninstalled", Category::Runtime, kVerbose},
    {"stale_waiting_intents_cancelled", Category::Waiting, kVerbose},
    {"state_changed", Category::StateSync},
    {"supervised_child_task_monitor_reattached", Category::Task, kDebug},
    {"supervised_child_task_recovery_failed", Category::Task, kVerbose},
    {"system_tick_emitted", Category::Runtime},
    {"system_tick_suppressed", Category::Runtime},
    {"task_child_spawned", Category::Task, kVerbose},
    {"task_create_requested", Category::Task, kDebug},
    {"task_created", Category::Task, kDebug},
    {"task_input_delivered", Category::Task, kDebug},
    {"task_result_received", Category::Task, kVerbose},
    {"task_status_updated", Category::Task, kDebug},
    {"task_worktree_branch_cleanup_retained", Category::Workspace, kDebug},
    {"task_worktree_cleanup_already_removed", Category::Workspace, kDebug},
    {"task_worktree_cleanup_failed", Category::Workspace, kVerbose},
    {"task_worktree_cleanup_retained", Category::Workspace, kDebug},
    {"task_worktree_metadata_recorded", Category::Workspace, kDebug},
    {"text_only_round_observed", Category::AssistantProgress, kVerbose},
    {"timer_create_requested", Category::Waiting, kDebug},
    {"timer_created", Category::Waiting, kDebug},
    {"timer_fire_failed", Category::Waiting, kVerbose},
    {"timer_fired", Category::Waiting, kVerbose},
    {"tool_call_refused", Category::Tool, kVerbose},
    {"tool_executed", Category::Tool, kVerbose},
    {"tool_execution_failed", Category::Tool, kVerbose},
    {"truncated_mutation_tool_call_rejected", Category::Tool, kVerbose},
    {"turn_context_built", Category::Runtime, kDebug},
    {"turn_context_length_exceeded", Category::Runtime, kVerbose},
    {"turn_local_baseline_over_budget", Category::Runtime, kVerbose},
    {"turn_local_checkpoint_recorded", Category::Runtime, kDebug},
    {"turn_local_checkpoint_requested", Category::Runtime, kDebug},
    {"turn_local_checkpoint_resume_requested", Category::Runtime, kVerbose},
    {"turn_local_compaction_applied", Category::Runtime, kVerbose},
    {"turn_started", Category::Message},
    {"turn_terminal", Category::Runtime},
    {"waiting_intent_cancelled", Category::Waiting, kDebug},
    {"waiting_intent_created", Category::Waiting},
    {"wake_requested", Category::Runtime, kDebug},
    {"work_item_delegation_completed", Category::WorkItem, kVerbose},
    {"work_item_delegation_created", Category::WorkItem},
    {"work_item_enqueue_requested", Category::WorkItem, kDebug},
    {"work_item_focus_released", Category::WorkItem},
    {"work_item_picked", Category::WorkItem, kDebug},
    {"work_item_stale_reminder_injected", Category::WorkItem, kDebug},
    {"work_item_stale_reminder_skipped", Category::WorkItem, kDebug},
    {"work_item_turn_end_commit_skipped", Category::WorkItem, kDebug},
    {"work_item_turn_end_committed", Category::WorkItem, kDebug},
    {"work_item_waiting_intents_cancelled", Category::WorkItem},
    {"work_item_written", Category::WorkItem},
    {"working_memory_updated", Category::Runtime, kDebug},
    {"workspace_attach_requested", Category::Workspace, kDebug},
    {"workspace_attached", Category::Workspace, kVerbose},
    {"workspace_detach_requested", Category::Workspace, kDebug},
    {"workspace_detached", Category::Workspace, kVerbose},
    {"workspace_entered", Category::Workspace, kVerbose},
    {"workspace_exit_requested", Category::Workspace, kDebug},
    {"workspace_exited", Category::Workspace, kVerbose},
    {"workspace_used", Category::Workspace, kDebug},
    {"worktree_auto_cleaned_up", Category::Workspace, kVerbose},
    {"worktree_auto_cleanup_failed", Category::Workspace, kVerbose},
    {"worktree_created_for_task", Category::Workspace, kVerbose},
    {"worktree_entered", Category::Workspace, kVerbose},
    {"worktree_exited", Category::Workspace, kVerbose},
    {"worktree_retained_for_review", Category::Workspace, kVerbose},
});
static_assert(std::ranges::is_sorted(kEntries, {}, &Entry::kind));

const Entry* entry_of(std::string_view kind) {
    const auto* found = std::ranges::lower_bound(kEntries, kind, {}, &Entry::kind);
    return found != kEntries.end() && found->kind == kind ? &*found : nullptr;
}

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

std::string joined(const json::value* names) {
    std::string out;
    if (const auto* list = names ? names->if_array() : nullptr)
        for (const auto& name : *list)
            if (name.is_string()) out += (out.empty() ? "" : ", ") + std::string(name.get_string());
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

std::string round_summary(const json::value& data) {
    if (const auto preview = base::string_at(data, "text_preview"); !preview.empty())
        return "Assistant progress: " + preview;
    if (const auto tools = joined(base::find(data, "tool_names")); !tools.empty())
        return "Model requested tools: " + tools;
    return fmt::format("Provider round {} completed", base::int_at(data, "round"));
}

std::string tool_summary(std::string_view kind, const json::value& data) {
    const std::string tool = base::string_at(data, "tool_name", "tool");
    if (kind == "process_execution_requested")
        return "Running " + base::string_at(data, "cmd_preview");
    if (kind == "sandbox_denied")
        return fmt::format("Sandbox denied {} ({})", base::string_at(data, "what"),
                           base::string_at(data, "rule"));
    if (kind == "tool_executed") {
        const auto cmd = base::string_at(data, "exec_command_cmd");
        return with_detail(tool, cmd.empty() ? base::string_at(data, "summary") : cmd);
    }
    if (kind == "tool_call_refused")
        return with_detail(tool + " was not run", base::string_at(data, "reason"));
    const auto* error = base::find(data, "tool_error");
    return with_detail(tool + " failed", error ? base::string_at(*error, "message") : "");
}

std::string message_summary(std::string_view kind, const json::value& data) {
    const auto* origin = base::find(data, "origin");
    const auto from = origin ? base::string_at(*origin, "kind") : "";
    const auto* body = base::find(data, "body");
    const auto text = body ? base::string_at(*body, "text") : base::string_at(data, "text_preview");
    return with_detail(
        from.empty() ? humanised(kind) : fmt::format("{} ({})", humanised(kind), from), text);
}

std::string turn_summary(const json::value& data) {
    const auto index = base::int_at(data, "turn_index");
    const auto kind = base::string_at(data, "kind");
    if (kind == "completed") return fmt::format("Turn {} completed", index);
    return with_detail(fmt::format("Turn {} ended ({})", index, kind),
                       base::string_at(data, "reason"));
}

std::string work_item_summary(const json::value& data) {
    const auto* record = base::find(data, "record");
    return with_detail("Work item " + base::string_at(data, "action", "changed"),
                       record ? base::string_at(*record, "objective") : "");
}

std::string sentence(const domain::Event& event, Category category) {
    const auto& data = event.data;
    if (event.kind == "brief_created") return base::string_at(data, "text");
    if (event.kind == "turn_terminal") return turn_summary(data);
    if (event.kind == "work_item_written") return work_item_summary(data);
    if (category == Category::AssistantProgress) return round_summary(data);
    if (category == Category::Tool) return tool_summary(event.kind, data);
    if (category == Category::Message) return message_summary(event.kind, data);
    if (category == Category::StateSync) return humanised(event.kind);
    return with_detail(humanised(event.kind), detail_of(data));
}

std::string title_of(const domain::Event& event, Category category) {
    if (event.kind == "brief_created")
        return base::string_at(event.data, "kind") == "failure" ? "Failure" : "Result";
    if (category == Category::OperatorNotification) return "Needs you";
    if (category == Category::AssistantProgress) return "Assistant";
    return one_line(humanised(event.kind), kTitleChars);
}

std::optional<std::string> body_of(const domain::Event& event) {
    std::string text;
    if (event.kind == "brief_created") text = base::string_at(event.data, "text");
    if (event.kind == "operator_notification_requested")
        text = base::string_at(event.data, "message");
    if (event.kind == "runtime_error") text = base::string_at(event.data, "error");
    if (event.kind == "assistant_round_recorded")
        text = base::string_at(event.data, "text_preview");
    if (text.empty()) return std::nullopt;
    return base::printable(base::to_utf8(text), true);
}

bool is_completed_work(const json::value& data) {
    const auto* record = base::find(data, "record");
    return record && base::string_at(*record, "state") == "completed";
}

Visibility visibility_of(const domain::Event& event, Category category) {
    const auto& data = event.data;
    switch (category) {
        case Category::OperatorNotification:
            return Visibility::ActionRequired;
        case Category::Brief:
            if (base::string_at(data, "kind") == "ack") return Visibility::Trace;
            // It was judged when it was made, by what the agent waited for then.
            return base::enum_from<Visibility>(base::string_at(data, "visibility"))
                .value_or(Visibility::TurnResult);
        case Category::WorkItem:
            if (event.kind != "work_item_written") return Visibility::TurnResult;
            return is_completed_work(data) ? Visibility::WorkDone : Visibility::Trace;
        case Category::AssistantProgress:
            return Visibility::Progress;
        case Category::Runtime:
            if (event.kind == "runtime_error") return Visibility::TurnResult;
            if (event.kind == "turn_terminal" && base::string_at(data, "kind") != "completed")
                return Visibility::TurnResult;
            return Visibility::Trace;
        case Category::Message:
        case Category::Task:
        case Category::Waiting:
        case Category::Workspace:
        case Category::Tool:
        case Category::StateSync:
        case Category::Trace:
            return Visibility::Trace;
    }
    return Visibility::Trace;
}

bool is_conversation(Category category) {
    return category != Category::AssistantProgress && category != Category::Tool &&
           category != Category::StateSync && category != Category::Trace;
}

// Some rows of the verbose view are there for certain payloads only.
bool has_content(const domain::Event& event) {
    const auto& data = event.data;
    if (event.kind == "assistant_round_recorded") return base::bool_at(data, "has_text");
    if (event.kind == "text_only_round_observed")
        return base::bool_at(data, "has_text") || base::bool_at(data, "triggered_recovery");
    if (event.kind == "process_execution_requested")
        return !base::string_at(data, "cmd_preview").empty();
    return true;
}

bool is_terminal_task(const json::value& data) {
    const auto status = base::string_at(data, "status");
    return status == "completed" || status == "failed" || status == "cancelled" ||
           status == "interrupted";
}

constexpr std::array<std::string_view, 6> kActivityEnds{"turn_started",
                                                        "message_processing_started",
                                                        "operator_interjection_admitted",
                                                        "brief_created",
                                                        "turn_terminal",
                                                        "runtime_error"};

}  // namespace

Category category_of(std::string_view kind) {
    if (const auto* entry = entry_of(kind)) return entry->category;
    if (kind.starts_with("workspace_") || kind.starts_with("worktree_") ||
        kind.starts_with("task_worktree_"))
        return Category::Workspace;
    if (kind.starts_with("turn_local_")) return Category::Runtime;
    return Category::Trace;
}

PresentedEvent present(const domain::Event& event) {
    const Category category = category_of(event.kind);
    std::string summary = one_line(sentence(event, category));
    if (summary.empty()) summary = one_line(humanised(event.kind));
    return {.visibility = visibility_of(event, category),
            .category = category,
            .title = title_of(event, category),
            .body = body_of(event),
            .summary = std::move(summary),
            .source_event_kind = event.kind};
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
    if (event.kind == "task_status_updated" && is_terminal_task(event.data)) return true;
    const auto* entry = entry_of(event.kind);
    return entry && entry->from && *entry->from <= mode && has_content(event);
}

std::string activity_after(std::string_view activity, const domain::Event& event) {
    if (std::ranges::find(kActivityEnds, event.kind) != kActivityEnds.end()) return "";
    const auto category = category_of(event.kind);
    if (category == Category::AssistantProgress || category == Category::Tool)
        return present(event).summary;
    return std::string(activity);
}

}  // namespace views
