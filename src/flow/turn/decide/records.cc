#include "flow/turn/decide/records.h"

#include "agent/context/frame.h"
#include "agent/workspace/workspace.h"
#include "base/text.h"
#include "domain/events/messages.h"
#include "domain/events/tools.h"
#include "domain/events/turn.h"
#include "exec/tools/builtin/commands/command_text.h"
#include "provider/classify.h"

namespace turn {

using namespace domain::events;

namespace {

constexpr std::string_view kInterjected = "operator_interjection";
constexpr std::string_view kInterjectionHeader =
    "Your operator says this while you work. Take it into account from here on.";

domain::TranscriptEntry entry(const Facts& facts, domain::TranscriptKind kind, std::int64_t round) {
    return {.agent_id = facts.agent.agent_id,
            .run_id = facts.attempt.run_id,
            .kind = kind,
            .round = round,
            .related_message_id = facts.message.id};
}

json::value work_item_of(const Facts& facts) {
    const auto& item = facts.attempt.work_item_id;
    return item ? json::value(item->value) : json::value(nullptr);
}

// Fills in where in the turn `payload` belongs.
template <class P>
P placed(P payload, const Facts& facts, std::int64_t round) {
    payload.agent_id = facts.agent.agent_id;
    payload.turn_index = facts.attempt.turn_index;
    payload.run_id = facts.attempt.run_id;
    payload.round = round;
    payload.work_item_id = facts.attempt.work_item_id;
    return payload;
}

template <class P>
P with_failure(P payload, const provider::Failure* failure) {
    if (!failure) return payload;
    payload.provider_attempt_timeline = failure->timeline;
    payload.token_usage = failure->timeline.aggregated_token_usage;
    return payload;
}

void add_labels(json::object& data, const domain::Message& message) {
    const json::value whole = base::to_json(message);
    for (const std::string_view field : {"origin", "trust", "authority_class", "priority",
                                         "delivery_surface", "admission_context"})
        if (const auto* value = base::find(whole, field))
            data[json::string_view(field.data(), field.size())] = *value;
}

void add_failure(json::object& data, const provider::Failure* failure) {
    if (!failure) return;
    data["provider_attempt_timeline"] = base::to_json(failure->timeline);
    if (failure->timeline.aggregated_token_usage)
        data["token_usage"] = base::to_json(*failure->timeline.aggregated_token_usage);
}

json::value cache_usage(const provider::Reply& reply) {
    return reply.cache_usage ? base::to_json(*reply.cache_usage) : json::value(nullptr);
}

// The command lines of a call, masked, for people who read events.
template <class P>
P with_commands(P payload, const domain::ToolCall& call, const tools::ToolSpec* spec) {
    const auto lines = spec ? spec->command_lines : tools::CommandLines::None;
    if (lines == tools::CommandLines::One)
        payload.exec_command_cmd = builtin::command_preview(base::string_at(call.args, "cmd"));
    if (lines != tools::CommandLines::Batch) return payload;
    const auto* items = base::find(call.args, "items");
    if (!items || !items->is_array()) return payload;
    auto& list = payload.exec_command_batch_items.emplace();
    for (const auto& item : items->get_array())
        list.push_back({.index = std::ssize(list),
                        .cmd = builtin::command_preview(base::string_at(item, "cmd"))});
    return payload;
}

}  // namespace

domain::TokenUsage usage_of(const provider::Reply& reply) {
    if (reply.timeline.aggregated_token_usage) return *reply.timeline.aggregated_token_usage;
    return reply.usage.value_or(domain::TokenUsage{});
}

RoundSummary summarize(const std::vector<domain::Block>& blocks) {
    RoundSummary summary;
    for (const auto& block : blocks) {
        if (const auto* text = std::get_if<domain::TextBlock>(&block)) {
            if (!summary.text.empty()) summary.text += "\n\n";
            summary.text += text->text;
            ++summary.text_blocks;
        } else if (const auto* use = std::get_if<domain::ToolUseBlock>(&block)) {
            summary.tool_names.push_back(use->name);
        }
    }
    return summary;
}

domain::TranscriptEntry assistant_entry(const Facts& facts, const ModelReplied& replied) {
    auto out = entry(facts, domain::TranscriptKind::AssistantRound, replied.round);
    const auto usage = usage_of(replied.reply);
    out.stop_reason = replied.reply.stop_reason;
    out.input_tokens = usage.input_tokens;
    out.output_tokens = usage.output_tokens;
    out.data =
        json::object{{"blocks", base::to_json(replied.reply.blocks)},
                     {"work_item_id", work_item_of(facts)},
                     {"token_usage", base::to_json(usage)},
                     {"provider_cache_usage", cache_usage(replied.reply)},
                     {"prompt_cache_key", replied.cache.prompt_cache_key},
                     {"context_fingerprint", replied.cache.context_fingerprint},
                     {"working_memory_revision", replied.cache.working_memory_revision},
                     {"compression_epoch", replied.cache.compression_epoch},
                     {"requested_model", facts.attempt.model_ref},
                     {"active_model",
                      replied.reply.timeline.winning_model_ref.value_or(facts.attempt.model_ref)},
                     {"fallback_active", replied.reply.timeline.winning_model_ref.value_or(
                                             facts.attempt.model_ref) != facts.attempt.model_ref},
                     {"provider_request_diagnostics", replied.reply.request_diagnostics},
                     {"provider_attempt_timeline", base::to_json(replied.reply.timeline)}};
    return out;
}

namespace {

// The images that a model may be shown. The gate reads no images: where a result enters only as a
// document that it accepted, none is shown.
const json::value* shown_media(const domain::ToolExecution& execution) {
    const bool is_enforced = execution.result && execution.result->gate &&
                             execution.result->gate->policy == domain::GatePolicy::Enforce;
    return execution.envelope && !is_enforced ? results::media_of(*execution.envelope) : nullptr;
}

}  // namespace

domain::TranscriptEntry results_entry(const Facts& facts, std::int64_t round,
                                      const std::vector<domain::ToolExecution>& executions) {
    auto out = entry(facts, domain::TranscriptKind::ToolResults, round);
    json::array list;
    for (const auto& execution : executions) {
        const bool failed =
            !execution.envelope || base::string_at(*execution.envelope, "status") == "error";
        json::object result{{"tool_use_id", execution.tool_use_id},
                            {"content", execution.receipt.value_or("")},
                            {"is_error", failed}};
        if (const auto* media = shown_media(execution)) result["media"] = *media;
        if (failed && execution.envelope)
            if (const auto* error = base::find(*execution.envelope, "error"))
                result["error"] = *error;
        list.push_back(std::move(result));
    }
    out.data = json::object{{"results", std::move(list)}};
    return out;
}

domain::TranscriptEntry failure_entry(const Facts& facts, std::int64_t round,
                                      const domain::FailureArtifact& artifact,
                                      const provider::Failure* failure) {
    auto out = entry(facts, domain::TranscriptKind::RuntimeFailure, round);
    json::object data{{"kind", base::enum_name(facts.message.kind)},
                      {"text", artifact.summary},
                      {"error", artifact.summary},
                      {"failure_artifact", base::to_json(artifact)}};
    add_labels(data, facts.message);
    add_failure(data, failure);
    out.data = std::move(data);
    return out;
}

domain::TranscriptEntry continuation_entry(const Facts& facts, std::int64_t round,
                                           std::string_view text, std::string_view reason) {
    auto out = entry(facts, domain::TranscriptKind::ContinuationPrompt, round);
    out.data = json::object{{"text", text}, {"reason", reason}};
    return out;
}

domain::TranscriptEntry interjection_entry(const Facts& facts, std::int64_t round,
                                           const domain::Message& message) {
    json::object data{
        {"text", fmt::format("{}\n{}\n\n{}", kInterjectionHeader, context::message_labels(message),
                             domain::readable(message.body))},
        {"reason", kInterjected},
        {"message_id", message.id.value},
        {"kind", base::enum_name(message.kind)}};
    add_labels(data, message);
    auto out = entry(facts, domain::TranscriptKind::ContinuationPrompt, round);
    out.data = std::move(data);
    return out;
}

EventDraft interjection_admitted(const Facts& facts, std::int64_t round, std::string_view boundary,
                                 const domain::Message& message) {
    return labelled(
        OperatorInterjectionAdmitted{
            .agent_id = facts.agent.agent_id,
            .run_id = facts.attempt.run_id,
            .round = round,
            .boundary = std::string(boundary),
            .message_id = message.id,
            .text_preview = base::ellipsize(domain::readable(message.body), kTextPreviewChars)},
        message);
}

EventDraft round_completed(const Facts& facts, const ModelReplied& replied) {
    const auto& reply = replied.reply;
    const auto usage = usage_of(reply);
    const auto summary = summarize(reply.blocks);
    const auto active = reply.timeline.winning_model_ref.value_or(facts.attempt.model_ref);
    return placed(
        ProviderRoundCompleted{
            .stop_reason = reply.stop_reason,
            .context_build_ms = replied.timing.context_build_ms,
            .provider_round_ms =
                base::millis_between(replied.timing.started_at, replied.timing.completed_at),
            .provider_started_at = replied.timing.started_at,
            .provider_completed_at = replied.timing.completed_at,
            .input_tokens = usage.input_tokens,
            .output_tokens = usage.output_tokens,
            .token_usage = usage,
            .tool_call_count = std::ssize(summary.tool_names),
            .text_block_count = summary.text_blocks,
            .text_char_count = static_cast<std::int64_t>(base::char_count(summary.text)),
            .provider_cache_usage = reply.cache_usage,
            .prompt_cache_key = replied.cache.prompt_cache_key,
            .context_fingerprint = replied.cache.context_fingerprint,
            .working_memory_revision = replied.cache.working_memory_revision,
            .compression_epoch = replied.cache.compression_epoch,
            .requested_model = facts.attempt.model_ref,
            .active_model = active,
            .fallback_active = active != facts.attempt.model_ref,
            .provider_request_diagnostics = reply.request_diagnostics,
            .provider_attempt_timeline = reply.timeline,
            .cost_usd = reply.cost_usd},
        facts, replied.round);
}

EventDraft round_recorded(const Facts& facts, const ModelReplied& replied) {
    const auto summary = summarize(replied.reply.blocks);
    return placed(
        AssistantRoundRecorded{
            .stop_reason = replied.reply.stop_reason,
            .text_preview = base::ellipsize(summary.text, kTextPreviewChars),
            .text_block_count = summary.text_blocks,
            .text_char_count = static_cast<std::int64_t>(base::char_count(summary.text)),
            .tool_call_count = std::ssize(summary.tool_names),
            .tool_names = summary.tool_names,
            .has_text = !summary.text.empty(),
            .has_tool_calls = !summary.tool_names.empty()},
        facts, replied.round);
}

EventDraft process_requested(const Facts& facts, const domain::Agent& agent,
                             const domain::ToolExecution& execution, const tools::ToolSpec* spec) {
    auto requested = with_commands(
        placed(
            ProcessExecutionRequested{.surface = execution.call.tool,
                                      .tool_call_id = execution.call.call_id,
                                      .message_id = facts.message.id,
                                      .trust = facts.message.trust,
                                      .authority_class = facts.message.authority_class,
                                      .instructed_by = execution.call.authority_class,
                                      .workdir = base::string_at(execution.call.args, "workdir")},
            facts, execution.round),
        execution.call, spec);
    requested.cmd_preview = requested.exec_command_cmd.value_or("");
    // A tool without a command line of ours may do as much as a command.
    if (requested.cmd_preview.empty())
        requested.cmd_preview =
            requested.exec_command_batch_items
                ? fmt::format("{} commands", requested.exec_command_batch_items->size())
                : execution.call.tool;
    if (agent.active_workspace_entry) {
        requested.execution_root = agent.active_workspace_entry->execution_root;
        requested.boundary = workspace::boundary(agent.execution, *agent.active_workspace_entry);
    }
    return requested;
}

EventDraft tool_event(const Facts& facts, const domain::ToolExecution& execution,
                      const tools::ToolSpec* spec) {
    const auto& result = *execution.result;
    auto finished =
        with_commands(placed(domain::events::ToolFinished{.tool_call_id = execution.call.call_id,
                                                          .tool_name = execution.call.tool,
                                                          .status = result.status,
                                                          .duration_ms = result.duration_ms,
                                                          .summary = result.user_message},
                             facts, execution.round),
                      execution.call, spec);
    const auto* error = execution.envelope ? base::find(*execution.envelope, "error") : nullptr;
    if (!error || error->is_null()) {
        ToolExecuted executed{std::move(finished)};
        if (result.data)
            if (const auto* status = base::find(*result.data, "exit_status"))
                executed.exit_status = *status;
        return executed;
    }
    finished.error = base::pretty_json(*error);
    return ToolExecutionFailed{std::move(finished), base::string_at(*error, "kind"), *error};
}

EventDraft sandbox_denied(const Facts& facts, const domain::ToolExecution& execution,
                          const sandbox::Denial& denial) {
    return placed(SandboxDenied{.tool = execution.call.tool,
                                .tool_call_id = execution.call.call_id,
                                .rule = std::string(base::enum_name(denial.rule)),
                                .what = denial.what,
                                .count = denial.count},
                  facts, execution.round);
}

EventDraft truncated_call(const domain::ToolExecution& execution, std::string_view stop_reason,
                          const domain::ToolError& error) {
    return TruncatedMutationToolCallRejected{.tool_call_id = execution.call.call_id,
                                             .tool_name = execution.call.tool,
                                             .stop_reason = std::string(stop_reason),
                                             .round = execution.round,
                                             .error_kind = error.kind,
                                             .tool_error = error};
}

EventDraft context_length_exceeded(const Facts& facts, std::int64_t round,
                                   const provider::Failure& failure) {
    return with_failure(
        TurnContextLengthExceeded{
            .agent_id = facts.agent.agent_id, .round = round, .error = failure.message},
        &failure);
}

EventDraft processing_aborted(const Facts& facts, std::string_view reason) {
    return labelled(MessageProcessingAborted{.message_id = facts.message.id,
                                             .message_kind = facts.message.kind,
                                             .run_id = facts.attempt.run_id,
                                             .reason = std::string(reason)},
                    facts.message);
}

EventDraft runtime_error(const Facts& facts, std::string_view error,
                         const provider::Failure* failure) {
    return with_failure(labelled(RuntimeError{.message_id = facts.message.id,
                                              .message_kind = facts.message.kind,
                                              .run_id = facts.attempt.run_id,
                                              .turn_index = facts.attempt.turn_index,
                                              .error = std::string(error)},
                                 facts.message),
                        failure);
}

domain::FailureArtifact failure_artifact(const provider::Failure& failure,
                                         const std::string& model_ref) {
    domain::FailureArtifact artifact{.category = provider::category(failure.kind),
                                     .kind = std::string(base::enum_name(failure.kind)),
                                     .summary = failure.message,
                                     .provider = model_ref.substr(0, model_ref.find('/')),
                                     .model_ref = model_ref,
                                     .status = failure.status};
    if (failure.diagnostics && failure.diagnostics->source_chain)
        artifact.source_chain = failure.diagnostics->source_chain;
    return artifact;
}

}  // namespace turn
