#include "config/sections/plans.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/text.h"

namespace config {
namespace {

using base::ErrorCode;
using base::fail;

constexpr std::size_t kCommandsMax = 256;
constexpr auto kRisks = std::to_array<std::string_view>({"read-only", "writes", "commands"});

bool is_command_name(std::string_view name) {
    return !name.empty() && name.size() <= 64 && std::ranges::all_of(name, [](unsigned char c) {
        return std::isalnum(c) != 0 || c == '-' || c == '_';
    });
}

base::Status check_above_0(const std::optional<std::int64_t>& value, std::string_view place) {
    if (!value || *value > 0) return {};
    return fail(ErrorCode::InvalidInput, "{}: must be above 0, got {}", place, *value);
}

base::Status check_command(const std::string& name, const PlanCommand& command) {
    const std::string place = base::typed::child_pointer("/plan/commands", name);
    if (!is_command_name(name))
        return fail(ErrorCode::InvalidInput,
                    "{}: a command is named with letters, digits, '-' and '_', at most 64", place);
    if (command.argv.empty() || command.argv.front().empty())
        return fail(ErrorCode::InvalidInput,
                    "{}/argv: must name the program, as in [\"make\", \"{{target}}\"]", place);
    if (command.argv.front().contains('{'))
        return fail(ErrorCode::InvalidInput,
                    "{}/argv: the program itself is no parameter; plans may fill in arguments only",
                    place);
    for (const auto& argument : command.argv)
        if (argument.contains('\0'))
            return fail(ErrorCode::InvalidInput, "{}/argv: an argument has a zero byte", place);
    return check_above_0(command.timeout_ms, place + "/timeout_ms");
}

base::Status check_policy(const PlanPolicy& policy) {
    if (policy.max_risk_level && std::ranges::find(kRisks, *policy.max_risk_level) == kRisks.end())
        return fail(ErrorCode::InvalidInput,
                    "/plan/policy/max_risk_level: must be one of {}, got '{}'",
                    fmt::join(kRisks, ", "), base::printable(*policy.max_risk_level));
    if (policy.allowed_roots)
        for (const auto& root : *policy.allowed_roots)
            if (!std::filesystem::path(root).is_absolute())
                return fail(ErrorCode::InvalidInput,
                            "/plan/policy/allowed_roots: must be absolute paths, got '{}'",
                            base::printable(root));
    const std::pair<std::string_view, std::optional<std::int64_t>> limits[] = {
        {"max_concurrency", policy.max_concurrency},
        {"max_attempts", policy.max_attempts},
        {"max_backoff_ms", policy.max_backoff_ms},
        {"step_timeout_ms", policy.step_timeout_ms},
        {"run_timeout_ms", policy.run_timeout_ms},
        {"max_foreach_items", policy.max_foreach_items},
        {"max_calls", policy.max_calls}};
    for (const auto& [name, value] : limits)
        TRY(check_above_0(value, fmt::format("/plan/policy/{}", name)));
    return {};
}

template <class T>
void take(T& target, const auto& set) {
    if (set) target = *set;
}

}  // namespace

base::Status check_plan(const PlanSection& section) {
    if (section.commands) {
        if (section.commands->size() > kCommandsMax)
            return fail(ErrorCode::InvalidInput, "/plan/commands: at most {}", kCommandsMax);
        for (const auto& [name, command] : *section.commands) TRY(check_command(name, command));
    }
    if (section.policy) TRY(check_policy(*section.policy));
    if (!section.retention) return {};
    TRY(check_above_0(section.retention->max_age_days, "/plan/retention/max_age_days"));
    TRY(check_above_0(section.retention->max_runs, "/plan/retention/max_runs"));
    return check_above_0(section.retention->max_bytes, "/plan/retention/max_bytes");
}

Plans plans_of(const PlanSection& section) {
    Plans plans;
    take(plans.commands, section.commands);
    take(plans.allow_delete, section.allow_delete);
    take(plans.policy, section.policy);
    if (!section.retention) return plans;
    take(plans.retention.enabled, section.retention->enabled);
    take(plans.retention.max_age_days, section.retention->max_age_days);
    take(plans.retention.max_runs, section.retention->max_runs);
    take(plans.retention.max_bytes, section.retention->max_bytes);
    return plans;
}

domain::PolicySnapshot with(const PlanPolicy& set, domain::PolicySnapshot over) {
    take(over.confirmations_required, set.confirmations_required);
    if (set.max_risk_level)
        over.max_risk_level = static_cast<domain::RiskLevel>(
            std::ranges::find(kRisks, *set.max_risk_level) - kRisks.begin());
    take(over.sandbox.allowed_roots, set.allowed_roots);
    take(over.sandbox.deny_patterns, set.deny_patterns);
    take(over.limits.max_concurrency, set.max_concurrency);
    take(over.limits.max_attempts, set.max_attempts);
    take(over.limits.max_backoff_ms, set.max_backoff_ms);
    take(over.limits.step_timeout_ms, set.step_timeout_ms);
    take(over.limits.run_timeout_ms, set.run_timeout_ms);
    take(over.limits.max_foreach_items, set.max_foreach_items);
    take(over.limits.max_calls, set.max_calls);
    return over;
}

}  // namespace config
