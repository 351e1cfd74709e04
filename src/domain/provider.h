// A model's answer and the attempts to get it, free of any vendor's wire format.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/typed.h"
#include "domain/ids.h"

namespace domain {

struct TextBlock {
    static constexpr std::string_view kTagKey = "type", kTag = "text";
    std::string text;
    friend bool operator==(const TextBlock&, const TextBlock&) = default;
};
struct ToolUseBlock {
    static constexpr std::string_view kTagKey = "type", kTag = "tool_use";
    std::string id;  // The provider's name for the call; unique within the turn.
    std::string name;
    json::value input;
    friend bool operator==(const ToolUseBlock&, const ToolUseBlock&) = default;
};
struct ThinkingBlock {
    static constexpr std::string_view kTagKey = "type", kTag = "thinking";
    std::string text;
    std::string signature;
    friend bool operator==(const ThinkingBlock&, const ThinkingBlock&) = default;
};
struct RedactedThinkingBlock {
    static constexpr std::string_view kTagKey = "type", kTag = "redacted_thinking";
    std::string data;
    friend bool operator==(const RedactedThinkingBlock&, const RedactedThinkingBlock&) = default;
};
BOOST_DESCRIBE_STRUCT(TextBlock, (), (text))
BOOST_DESCRIBE_STRUCT(ToolUseBlock, (), (id, name, input))
BOOST_DESCRIBE_STRUCT(ThinkingBlock, (), (text, signature))
BOOST_DESCRIBE_STRUCT(RedactedThinkingBlock, (), (data))
using Block = std::variant<TextBlock, ToolUseBlock, ThinkingBlock, RedactedThinkingBlock>;

struct TokenUsage {
    std::int64_t input_tokens{0};
    std::int64_t output_tokens{0};
    std::int64_t total_tokens{0};
    friend bool operator==(const TokenUsage&, const TokenUsage&) = default;
};
BOOST_DESCRIBE_STRUCT(TokenUsage, (), (input_tokens, output_tokens, total_tokens))
TokenUsage operator+(const TokenUsage& a, const TokenUsage& b);

// The parts of a TokenUsage that are priced apart. Read, creation and uncached tokens add up to its
// input tokens on every API; reasoning tokens are among its output tokens.
struct CacheUsage {
    std::int64_t read_input_tokens{0};
    std::int64_t creation_input_tokens{0};
    std::int64_t uncached_input_tokens{0};
    std::int64_t reasoning_output_tokens{0};
    friend bool operator==(const CacheUsage&, const CacheUsage&) = default;
};
BOOST_DESCRIBE_STRUCT(CacheUsage, (),
                      (read_input_tokens, creation_input_tokens, uncached_input_tokens,
                       reasoning_output_tokens))
constexpr auto describe_fields(const CacheUsage*) {
    return std::to_array<base::FieldDoc>(
        {{.field = "uncached_input_tokens", .has_default = true},
         {.field = "reasoning_output_tokens", .has_default = true}});
}

// The wire name `reqwest` is historical; it holds which part of an exchange went wrong.
struct TransportFlags {
    bool is_timeout{false};
    bool is_connect{false};
    bool is_request{false};
    bool is_body{false};
    bool is_decode{false};
    bool is_redirect{false};
    std::optional<std::int64_t> status{};
    friend bool operator==(const TransportFlags&, const TransportFlags&) = default;
};
BOOST_DESCRIBE_STRUCT(TransportFlags, (),
                      (is_timeout, is_connect, is_request, is_body, is_decode, is_redirect, status))

struct TransportDiagnostics {
    std::string stage;  // request_send, response_status, response_body and their streaming_ forms.
    std::optional<std::string> provider{};
    std::optional<std::string> model_ref{};
    std::optional<std::string> url{};  // Without user info, query or fragment.
    std::optional<std::int64_t> status{};
    std::optional<TransportFlags> reqwest{};
    std::optional<std::vector<std::string>> source_chain{};
    friend bool operator==(const TransportDiagnostics&, const TransportDiagnostics&) = default;
};
BOOST_DESCRIBE_STRUCT(TransportDiagnostics, (),
                      (stage, provider, model_ref, url, status, reqwest, source_chain))

enum class AttemptOutcome { Retrying, RetriesExhausted, FailFastAborted, Succeeded };
BOOST_DESCRIBE_ENUM(AttemptOutcome, Retrying, RetriesExhausted, FailFastAborted, Succeeded)

// One request to one provider. Its timing covers the request only; waits are in backoff_ms.
struct ProviderAttempt {
    std::string provider;
    std::string model_ref;
    std::int64_t attempt{1};
    std::int64_t max_attempts{1};
    std::optional<Time> started_at{};
    std::optional<Time> completed_at{};
    std::optional<std::int64_t> duration_ms{};
    std::optional<std::string> failure_kind{};
    std::optional<std::string> disposition{};  // retryable or fail_fast
    AttemptOutcome outcome{AttemptOutcome::Succeeded};
    bool advanced_to_fallback{false};
    std::optional<std::int64_t> backoff_ms{};
    std::optional<TokenUsage> token_usage{};
    std::optional<TransportDiagnostics> transport_diagnostics{};
    friend bool operator==(const ProviderAttempt&, const ProviderAttempt&) = default;
};
BOOST_DESCRIBE_STRUCT(ProviderAttempt, (),
                      (provider, model_ref, attempt, max_attempts, started_at, completed_at,
                       duration_ms, failure_kind, disposition, outcome, advanced_to_fallback,
                       backoff_ms, token_usage, transport_diagnostics))

struct AttemptTimeline {
    std::vector<ProviderAttempt> attempts{};
    std::string requested_model_ref;
    std::optional<std::string> active_model_ref{};
    std::optional<std::string> winning_model_ref{};
    std::optional<TokenUsage> aggregated_token_usage{};
    friend bool operator==(const AttemptTimeline&, const AttemptTimeline&) = default;
};
BOOST_DESCRIBE_STRUCT(AttemptTimeline, (),
                      (attempts, requested_model_ref, active_model_ref, winning_model_ref,
                       aggregated_token_usage))

// Fills in the timing of a timeline's only attempt, where the provider reported none, from the
// round it was made in. Several attempts share a round, so their timing stays unknown.
void fill_timing(AttemptTimeline& timeline, Time started_at, Time completed_at);

enum class FailureCategory { Transport, Protocol, Runtime, Task, Unknown };
BOOST_DESCRIBE_ENUM(FailureCategory, Transport, Protocol, Runtime, Task, Unknown)

// A failure as an operator is shown it, on every surface.
struct FailureArtifact {
    FailureCategory category{FailureCategory::Unknown};
    std::string kind;
    std::string summary;
    std::optional<std::string> provider{};
    std::optional<std::string> model_ref{};
    std::optional<std::int64_t> status{};
    std::optional<TaskId> task_id{};
    std::optional<std::int64_t> exit_status{};
    std::optional<std::vector<std::string>> source_chain{};
    std::optional<std::map<std::string, std::string>> metadata{};
    friend bool operator==(const FailureArtifact&, const FailureArtifact&) = default;
};
BOOST_DESCRIBE_STRUCT(FailureArtifact, (),
                      (category, kind, summary, provider, model_ref, status, task_id, exit_status,
                       source_chain, metadata))

}  // namespace domain
