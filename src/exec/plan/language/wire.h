// Calls, results, events and runs in the form of the plan surface: camelCase JSON. The one place
// that knows it, both ways.
#pragma once

#include "domain/plan.h"
#include "exec/plan/language/model.h"

namespace plan {

enum class EventType {
    RunStarted,
    RunConfirmationRequested,
    RunConfirmed,
    RunCancelled,
    StepScheduled,
    StepStarted,
    StepProgress,
    StepFinished,
    StepFailed,
    RunFinished
};
enum class EventLevel { Info, Warn, Error };

struct RunEvent {
    EventType type{EventType::RunStarted};
    base::Time timestamp{};
    EventLevel level{EventLevel::Info};
    std::string message;
    domain::ToolCallId call_id{};  // Empty where the event is about no call; so with the next two.
    std::string step_id{};
    std::string tool{};
    json::object payload{};
    friend bool operator==(const RunEvent&, const RunEvent&) = default;
};

std::string_view event_name(EventType type);  // "run.started"

json::object call_json(const domain::ToolCall& call);
json::object result_json(const domain::ToolResult& result);
json::object event_json(const domain::RunId& run, const RunEvent& event);
json::object policy_json(const domain::PolicySnapshot& policy);
json::object approval_json(const domain::PlanApproval& approval);
// A run with everything but its plan.
json::object run_json(const domain::PlanRun& run);

base::Result<domain::ToolCall> call_from(const json::value& value);
base::Result<domain::ToolResult> result_from(const json::value& value);
base::Result<RunEvent> event_from(const json::value& value);
base::Result<domain::PlanApproval> approval_from(const json::value& value);
// Strict: a person writes it. What is left out stays as in `over`.
base::Result<domain::PolicySnapshot> policy_from(const json::value& value,
                                                 const domain::PolicySnapshot& over = {});
base::Result<domain::PlanRun> run_from(const json::value& value);

// "planHash" and so on: any record of the store in camelCase.
json::value camel_case(const json::value& value);
json::value snake_case(const json::value& value);

}  // namespace plan
