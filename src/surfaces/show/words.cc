#include "surfaces/show/words.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "base/typed.h"
#include "surfaces/show/times.h"

namespace show {

std::string pointer_text(const json::value& value, std::string_view pointer) {
    boost::system::error_code missing;
    const auto* found =
        value.find_pointer(json::string_view(pointer.data(), pointer.size()), missing);
    if (!found || found->is_null()) return "-";
    return found->is_string() ? base::printable(std::string_view(found->get_string()))
                              : base::json_text(*found);
}

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

std::string failure_text(std::string_view summary) {
    constexpr std::string_view kAtOnce = ": fail_fast (";
    constexpr std::string_view kInTheEnd = ": retries_exhausted after ";
    constexpr std::string_view kStatus = "status=";
    constexpr std::string_view kCause = "): ";
    std::string text;
    while (true) {
        const std::size_t at_once = summary.find(kAtOnce);
        const std::size_t in_the_end = summary.find(kInTheEnd);
        const std::size_t begin = std::min(at_once, in_the_end);
        const std::size_t cause =
            begin == std::string_view::npos ? begin : summary.find(kCause, begin);
        if (cause == std::string_view::npos) return text.append(summary);
        text.append(summary.substr(0, begin));
        if (in_the_end < at_once) {
            const auto how =
                summary.substr(begin + kInTheEnd.size(), cause - begin - kInTheEnd.size());
            text.append(": no answer after ").append(how.substr(0, how.find(' '))).append(" tries");
            if (const auto status = how.find(kStatus); status != std::string_view::npos)
                text.append(" (HTTP ").append(how.substr(status + kStatus.size())).append(")");
        }
        text.append(": ");
        summary.remove_prefix(cause + kCause.size());
    }
}

std::string retry_text(const service::Delta& delta) {
    constexpr std::size_t kReasonChars = 200;
    const std::string model = base::printable(delta.model_ref.value_or(""));
    const std::string next = base::printable(delta.next_model_ref.value_or(""));
    const std::string reason = base::printable(base::ellipsize(delta.text, kReasonChars));
    if (next != model) return fmt::format("{} failed, asking {}: {}", model, next, reason);
    return fmt::format("{} failed (try {} of {}), again in {}: {}", model,
                       delta.attempt.value_or(0), delta.max_attempts.value_or(0),
                       duration_text(delta.wait_ms.value_or(0)), reason);
}

std::string undone_text(const service::Undone& undone) {
    constexpr std::size_t kPathsNamed = 20;
    std::string paths;
    for (std::size_t i = 0; i < std::min(undone.paths.size(), kPathsNamed); ++i)
        paths += (i == 0 ? ": " : ", ") + base::printable(base::to_utf8(undone.paths[i]));
    if (undone.paths.size() > kPathsNamed)
        paths += fmt::format(" and {} more", undone.paths.size() - kPathsNamed);
    return fmt::format("{} {} in {}{}", undone.dry_run ? "Would undo" : "Undid",
                       undone.patches == 1 ? "1 patch" : fmt::format("{} patches", undone.patches),
                       base::printable(undone.root), paths);
}

std::string count_text(std::int64_t number) {
    if (number < 1000) return std::to_string(number);
    if (number < 1'000'000) return fmt::format("{:.1f}k", static_cast<double>(number) / 1000);
    return fmt::format("{:.1f}M", static_cast<double>(number) / 1'000'000);
}

}  // namespace show
