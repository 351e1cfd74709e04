// Bodies and answers of the plan routes, as types; on the wire their names are camelCase.
#pragma once

#include "service/plans.h"

namespace http_surface {

struct ApproveBody {
    std::optional<std::int64_t> lifetime_ms{};  // A day when left out.
};
BOOST_DESCRIBE_STRUCT(ApproveBody, (), (lifetime_ms))

struct ReasonBody {
    std::optional<std::string> reason{};
};
BOOST_DESCRIBE_STRUCT(ReasonBody, (), (reason))

struct NoBody {};
BOOST_DESCRIBE_STRUCT(NoBody, (), ())

// A plan and where it runs: one of `text`, `plan` and `action`.
struct PlanBody {
    std::optional<std::string> text{};  // JSON or YAML.
    std::optional<json::object> plan{};
    std::optional<std::string> action{};
    std::optional<json::object> params{};
    std::optional<std::string> vault{};  // An absolute path.
    std::optional<json::object> policy{};
    std::optional<json::object> context{};
};
BOOST_DESCRIBE_STRUCT(PlanBody, (), (text, plan, action, params, vault, policy, context))

// The same for an action that the path names.
struct ActionRunBody {
    std::optional<json::object> params{};
    std::optional<std::string> vault{};
    std::optional<json::object> policy{};
    std::optional<json::object> context{};
};
BOOST_DESCRIBE_STRUCT(ActionRunBody, (), (params, vault, policy, context))

// What is verified or replayed: a plan run of this runtime, or the folder of any plan run.
struct SubjectBody {
    std::optional<std::string> run{};
    std::optional<std::string> folder{};  // An absolute path.
};
BOOST_DESCRIBE_STRUCT(SubjectBody, (), (run, folder))

struct SaveBody {
    std::string name;
    std::optional<std::string> description{};
    std::optional<std::string> run{};   // Its plan is kept,
    std::optional<std::string> text{};  // or this one.
};
BOOST_DESCRIBE_STRUCT(SaveBody, (), (name, description, run, text))

struct RunShown {
    domain::PlanRun run;
    bool is_carried{false};
};
BOOST_DESCRIBE_STRUCT(RunShown, (), (run, is_carried))

struct RecordPage {
    std::vector<domain::PlanRecord> records;
    bool has_newer{false};
};
BOOST_DESCRIBE_STRUCT(RecordPage, (), (records, has_newer))

struct Removed {
    bool ok{true};
    std::string name;
};
BOOST_DESCRIBE_STRUCT(Removed, (), (ok, name))

}  // namespace http_surface
