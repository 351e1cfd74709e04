#include "surfaces/cli/view/words.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "base/typed.h"
#include "surfaces/cli/actions/actions.h"

namespace cli {

std::string waiting_text(domain::WaitingReason reason) {
    switch (reason) {
        case domain::WaitingReason::AwaitingOperatorInput:
            return "waiting for your next prompt";
        case domain::WaitingReason::AwaitingExternalChange:
            return "waiting for an external event";
        case domain::WaitingReason::AwaitingTaskResult:
            return "waiting for a background task";
        case domain::WaitingReason::AwaitingTimer:
            return "waiting for a timer";
    }
    return "waiting";
}

std::string status_text(std::string_view status) {
    constexpr auto kWords = std::to_array<std::pair<std::string_view, std::string_view>>(
        {{"booting", "being created"},
         {"awake_idle", "ready"},
         {"awake_running", "working"},
         {"awaiting_task", "waiting for a task"}});
    for (const auto& [name, words] : kWords)
        if (name == status) return std::string(words);
    return base::printable(status);
}

std::string posture_text(std::string_view posture) {
    if (posture == "waiting_for_operator") return "waiting for you";
    std::string words = base::printable(posture);
    std::ranges::replace(words, '_', ' ');
    return words;
}

std::string state_text(const json::value& summary) {
    if (const std::string fault = pointer_text(summary, "/lifecycle/fault/reason"); fault != "-")
        return fmt::format("set aside after a fault: {}; let it try again with: {}", fault,
                           pointer_text(summary, "/lifecycle/fault/recover_cli_hint"));
    const std::string outcome = pointer_text(summary, "/closure/outcome");
    if (outcome == "completed") return "done";
    if (outcome == "continuable") return "has work to continue";
    if (outcome == "failed") return "the last turn failed";
    const auto reason =
        base::enum_from<domain::WaitingReason>(pointer_text(summary, "/closure/waiting_reason"));
    return reason ? waiting_text(*reason) : outcome;
}

}  // namespace cli
