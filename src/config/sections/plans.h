// What an operator sets for plans: commands that plans may name, what they may do unless a run says
// otherwise, and how long runs are kept.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "domain/tool.h"

namespace config {

// A program that plans run by its name. "{name}" in an argument is a parameter of the command.
struct PlanCommand {
    std::vector<std::string> argv;
    std::optional<std::string> description{};
    std::optional<std::int64_t> timeout_ms{};
    friend bool operator==(const PlanCommand&, const PlanCommand&) = default;
};
BOOST_DESCRIBE_STRUCT(PlanCommand, (), (argv, description, timeout_ms))

// Overrides members of the default policy; absent members keep their default.
struct PlanPolicy {
    std::optional<bool> confirmations_required{};
    std::optional<std::string> max_risk_level{};  // As plans write it: read-only, writes, commands.
    std::optional<std::vector<std::string>> allowed_roots{};
    std::optional<std::vector<std::string>> deny_patterns{};
    std::optional<std::int64_t> max_concurrency{};
    std::optional<std::int64_t> max_attempts{};
    std::optional<std::int64_t> max_backoff_ms{};
    std::optional<std::int64_t> step_timeout_ms{};
    std::optional<std::int64_t> run_timeout_ms{};
    std::optional<std::int64_t> max_foreach_items{};
    std::optional<std::int64_t> max_calls{};
    friend bool operator==(const PlanPolicy&, const PlanPolicy&) = default;
};
BOOST_DESCRIBE_STRUCT(PlanPolicy, (),
                      (confirmations_required, max_risk_level, allowed_roots, deny_patterns,
                       max_concurrency, max_attempts, max_backoff_ms, step_timeout_ms,
                       run_timeout_ms, max_foreach_items, max_calls))

struct PlanRetentionSection {
    std::optional<bool> enabled{};
    std::optional<std::int64_t> max_age_days{};
    std::optional<std::int64_t> max_runs{};
    std::optional<std::int64_t> max_bytes{};
};
BOOST_DESCRIBE_STRUCT(PlanRetentionSection, (), (enabled, max_age_days, max_runs, max_bytes))

// `plan` of config.json.
struct PlanSection {
    std::optional<std::map<std::string, PlanCommand>> commands{};
    std::optional<bool> allow_delete{};
    std::optional<PlanPolicy> policy{};
    std::optional<PlanRetentionSection> retention{};
};
BOOST_DESCRIBE_STRUCT(PlanSection, (), (commands, allow_delete, policy, retention))

base::Status check_plan(const PlanSection& section);

// Runs that have ended are kept as long as they are within all three.
struct PlanRetention {
    bool enabled{true};
    std::int64_t max_age_days{90};
    std::int64_t max_runs{1000};
    std::int64_t max_bytes{std::int64_t{1} << 30};  // Of files and journals together.
    friend bool operator==(const PlanRetention&, const PlanRetention&) = default;
};

struct Plans {
    std::map<std::string, PlanCommand> commands{};
    bool allow_delete{false};
    PlanPolicy policy{};
    PlanRetention retention{};
};

// Of a section that was checked.
Plans plans_of(const PlanSection& section);

// `over` with what the operator has set.
domain::PolicySnapshot with(const PlanPolicy& set, domain::PolicySnapshot over);

}  // namespace config
