#include "exec/tools/policy/policy.h"

#include <fnmatch.h>

#include <algorithm>

#include "base/text.h"

namespace tools {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPathArgs[] = {"path", "paths", "from", "to",      "folder",  "dir",
                                          "root", "file",  "cwd",  "workdir", "oldPath", "newPath"};
constexpr std::string_view kCommandArgs[] = {"cmd", "command"};

domain::ToolError denied(const domain::ToolCall& call, std::string message, std::string hint) {
    return {.kind = "policy_denied",
            .message = std::move(message),
            .details = json::object{{"tool_name", call.tool}},
            .recovery_hint = std::move(hint)};
}

bool is_denied(const std::string& text, const std::string& pattern) {
    if (pattern.find_first_of("*?") != std::string::npos)
        return fnmatch(pattern.c_str(), text.c_str(), 0) == 0;
    return !pattern.empty() && text.find(pattern) != std::string::npos;
}

// Links resolved where there is something to resolve.
fs::path resolved(const fs::path& path, const fs::path& root) {
    std::error_code failed;
    const fs::path absolute = (root / path).lexically_normal();
    auto real = fs::weakly_canonical(absolute, failed);
    return failed ? absolute : real;
}

bool is_below(const fs::path& path, const fs::path& root) {
    const auto rest = path.lexically_relative(root);
    return !rest.empty() && *rest.begin() != "..";
}

class Judge {
public:
    Judge(const domain::ToolCall& call, const fs::path& root) : call_(call), root_(root) {}

    std::optional<domain::ToolError> judge() const {
        const auto* args = call_.args.if_object();
        if (!args) return std::nullopt;
        for (const auto& member : *args) {
            const std::string_view name = member.key();
            const bool is_path = std::ranges::find(kPathArgs, name) != std::end(kPathArgs);
            const bool is_command = std::ranges::find(kCommandArgs, name) != std::end(kCommandArgs);
            if (!is_path && !is_command) continue;
            if (auto error = judge_value(member.value(), is_path)) return error;
        }
        return std::nullopt;
    }

private:
    std::optional<domain::ToolError> judge_value(const json::value& value, bool is_path) const {
        if (const auto* list = value.if_array()) {
            for (const auto& item : *list)
                if (auto error = judge_value(item, is_path)) return error;
        }
        if (!value.is_string()) return std::nullopt;
        const std::string text(std::string_view(value.get_string()));
        const std::string shown = base::printable(base::to_utf8(text));
        for (const auto& pattern : call_.policy.sandbox.deny_patterns)
            if (is_denied(text, pattern))
                return denied(call_,
                              fmt::format("'{}' matches the denied pattern '{}'.", shown, pattern),
                              "Do without it, or have the policy changed.");
        if (!is_path) return std::nullopt;
        const fs::path path = resolved(text, root_);
        // Resolved for a path only: many calls of a plan have none.
        const bool inside = std::ranges::any_of(
            call_.policy.sandbox.allowed_roots,
            [&](const auto& allowed) { return is_below(path, resolved(allowed, root_)); });
        if (inside) return std::nullopt;
        return denied(
            call_, fmt::format("'{}' lies outside the allowed roots.", shown),
            fmt::format("Stay below {}.", fmt::join(call_.policy.sandbox.allowed_roots, ", ")));
    }

    const domain::ToolCall& call_;
    const fs::path& root_;
};

}  // namespace

std::optional<domain::ToolError> policy_refusal(const domain::ToolCall& call,
                                                const fs::path& root) {
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
    return Judge(call, root).judge();
}

}  // namespace tools
