// What operators and agents ask of plans, and the answers they get: plain values that survive a
// trip through JSON. flow/plans makes them, service/ shows them.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/typed.h"
#include "domain/plan.h"

namespace domain {

struct PlanFault {
    std::string path;  // JSON pointer into the plan; "" is the plan itself.
    std::string message;
    std::string hint{};
};
BOOST_DESCRIBE_STRUCT(PlanFault, (), (path, message, hint))

struct PlanCheck {
    bool ok{false};
    std::vector<PlanFault> faults{};
    std::string plan_hash{};
    std::string goal{};
    std::string risk_level{};  // Of the tools, not what the plan claims.
    std::int64_t steps{0};
    std::vector<std::string> params{};
    std::map<std::string, std::string> param_types{};  // Of JSON Schema, where uses show it.
};
BOOST_DESCRIBE_STRUCT(PlanCheck, (),
                      (ok, faults, plan_hash, goal, risk_level, steps, params, param_types))

// What is to be run, and where.
struct PlanRequest {
    std::string text{};  // JSON or YAML; empty when `action` names the plan.
    std::optional<std::string> action{};
    json::object params{};
    std::optional<std::string> vault{};  // The folder it works in; else where the program runs.
    json::object policy{};               // Laid over the default policy; camelCase.
    json::object context{};              // activeFilePath, selection {start, end, text}, cursor.
};
BOOST_DESCRIBE_STRUCT(PlanRequest, (), (text, action, params, vault, policy, context))

// A plan that was refused has faults and no run, and nothing of it was executed or stored.
struct PlanCreated {
    std::vector<PlanFault> faults{};
    std::optional<PlanRun> run{};
    bool needs_approval{false};
};
BOOST_DESCRIBE_STRUCT(PlanCreated, (), (faults, run, needs_approval))

// A plan that a model is to write.
struct PlanMakeRequest {
    std::string goal;
    std::optional<std::string> model{};  // provider/model; else the configured one.
    std::optional<std::string> vault{};
};
BOOST_DESCRIBE_STRUCT(PlanMakeRequest, (), (goal, model, vault))

// What came of it. Without `ok` there is no plan: every try had faults, and these are the last's.
struct PlanMade {
    bool ok{false};
    std::vector<PlanFault> faults{};
    json::value plan{};
    std::string plan_hash{};
    std::string planner_version{};  // Recorded in the calls of every run of exactly this plan.
    std::int64_t tries{0};
    json::object preview{};  // Of that plan, in the wire form.
};
BOOST_DESCRIBE_STRUCT(PlanMade, (), (ok, faults, plan, plan_hash, planner_version, tries, preview))

// The `kind` of the error of what Ctrl-C cut off.
inline constexpr std::string_view kPlanInterrupted = "interrupted";

struct PlanVerdict {
    bool ok{false};
    std::vector<std::string> faults{};  // The first is the first broken link.
    std::int64_t calls{0};
    std::int64_t events{0};
    std::int64_t approved_calls{0};
    std::vector<std::string> unknown_outcomes{};
    // The store of this home has the same record. Otherwise the files agree with each other only:
    // anybody could have written them.
    bool authenticated{false};
};
BOOST_DESCRIBE_STRUCT(PlanVerdict, (),
                      (ok, faults, calls, events, approved_calls, unknown_outcomes, authenticated))

struct PlanReplay {
    bool ok{false};
    std::vector<std::string> divergences{};
    std::int64_t served{0};
    PlanRunStatus status{PlanRunStatus::Succeeded};
};
BOOST_DESCRIBE_STRUCT(PlanReplay, (), (ok, divergences, served, status))

struct PlanReverted {
    std::optional<PlanRun> run{};  // The run that took things back.
    std::vector<std::string> restored{};
    std::vector<std::string> not_restored{};  // With the reason: it changed since.
    std::vector<std::string> no_way_back{};   // Steps that left none.
};
BOOST_DESCRIBE_STRUCT(PlanReverted, (), (run, restored, not_restored, no_way_back))

struct PlanPruned {
    std::vector<std::string> removed{};  // Ids, oldest first; with dry_run, what would be removed.
    std::int64_t bytes{0};
    bool has_more{false};  // There is a bound for one call.
};
BOOST_DESCRIBE_STRUCT(PlanPruned, (), (removed, bytes, has_more))

struct ToolView {
    std::string name;
    std::string description;
    std::string risk_level;
    std::string category;
    bool repeatable{false};
    json::object input_schema;
    json::object output_schema;
};
BOOST_DESCRIBE_STRUCT(ToolView, (),
                      (name, description, risk_level, category, repeatable, input_schema,
                       output_schema))

// What a process has done for plans since it started.
struct PlanTotals {
    std::int64_t runs_open{0};  // Executing now.
    std::int64_t runs_ended{0};
    std::int64_t calls_ended{0};  // Of steps and of items of loops.
};

// How long a cancelled run may take to end before the caller stops waiting: longer than one of its
// calls may take to end.
inline constexpr std::chrono::seconds kPlanCancelWait{20};

}  // namespace domain
