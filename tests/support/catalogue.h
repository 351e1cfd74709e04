// The tools that a turn is offered. The catalogue test calls each of them, the strict schemas are
// made of each, and an end-to-end test shows that the program offers exactly these.
#pragma once

#include <array>
#include <string_view>

namespace test_support {

inline constexpr std::array<std::string_view, 7> kWorkTools{
    "CompleteWorkItem", "CreateWorkItem", "GetWorkItem",   "ListWorkItems",
    "NotifyOperator",   "PickWorkItem",   "UpdateWorkItem"};

inline constexpr std::array<std::string_view, 2> kMemoryTools{"MemoryGet", "MemorySearch"};

inline constexpr std::array<std::string_view, 25> kOfferedTools{
    "AgentGet",     "ApplyPatch",       "CompleteWorkItem", "CreateWorkItem", "Enqueue",
    "ExecCommand",  "ExecCommandBatch", "GetWorkItem",      "ListWorkItems",  "MemoryGet",
    "MemorySearch", "NotifyOperator",   "PickWorkItem",     "RunPlan",        "Sleep",
    "SpawnAgent",   "TaskInput",        "TaskList",         "TaskOutput",     "TaskStatus",
    "TaskStop",     "UpdateWorkItem",   "UseWorkspace",     "WebFetch",       "WebSearch"};

}  // namespace test_support
