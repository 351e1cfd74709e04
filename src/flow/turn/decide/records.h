// The shapes of what a turn writes down: transcript entries and audit events by their wire names.
#pragma once

#include "flow/turn/decide/decide.h"

namespace turn {

inline constexpr std::size_t kTextPreviewChars = 600;

// What the round cost, attempts that failed before the winning one included.
domain::TokenUsage usage_of(const provider::Reply& reply);

struct RoundSummary {
    std::string text;  // All text blocks, joined by a blank line.
    std::int64_t text_blocks{0};
    std::vector<std::string> tool_names{};
};
RoundSummary summarize(const std::vector<domain::Block>& blocks);

domain::TranscriptEntry assistant_entry(const Facts& facts, const ModelReplied& replied);
domain::TranscriptEntry results_entry(const Facts& facts, std::int64_t round,
                                      const std::vector<domain::ToolExecution>& executions);
domain::TranscriptEntry failure_entry(const Facts& facts, std::int64_t round,
                                      const domain::FailureArtifact& artifact,
                                      const provider::Failure* failure);
domain::TranscriptEntry continuation_entry(const Facts& facts, std::int64_t round,
                                           std::string_view text, std::string_view reason);

// What the operator said while the turn ran, as the model receives it.
domain::TranscriptEntry interjection_entry(const Facts& facts, std::int64_t round,
                                           const domain::Message& message);

EventDraft interjection_admitted(const Facts& facts, std::int64_t round, std::string_view boundary,
                                 const domain::Message& message);
EventDraft round_completed(const Facts& facts, const ModelReplied& replied);
EventDraft round_recorded(const Facts& facts, const ModelReplied& replied);
// A command is about to run: what, where, for whom. `spec` is the tool's, null for an unknown one.
EventDraft process_requested(const Facts& facts, const domain::Agent& agent,
                             const domain::ToolExecution& execution, const tools::ToolSpec* spec);
EventDraft tool_event(const Facts& facts, const domain::ToolExecution& execution,
                      const tools::ToolSpec* spec);
// For the audit: what the boundary kept the call from.
EventDraft sandbox_denied(const Facts& facts, const domain::ToolExecution& execution,
                          const sandbox::Denial& denial);
// A mutation that the output limit cut off: `error` is what the model receives.
EventDraft truncated_call(const domain::ToolExecution& execution, std::string_view stop_reason,
                          const domain::ToolError& error);
EventDraft context_length_exceeded(const Facts& facts, std::int64_t round,
                                   const provider::Failure& failure);
EventDraft processing_aborted(const Facts& facts, std::string_view reason);
EventDraft runtime_error(const Facts& facts, std::string_view error,
                         const provider::Failure* failure);

// The failure as an operator is shown it.
domain::FailureArtifact failure_artifact(const provider::Failure& failure,
                                         const std::string& model_ref);

}  // namespace turn
