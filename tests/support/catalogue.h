// The tools that a turn is offered. The catalogue test calls each of them, the strict schemas are
// made of each, and an end-to-end test shows that the program offers exactly these.
#pragma once

#include <array>
#include <string_view>

namespace test_support {

inline constexpr std::array<std::string_view, 13> kOfferedTools{
    "AgentGet",   "ApplyPatch", "Enqueue",     "ExecCommand", "ExecCommandBatch",
    "RunPlan",    "Sleep",      "TaskInput",   "TaskList",    "TaskOutput",
    "TaskStatus", "TaskStop",   "UseWorkspace"};

}  // namespace test_support
