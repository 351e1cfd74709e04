// Events of one turn attempt, from its opening to its terminal record.
#pragma once

#include "domain/events/payload.h"
#include "domain/turn.h"

namespace domain::events {

struct TurnStarted {
    static constexpr std::string_view kKind = "turn_started";
    AgentId agent_id;
    MessageId message_id;
    RunId run_id;
    std::int64_t turn_index{0};
    MessageKind message_kind{MessageKind::OperatorPrompt};
    std::optional<Origin> origin{};  // The labels of its message; older events have none.
    std::optional<TrustLevel> trust{};
    std::optional<AuthorityClass> authority_class{};
    std::optional<Priority> priority{};
    std::optional<DeliverySurface> delivery_surface{};
    std::optional<AdmissionContext> admission_context{};
};
BOOST_DESCRIBE_STRUCT(TurnStarted, (),
                      (agent_id, message_id, run_id, turn_index, message_kind, origin, trust,
                       authority_class, priority, delivery_surface, admission_context))

struct TurnContextBuilt {
    static constexpr std::string_view kKind = "turn_context_built";
    AgentId agent_id;
    MessageId message_id;
    RunId run_id;
    std::int64_t turn_index{0};
    std::int64_t duration_ms{0};
    std::int64_t context_section_count{0};
    std::int64_t rendered_context_chars{0};
    std::int64_t rendered_system_chars{0};
    // Of the turn's own sections: those that were cut or left out, because not all fit.
    std::optional<std::vector<std::string>> shortened_sections{};
    std::optional<std::vector<std::string>> left_out_sections{};
};
BOOST_DESCRIBE_STRUCT(TurnContextBuilt, (),
                      (agent_id, message_id, run_id, turn_index, duration_ms, context_section_count,
                       rendered_context_chars, rendered_system_chars, shortened_sections,
                       left_out_sections))

// A new process resumed an attempt that an earlier one left open.
struct AttemptResumed {
    static constexpr std::string_view kKind = "attempt_resumed";
    AgentId agent_id;
    RunId run_id;
    MessageId message_id;
    std::int64_t round{0};
    std::int64_t restarts{0};
};
BOOST_DESCRIBE_STRUCT(AttemptResumed, (), (agent_id, run_id, message_id, round, restarts))

// The turn waits: the provider is down, or its limit resets later.
struct TurnParked {
    static constexpr std::string_view kKind = "turn_parked";
    AgentId agent_id;
    RunId run_id;
    MessageId message_id;
    std::int64_t round{0};
    Time until{};
    std::string reason;
    AttemptTimeline provider_attempt_timeline{};
};
BOOST_DESCRIBE_STRUCT(TurnParked, (),
                      (agent_id, run_id, message_id, round, until, reason,
                       provider_attempt_timeline))

struct TurnWaitOver {
    static constexpr std::string_view kKind = "turn_wait_over";
    AgentId agent_id;
    RunId run_id;
    std::int64_t round{0};
};
BOOST_DESCRIBE_STRUCT(TurnWaitOver, (), (agent_id, run_id, round))

struct MaxOutputTokensRecovery {
    static constexpr std::string_view kKind = "max_output_tokens_recovery";
    AgentId agent_id;
    std::int64_t attempt{0};
};
BOOST_DESCRIBE_STRUCT(MaxOutputTokensRecovery, (), (agent_id, attempt))

struct TurnContextLengthExceeded {
    static constexpr std::string_view kKind = "turn_context_length_exceeded";
    AgentId agent_id;
    std::int64_t round{0};
    std::string error;
    std::optional<AttemptTimeline> provider_attempt_timeline{};
    std::optional<TokenUsage> token_usage{};
};
BOOST_DESCRIBE_STRUCT(TurnContextLengthExceeded, (),
                      (agent_id, round, error, provider_attempt_timeline, token_usage))

// The older part of the conversation was replaced by a digest, or its results by short ones.
struct TurnLocalCompactionApplied {
    static constexpr std::string_view kKind = "turn_local_compaction_applied";
    AgentId agent_id;
    RunId run_id;
    std::int64_t round{0};
    std::int64_t compacted_rounds{0};  // All that the digest covers.
    std::int64_t exact_tail_rounds{0};
    std::int64_t compacted_entries{0};  // Taken out of the prompt by this compaction.
    std::int64_t shortened_results{0};
    std::int64_t covers_through{0};  // The last transcript entry that is covered.
    std::int64_t previous_estimated_tokens{0};
    std::int64_t projected_estimated_tokens{0};
    bool strict_fallback_applied{false};  // Fewer rounds than usual stayed exact.
    std::int64_t compression_epoch{0};
    std::optional<std::string> summary{};  // What became of the model's, where one was asked for.
};
BOOST_DESCRIBE_STRUCT(TurnLocalCompactionApplied, (),
                      (agent_id, run_id, round, compacted_rounds, exact_tail_rounds,
                       compacted_entries, shortened_results, covers_through,
                       previous_estimated_tokens, projected_estimated_tokens,
                       strict_fallback_applied, compression_epoch, summary))

// The operator had the conversation of an agent compacted that was in no turn.
struct OperatorCompactionApplied {
    static constexpr std::string_view kKind = "operator_compaction_applied";
    AgentId agent_id;
    AdmissionContext admission_context{AdmissionContext::LocalProcess};
    std::int64_t compacted_rounds{0};
    std::int64_t compacted_entries{0};
    std::int64_t shortened_results{0};
    std::int64_t covers_through{0};
    std::int64_t previous_estimated_tokens{0};  // Of the conversation alone.
    std::int64_t projected_estimated_tokens{0};
    std::int64_t compression_epoch{0};
};
BOOST_DESCRIBE_STRUCT(OperatorCompactionApplied, (),
                      (agent_id, admission_context, compacted_rounds, compacted_entries,
                       shortened_results, covers_through, previous_estimated_tokens,
                       projected_estimated_tokens, compression_epoch))

// A compaction freed too little and was not applied.
struct TurnLocalCompactionFailed {
    static constexpr std::string_view kKind = "turn_local_compaction_failed";
    AgentId agent_id;
    RunId run_id;
    std::int64_t round{0};
    std::int64_t failures{0};
    std::int64_t previous_estimated_tokens{0};
    std::int64_t projected_estimated_tokens{0};
};
BOOST_DESCRIBE_STRUCT(TurnLocalCompactionFailed, (),
                      (agent_id, run_id, round, failures, previous_estimated_tokens,
                       projected_estimated_tokens))

// A turn failed, or none could be opened: then it has no run_id, and `failures` counts the tries.
struct RuntimeError {
    static constexpr std::string_view kKind = "runtime_error";
    MessageId message_id;
    MessageKind message_kind{MessageKind::OperatorPrompt};
    std::optional<RunId> run_id{};
    std::optional<std::int64_t> turn_index{};
    std::string error;
    std::optional<std::int64_t> failures{};
    Origin origin{};
    TrustLevel trust{TrustLevel::UntrustedExternal};
    AuthorityClass authority_class{AuthorityClass::ExternalEvidence};
    Priority priority{Priority::Normal};
    std::optional<DeliverySurface> delivery_surface{};
    std::optional<AdmissionContext> admission_context{};
    std::optional<AttemptTimeline> provider_attempt_timeline{};
    std::optional<TokenUsage> token_usage{};
};
BOOST_DESCRIBE_STRUCT(RuntimeError, (),
                      (message_id, message_kind, run_id, turn_index, error, failures, origin, trust,
                       authority_class, priority, delivery_surface, admission_context,
                       provider_attempt_timeline, token_usage))

struct TurnTerminal : domain::TurnTerminal {
    static constexpr std::string_view kKind = "turn_terminal";
    RunId run_id;
};
BOOST_DESCRIBE_STRUCT(TurnTerminal, (domain::TurnTerminal), (run_id))

struct ClosureDecided {
    static constexpr std::string_view kKind = "closure_decided";
    AgentId agent_id;
    ClosureDecision closure{};
};
BOOST_DESCRIBE_STRUCT(ClosureDecided, (), (agent_id, closure))

struct ProviderRoundCompleted {
    static constexpr std::string_view kKind = "provider_round_completed";
    AgentId agent_id;
    std::int64_t turn_index{0};
    RunId run_id;
    std::int64_t round{0};
    std::optional<WorkItemId> work_item_id{};
    std::string stop_reason;
    std::int64_t context_build_ms{0};
    std::int64_t provider_round_ms{0};
    Time provider_started_at{};
    Time provider_completed_at{};
    std::int64_t input_tokens{0};
    std::int64_t output_tokens{0};
    TokenUsage token_usage{};
    std::int64_t tool_call_count{0};
    std::int64_t text_block_count{0};
    std::int64_t text_char_count{0};
    std::optional<CacheUsage> provider_cache_usage{};
    std::string prompt_cache_key;
    std::string context_fingerprint;
    std::int64_t working_memory_revision{0};
    std::int64_t compression_epoch{0};
    std::string requested_model;
    std::string active_model;
    bool fallback_active{false};
    json::object provider_request_diagnostics{};
    AttemptTimeline provider_attempt_timeline{};
    std::optional<double> cost_usd{};  // Where `models.catalog` has the prices of the model.
    // Only read: the reference writes these here, too.
    std::optional<std::string> text_preview{};
    std::optional<std::vector<std::string>> tool_names{};
};
BOOST_DESCRIBE_STRUCT(ProviderRoundCompleted, (),
                      (agent_id, turn_index, run_id, round, work_item_id, stop_reason,
                       context_build_ms, provider_round_ms, provider_started_at,
                       provider_completed_at, input_tokens, output_tokens, token_usage,
                       tool_call_count, text_block_count, text_char_count, provider_cache_usage,
                       prompt_cache_key, context_fingerprint, working_memory_revision,
                       compression_epoch, requested_model, active_model, fallback_active,
                       provider_request_diagnostics, provider_attempt_timeline, cost_usd,
                       text_preview, tool_names))
constexpr auto describe_fields(const ProviderRoundCompleted*) {
    return null_when_absent("work_item_id", "provider_cache_usage");
}

struct AssistantRoundRecorded {
    static constexpr std::string_view kKind = "assistant_round_recorded";
    AgentId agent_id;
    std::int64_t turn_index{0};
    RunId run_id;
    std::int64_t round{0};
    std::optional<WorkItemId> work_item_id{};
    std::string stop_reason;
    std::string text_preview;
    std::int64_t text_block_count{0};
    std::int64_t text_char_count{0};
    std::int64_t tool_call_count{0};
    std::vector<std::string> tool_names{};
    bool has_text{false};
    bool has_tool_calls{false};
};
BOOST_DESCRIBE_STRUCT(AssistantRoundRecorded, (),
                      (agent_id, turn_index, run_id, round, work_item_id, stop_reason, text_preview,
                       text_block_count, text_char_count, tool_call_count, tool_names, has_text,
                       has_tool_calls))
constexpr auto describe_fields(const AssistantRoundRecorded*) {
    return null_when_absent("work_item_id");
}

}  // namespace domain::events
