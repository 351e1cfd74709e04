#include "exec/tools/policy/policy.h"

#include <algorithm>

#include "base/text.h"
#include "exec/tools/policy/path_rules.h"

namespace tools {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPathArgs[] = {"path", "paths", "from", "to",      "folder",  "dir",
                                          "root", "file",  "cwd",  "workdir", "oldPath", "newPath"};
constexpr std::string_view kCommandArgs[] = {"cmd", "command"};
constexpr std::string_view kItems = "items";
constexpr std::size_t kShownCharsMax = 200;

domain::ToolError denied(const domain::ToolCall& call, std::string message, std::string hint) {
    return {.kind = "policy_denied",
            .message = std::move(message),
            .details = json::object{{"tool_name", call.tool}},
            .recovery_hint = std::move(hint)};
}

// A path as people may see it: bounded, and without the user and password of a URL. A command line
// is not repeated at all, as anything may be in it.
std::string shown(const std::string& path) {
    std::string text = base::to_utf8(path);
    const auto scheme = text.find("://");
    const auto user = scheme == std::string::npos ? scheme : text.find('@', scheme);
    if (user != std::string::npos) text.replace(scheme + 3, user - scheme - 3, "…");
    return fmt::format("'{}'", base::printable(base::ellipsize(text, kShownCharsMax)));
}

class Judge {
public:
    Judge(const domain::ToolCall& call, const fs::path& root)
        : call_(call), rules_(call.policy.sandbox, root) {}

    std::optional<domain::ToolError> judge(const std::vector<std::string>& more) const {
        for (const auto& path : more)
            if (auto error = judge_value(json::string(path), true)) return error;
        return judge_args(call_.args);
    }

private:
    std::optional<domain::ToolError> judge_args(const json::value& value) const {
        const auto* args = value.if_object();
        if (!args) return std::nullopt;
        for (const auto& member : *args) {
            const std::string_view name = member.key();
            const bool is_path = std::ranges::find(kPathArgs, name) != std::end(kPathArgs);
            const bool is_command = std::ranges::find(kCommandArgs, name) != std::end(kCommandArgs);
            // Calls that stand for several have a list of them.
            if (name == kItems && member.value().is_array())
                for (const auto& item : member.value().get_array())
                    if (auto error = judge_args(item)) return error;
            if (!is_path && !is_command) continue;
            if (auto error = judge_value(member.value(), is_path)) return error;
        }
        return std::nullopt;
    }

    std::optional<domain::ToolError> judge_value(const json::value& value, bool is_path) const {
        if (const auto* list = value.if_array()) {
            for (const auto& item : *list)
                if (auto error = judge_value(item, is_path)) return error;
        }
        if (!value.is_string()) return std::nullopt;
        const std::string text(std::string_view(value.get_string()));
        auto pattern = rules_.denied_by(text);
        if (is_path && !pattern && !rules_.allow_all()) {
            // Also by the name that a link leads to.
            const fs::path path = rules_.resolved(text);
            pattern = rules_.denied_by(path.string());
        }
        if (pattern)
            return denied(call_,
                          fmt::format("{} matches the denied pattern '{}'.",
                                      is_path ? shown(text) : "The command", *pattern),
                          "Do without it, or have the policy changed.");
        if (!is_path || rules_.is_inside(rules_.resolved(text))) return std::nullopt;
        return denied(
            call_, fmt::format("{} lies outside the allowed roots.", shown(text)),
            fmt::format("Stay below {}.", fmt::join(call_.policy.sandbox.allowed_roots, ", ")));
    }

    const domain::ToolCall& call_;
    const PathRules rules_;
};

}  // namespace

std::optional<domain::ToolError> policy_refusal(const domain::ToolCall& call, const fs::path& root,
                                                const std::vector<std::string>& more) {
    const auto& policy = call.policy;
    if (policy.max_risk_level && call.risk_level > *policy.max_risk_level)
        return denied(
            call,
            fmt::format("{} is of risk {}, and the policy allows {} at most.", call.tool,
                        base::enum_name(call.risk_level), base::enum_name(*policy.max_risk_level)),
            "Do without it, or have the policy changed.");
    if (policy.confirmations_required && call.risk_level != domain::RiskLevel::ReadOnly &&
        !call.confirmation_id)
        return denied(call, fmt::format("{} needs an approval, and there is none.", call.tool),
                      "Have the run approved first.");
    if (!policy.sandbox.enabled) return std::nullopt;
    return Judge(call, root).judge(more);
}

}  // namespace tools
