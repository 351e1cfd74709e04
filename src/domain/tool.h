// A tool invocation and its outcome, the same for every caller.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/typed.h"
#include "domain/gate.h"
#include "domain/ids.h"
#include "domain/labels.h"

namespace domain {

// Why a tool call failed, in the one shape that models, people and code read.
struct ToolError {
    std::string kind;     // Stable, for machines: "invalid_tool_input".
    std::string message;  // One sentence, for people and models.
    std::optional<json::value> details{};
    std::optional<std::string> recovery_hint{};
    bool retryable{false};  // Would the same call be likely to succeed if it were made again?
    friend bool operator==(const ToolError&, const ToolError&) = default;
};
BOOST_DESCRIBE_STRUCT(ToolError, (), (kind, message, details, recovery_hint, retryable))

enum class PathKind { File, Folder, Link };
BOOST_DESCRIBE_ENUM(PathKind, File, Folder, Link)

struct CreatedPath {
    std::string path;
    PathKind kind{PathKind::File};
    friend bool operator==(const CreatedPath&, const CreatedPath&) = default;
};
struct ModifiedPath {
    std::string path;
    PathKind kind{PathKind::File};
    std::string before_etag;
    std::string after_etag;
    friend bool operator==(const ModifiedPath&, const ModifiedPath&) = default;
};
struct DeletedPath {
    std::string path;
    PathKind kind{PathKind::File};
    bool trashed{false};
    friend bool operator==(const DeletedPath&, const DeletedPath&) = default;
};
struct RenamedPath {
    std::string from;
    std::string to;
    friend bool operator==(const RenamedPath&, const RenamedPath&) = default;
};

BOOST_DESCRIBE_STRUCT(CreatedPath, (), (path, kind))
BOOST_DESCRIBE_STRUCT(ModifiedPath, (), (path, kind, before_etag, after_etag))
BOOST_DESCRIBE_STRUCT(DeletedPath, (), (path, kind, trashed))
BOOST_DESCRIBE_STRUCT(RenamedPath, (), (from, to))

// The observed changes, never the intended ones. `observed` is false where no comparison was
// possible (a folder too large to compare); then the lists mean nothing.
struct Effects {
    bool observed{true};
    bool side_effects_observed{false};
    std::vector<CreatedPath> created{};
    std::vector<ModifiedPath> modified{};
    std::vector<DeletedPath> deleted{};
    std::vector<RenamedPath> renamed{};
    friend bool operator==(const Effects&, const Effects&) = default;
};
BOOST_DESCRIBE_STRUCT(Effects, (),
                      (observed, side_effects_observed, created, modified, deleted, renamed))

// A file that a call named or changed, and the hash of its content when the call ended.
struct SeenFile {
    std::string path;  // Relative to the root of the call.
    std::string sha256;
    friend bool operator==(const SeenFile&, const SeenFile&) = default;
};
BOOST_DESCRIBE_STRUCT(SeenFile, (), (path, sha256))

// What later work compares with the files, to say whether they are still as the call left them. Not
// shown to models: a command may name a file that it could not read itself.
struct SeenFiles {
    std::string root;  // The execution root, absolute.
    std::vector<SeenFile> files{};
    friend bool operator==(const SeenFiles&, const SeenFiles&) = default;
};
BOOST_DESCRIBE_STRUCT(SeenFiles, (), (root, files))

enum class RiskLevel { ReadOnly, Writes, Commands };
BOOST_DESCRIBE_ENUM(RiskLevel, ReadOnly, Writes, Commands)

// Which entry point a call came through.
enum class CallSource { Turn, PlanStep, Gate, Cli };
BOOST_DESCRIBE_ENUM(CallSource, Turn, PlanStep, Gate, Cli)

// What happens to a consequential call that only untrusted input requested.
enum class ExternalCalls { Allow, Refuse, Ask };
BOOST_DESCRIBE_ENUM(ExternalCalls, Allow, Refuse, Ask)

struct SandboxPolicy {
    bool enabled{false};
    std::vector<std::string> allowed_roots{};
    std::vector<std::string> deny_patterns{};
    friend bool operator==(const SandboxPolicy&, const SandboxPolicy&) = default;
};
struct LimitPolicy {
    std::int64_t max_concurrency{1};
    // Of a plan's run; absent where nothing is limited.
    std::optional<std::int64_t> max_attempts{};
    std::optional<std::int64_t> max_backoff_ms{};
    std::optional<std::int64_t> step_timeout_ms{};
    std::optional<std::int64_t> run_timeout_ms{};
    std::optional<std::int64_t> max_foreach_items{};
    std::optional<std::int64_t> max_calls{};
    friend bool operator==(const LimitPolicy&, const LimitPolicy&) = default;
};
// The policy a call was judged by, as of then.
struct PolicySnapshot {
    bool confirmations_required{false};
    SandboxPolicy sandbox{};
    LimitPolicy limits{};
    std::optional<RiskLevel> max_risk_level{};  // Absent: no level is ruled out.
    friend bool operator==(const PolicySnapshot&, const PolicySnapshot&) = default;
};

BOOST_DESCRIBE_STRUCT(SandboxPolicy, (), (enabled, allowed_roots, deny_patterns))
BOOST_DESCRIBE_STRUCT(LimitPolicy, (),
                      (max_concurrency, max_attempts, max_backoff_ms, step_timeout_ms,
                       run_timeout_ms, max_foreach_items, max_calls))
BOOST_DESCRIBE_STRUCT(PolicySnapshot, (), (confirmations_required, sandbox, limits, max_risk_level))

// The place of a call in a plan step's loop.
struct Iteration {
    std::int64_t index{0};
    std::string item_name;
    json::value item_value;
    friend bool operator==(const Iteration&, const Iteration&) = default;
};
BOOST_DESCRIBE_STRUCT(Iteration, (), (index, item_name, item_value))

struct ToolCall {
    ToolCallId call_id;
    RunId run_id;
    std::string step_id;  // Unique within the run: "round-3.1" in a turn, the step's id in a plan.
    AgentId agent_id;
    CallSource source{CallSource::Turn};
    std::string tool;
    json::value args;  // Fully materialised.
    std::string args_hash;
    std::int64_t attempt{1};
    std::optional<std::int64_t> timeout_ms{};
    std::optional<Time> deadline_at{};
    bool cancellable{true};
    Time created_at{};
    std::string executor_version;
    std::string tool_registry_version;
    std::optional<std::string> preview{};
    RiskLevel risk_level{RiskLevel::ReadOnly};
    std::optional<std::string> category{};
    PolicySnapshot policy{};
    std::optional<std::string> confirmation_id{};
    AuthorityClass authority_class{
        AuthorityClass::OperatorInstruction};  // Of the turn's instructions.
    std::optional<Iteration> iteration{};
    std::optional<std::string> loop_id{};  // Shared by the calls of one loop.
    std::optional<std::string> planner_version{};
    // The same for every attempt at one piece of work, so that a tool can detect a repetition.
    std::optional<std::string> idempotency_key{};
    friend bool operator==(const ToolCall&, const ToolCall&) = default;
};

BOOST_DESCRIBE_STRUCT(ToolCall, (),
                      (call_id, run_id, step_id, agent_id, source, tool, args, args_hash, attempt,
                       timeout_ms, deadline_at, cancellable, created_at, executor_version,
                       tool_registry_version, preview, risk_level, category, policy,
                       confirmation_id, authority_class, iteration, loop_id, planner_version,
                       idempotency_key))

enum class ResultStatus { Ok, Error, Timeout, Cancelled, Skipped };
BOOST_DESCRIBE_ENUM(ResultStatus, Ok, Error, Timeout, Cancelled, Skipped)

// Equal args hash equally, whatever the order of their members.
std::string args_hash(const json::value& args);

struct ResultError {
    std::string code;
    std::string message;
    std::optional<json::value> details{};
    std::optional<bool> retryable{};
    friend bool operator==(const ResultError&, const ResultError&) = default;
};

BOOST_DESCRIBE_STRUCT(ResultError, (), (code, message, details, retryable))

struct ToolResult {
    ToolCallId call_id;
    RunId run_id;
    std::string step_id;
    std::string tool;
    std::int64_t attempt{1};
    ResultStatus status{ResultStatus::Ok};
    bool ok{true};
    std::optional<json::value> data{};
    std::optional<std::string> data_hash{};
    std::optional<ResultError> error{};
    Time started_at{};
    Time ended_at{};
    std::int64_t duration_ms{0};
    Effects effects{};
    std::string user_message;        // Short and safe to show.
    std::string debug_message;       // For logs.
    std::optional<GateMark> gate{};  // Where the result passed the gate.
    friend bool operator==(const ToolResult&, const ToolResult&) = default;
};
BOOST_DESCRIBE_STRUCT(ToolResult, (),
                      (call_id, run_id, step_id, tool, attempt, status, ok, data, data_hash, error,
                       started_at, ended_at, duration_ms, effects, user_message, debug_message,
                       gate))

// Pending: asked for. Started: may have touched the world. Finished: its result is known.
enum class CallState { Pending, Started, Finished };
BOOST_DESCRIBE_ENUM(CallState, Pending, Started, Finished)

// A call with everything that is kept of it: the canonical envelope, and the receipt the model saw.
struct ToolExecution {
    ToolCall call;
    std::string tool_use_id;  // The provider's name for it; empty outside a turn.
    std::int64_t turn_index{0};
    std::int64_t round{0};
    std::int64_t ordinal{0};  // Place within its round, from 0.
    TrustLevel trust{TrustLevel::TrustedOperator};
    CallState state{CallState::Pending};
    std::optional<Time> started_at{};
    std::optional<ToolResult> result{};
    std::optional<json::value> envelope{};
    std::optional<std::string> receipt{};
    std::optional<SeenFiles> seen{};
    friend bool operator==(const ToolExecution&, const ToolExecution&) = default;
};
BOOST_DESCRIBE_STRUCT(ToolExecution, (),
                      (call, tool_use_id, turn_index, round, ordinal, trust, state, started_at,
                       result, envelope, receipt, seen))

}  // namespace domain
