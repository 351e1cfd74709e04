// A plan as its author wrote it, in types. The wire form is camelCase; parse.cc translates.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "domain/tool.h"

namespace plan {

inline constexpr std::size_t kPlanBytesMax = std::size_t{8} * 1024 * 1024;
inline constexpr std::size_t kStepsMax = 20'000;
inline constexpr std::int64_t kAttemptsMax = 10;
inline constexpr std::int64_t kBackoffMsMax = 600'000;
inline constexpr std::int64_t kBackoffMsDefault = 250;

// What is wrong with a plan, and where.
struct Fault {
    std::string path;     // JSON pointer; "" is the plan itself.
    std::string message;  // What was expected, and what was found.
    std::string hint{};   // What to do about it, where that is known.
    friend bool operator==(const Fault&, const Fault&) = default;
};

enum class OnError { Stop, Skip, Retry };
BOOST_DESCRIBE_ENUM(OnError, Stop, Skip, Retry)

struct Retry {
    std::int64_t max_attempts{1};  // The first try included.
    std::int64_t backoff_ms{kBackoffMsDefault};
    friend bool operator==(const Retry&, const Retry&) = default;
};

struct Foreach {
    std::string from;  // A reference to an array.
    std::string item_name;
    std::string index_name{"index"};
    std::int64_t concurrency{1};
    friend bool operator==(const Foreach&, const Foreach&) = default;
};

struct Step {
    std::string id;
    std::string tool;
    json::object args;
    std::optional<std::string> preview{};
    std::vector<std::string> depends_on{};
    std::optional<Foreach> foreach{};
    std::optional<std::string> capture_as{};
    std::optional<OnError> on_error{};
    std::optional<Retry> retry{};
    std::optional<std::int64_t> timeout_ms{};
    std::vector<std::string> tags{};
    friend bool operator==(const Step&, const Step&) = default;
};

enum class ContextKind {
    ActiveFilePath,
    Selection,
    Cursor,
    WorkspaceContext,
    CommandList,
    VaultFileList
};
inline constexpr std::string_view kContextKinds[] = {
    "activeFilePath", "selection", "cursor", "workspaceContext", "commandList", "vaultFileList"};

struct ContextRequest {
    ContextKind kind{ContextKind::ActiveFilePath};
    json::object options;
    friend bool operator==(const ContextRequest&, const ContextRequest&) = default;
};

struct Outputs {
    bool show_created_files{true};
    bool show_modified_files{true};
    bool show_command_runs{true};
    friend bool operator==(const Outputs&, const Outputs&) = default;
};

struct Plan {
    std::string version;
    std::string goal;
    std::vector<std::string> assumptions{};
    domain::RiskLevel risk_level{domain::RiskLevel::ReadOnly};
    std::vector<ContextRequest> context_requests{};
    std::optional<OnError> on_error_default{};
    std::optional<Retry> retry_default{};
    std::vector<Step> steps{};
    Outputs outputs{};
    std::optional<std::string> title{};
    std::optional<std::string> summary{};
    friend bool operator==(const Plan&, const Plan&) = default;
};

inline OnError on_error_of(const Plan& plan, const Step& step) {
    return step.on_error.value_or(plan.on_error_default.value_or(OnError::Stop));
}
inline std::optional<Retry> retry_of(const Plan& plan, const Step& step) {
    return step.retry ? step.retry : plan.retry_default;
}

// Letter first, then letters, digits, '_' and '-'.
bool is_step_id(std::string_view text);
// Letter or '_' first, then letters, digits and '_': what a template can name.
bool is_name(std::string_view text);

std::string_view risk_name(domain::RiskLevel risk);  // "read-only"
std::optional<domain::RiskLevel> risk_from(std::string_view name);

}  // namespace plan
