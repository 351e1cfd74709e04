// A conversation written down beforehand: what the model says, round by round.
//
//     {"rounds": [
//         {"text": "Let me look.", "tool_calls": [{"name": "ExecCommand", "input": {"cmd":
//         "ls"}}]},
//         {"text": "Done.", "fault": {"kind": "rate_limited", "status": 429, "message": "slow"},
//          "expect": {"last_result_contains": "README"}}]}
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/typed.h"
#include "provider/provider.h"

namespace provider {

inline constexpr std::size_t kScenarioBytesMax = 16 * 1024 * 1024;
inline constexpr std::int64_t kScenarioDelayMsMax = 60 * 60 * 1000;

struct ScriptedCall {
    std::string name;
    // The text "$work_item" in it becomes the id of a work item: the first that the last results
    // name, else the first that the last block of the prompt names. "$task" becomes the first id of
    // a task in that block.
    json::value input = json::object();
    std::optional<std::string> id{};  // Made up from round and place when absent.
    friend bool operator==(const ScriptedCall&, const ScriptedCall&) = default;
};
BOOST_DESCRIBE_STRUCT(ScriptedCall, (), (name, input, id))
constexpr auto describe_fields(const ScriptedCall*) {
    return std::to_array<base::FieldDoc>({{.field = "input", .has_default = true}});
}

struct ScriptedUsage {
    std::int64_t input_tokens{0};
    std::int64_t output_tokens{0};
    friend bool operator==(const ScriptedUsage&, const ScriptedUsage&) = default;
};
BOOST_DESCRIBE_STRUCT(ScriptedUsage, (), (input_tokens, output_tokens))

// Given instead of the round's answer for its first `times` asks, counted by one ScriptedProvider.
struct ScriptedFault {
    FailureKind kind{FailureKind::Unknown};
    std::string message;
    std::optional<std::int64_t> status{};
    std::optional<std::int64_t> retry_after_ms{};
    std::optional<ScriptedUsage> usage{};
    std::int64_t times{1};
    friend bool operator==(const ScriptedFault&, const ScriptedFault&) = default;
};
BOOST_DESCRIBE_STRUCT(ScriptedFault, (), (kind, message, status, retry_after_ms, usage, times))
constexpr auto describe_fields(const ScriptedFault*) {
    return std::to_array<base::FieldDoc>({{.field = "times", .has_default = true}});
}

// What must have come in before the round is played; else the ask fails and says so.
struct Expectation {
    std::string last_result_contains;  // Part of some result of the last tool results.
    friend bool operator==(const Expectation&, const Expectation&) = default;
};
BOOST_DESCRIBE_STRUCT(Expectation, (), (last_result_contains))

struct Round {
    std::string text;
    std::vector<ScriptedCall> tool_calls{};
    std::optional<std::string> stop_reason{};  // tool_use or end_turn when absent.
    std::optional<ScriptedUsage> usage{};
    std::optional<domain::CacheUsage> cache_usage{};
    std::int64_t delay_ms{0};
    std::optional<ScriptedFault> fault{};
    std::optional<Expectation> expect{};
    friend bool operator==(const Round&, const Round&) = default;
};
BOOST_DESCRIBE_STRUCT(Round, (),
                      (text, tool_calls, stop_reason, usage, cache_usage, delay_ms, fault, expect))
constexpr auto describe_fields(const Round*) {
    return std::to_array<base::FieldDoc>({{.field = "text", .has_default = true},
                                          {.field = "tool_calls", .has_default = true},
                                          {.field = "delay_ms", .has_default = true}});
}

// Other rounds for the turns of one agent or message, when several share a scenario.
struct Scene {
    std::string when;  // Part of the last block of the prompt: the current input.
    std::vector<Round> rounds;
    friend bool operator==(const Scene&, const Scene&) = default;
};
BOOST_DESCRIBE_STRUCT(Scene, (), (when, rounds))

struct Scenario {
    std::vector<Round> rounds;
    bool loop{false};  // After the last round comes the first.
    // The first that fits is played instead of `rounds`. It does not loop.
    std::vector<Scene> scenes{};
    friend bool operator==(const Scenario&, const Scenario&) = default;
};
BOOST_DESCRIBE_STRUCT(Scenario, (), (rounds, loop, scenes))
constexpr auto describe_fields(const Scenario*) {
    return std::to_array<base::FieldDoc>(
        {{.field = "loop", .has_default = true}, {.field = "scenes", .has_default = true}});
}

// Unknown members are errors that name the nearest known one; so are empty scenarios and counts or
// delays out of range.
base::Result<Scenario> parse_scenario(std::string_view text);

// The same from a file; its errors name the file. Blocks.
base::Result<Scenario> load_scenario(const std::filesystem::path& path);

}  // namespace provider
