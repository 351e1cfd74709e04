#include "agent/work/reminder.h"

#include <algorithm>

#include "base/text.h"

namespace work {
namespace {

constexpr std::size_t kTodosShown = 8;
constexpr std::size_t kPlanLines = 8;
constexpr std::size_t kPlanChars = 1'200;
constexpr std::size_t kCharsMin = 256;
constexpr std::string_view kCutNotice =
    "\n(The reminder was cut. GetWorkItem shows the whole item.)";

std::string plan_lines(const domain::WorkItem& item) {
    std::string_view text;
    if (item.plan)
        text = *item.plan;
    else if (item.plan_artifact)
        text = item.plan_artifact->preview;
    std::string lines;
    std::size_t count = 0;
    for (const auto line : base::split_lines(base::first_chars(text, kPlanChars))) {
        if (count++ == kPlanLines) break;
        lines += fmt::format("\n  {}", line);
    }
    return lines;
}

std::string todo_lines(const domain::WorkItem& item) {
    std::string lines;
    std::size_t shown = 0;
    std::size_t left_out = 0;
    for (const auto& todo : item.todo_list) {
        if (todo.state == domain::TodoState::Completed) continue;
        if (shown == kTodosShown) {
            ++left_out;
            continue;
        }
        ++shown;
        lines += fmt::format("\n- [{}] {}", base::enum_name(todo.state), todo.text);
    }
    if (left_out > 0) lines += fmt::format("\n- and {} more", left_out);
    return lines;
}

}  // namespace

void count_round(domain::Attempt& attempt, bool wrote_work) {
    if (wrote_work) {
        attempt.rounds_without_work_update = 0;
        attempt.rounds_since_reminder = 0;
        return;
    }
    ++attempt.rounds_without_work_update;
    if (attempt.rounds_since_reminder > 0) ++attempt.rounds_since_reminder;
}

bool is_reminder_due(const domain::Attempt& attempt, const Settings& settings) {
    return attempt.rounds_without_work_update >= settings.reminder_rounds &&
           (attempt.rounds_since_reminder == 0 ||
            attempt.rounds_since_reminder > settings.reminder_cooldown_rounds);
}

void count_reminder(domain::Attempt& attempt) {
    attempt.rounds_since_reminder = 1;
}

std::string reminder_text(const domain::WorkItem& item, std::int64_t rounds,
                          const Settings& settings) {
    std::string text = fmt::format(
        "[work item reminder]\n{} rounds have passed since a work item was updated. If there was "
        "material progress, a change of scope, a blocker or a finished checklist entry, update the "
        "work item now. If there was none, just continue: this reminder is no progress.\n\n"
        "Current work item\nId: {}\nObjective: {}\nPlan status: {}",
        rounds, item.id, item.objective, base::enum_name(item.plan_status));
    if (auto plan = plan_lines(item); !plan.empty()) text += "\nPlan:" + plan;
    if (auto todos = todo_lines(item); !todos.empty()) text += "\nTodo:" + todos;
    if (item.blocked_by) text += "\nBlocked by: " + *item.blocked_by;
    if (base::estimate_tokens(text) <= static_cast<std::size_t>(settings.reminder_tokens_max))
        return text;
    const auto chars =
        std::max(kCharsMin, static_cast<std::size_t>(settings.reminder_tokens_max) * 4);
    return base::ellipsize(text, chars - std::min(chars / 2, kCutNotice.size())) +
           std::string(kCutNotice);
}

}  // namespace work
