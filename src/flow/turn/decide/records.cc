#include "flow/turn/decide/records.h"

#include "agent/context/frame.h"
#include "agent/workspace/workspace.h"
#include "base/text.h"
#include "exec/tools/builtin/commands/command_text.h"
#include "provider/classify.h"

namespace turn {
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

json::object place_of(const Facts& facts, std::int64_t round) {
    json::object out{{"agent_id", facts.agent.agent_id.value},
                     {"turn_index", facts.attempt.turn_index},
                     {"run_id", facts.attempt.run_id.value},
                     {"round", round}};
    out["work_item_id"] = facts.message.work_item_id
                              ? json::value(facts.message.work_item_id->value)
                              : json::value(nullptr);
    return out;
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

// What the command tools run, masked, for people who read events.
void add_commands(json::object& data, const domain::ToolCall& call) {
    if (call.tool == "ExecCommand")
        data["exec_command_cmd"] = builtin::command_preview(base::string_at(call.args, "cmd"));
    if (call.tool != "ExecCommandBatch") return;
    const auto* items = base::find(call.args, "items");
    if (!items || !items->is_array()) return;
    json::array list;
    for (const auto& item : items->get_array())
        list.push_back(
            json::object{{"index", list.size()},
                         {"cmd", builtin::command_preview(base::string_at(item, "cmd"))}});
    data["exec_command_batch_items"] = std::move(list);
}

}  // namespace

void add_labels(json::object& data, const domain::Message& message) {
    const json::value whole = base::to_json(message);
    for (const std::string_view field : {"origin", "trust", "authority_class", "priority",
                                         "delivery_surface", "admission_context"})
        if (const auto* value = base::find(whole, field))
            data[json::string_view(field.data(), field.size())] = *value;
}

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

bool is_interjection_entry(const domain::TranscriptEntry& entry) {
    return entry.kind == domain::TranscriptKind::ContinuationPrompt &&
           base::string_at(entry.data, "reason") == kInterjected;
}

EventDraft interjection_admitted(const Facts& facts, std::int64_t round, std::string_view boundary,
                                 const domain::Message& message) {
    json::object data{
        {"agent_id", facts.agent.agent_id.value},
        {"run_id", facts.attempt.run_id.value},
        {"round", round},
        {"boundary", boundary},
        {"message_id", message.id.value},
        {"text_preview", base::ellipsize(domain::readable(message.body), kTextPreviewChars)}};
    add_labels(data, message);
    return {"operator_interjection_admitted", std::move(data)};
}

EventDraft round_completed(const Facts& facts, const ModelReplied& replied) {
    const auto& reply = replied.reply;
    const auto usage = usage_of(reply);
    const auto summary = summarize(reply.blocks);
    json::object data = place_of(facts, replied.round);
    data["stop_reason"] = reply.stop_reason;
    data["context_build_ms"] = replied.timing.context_build_ms;
    data["provider_round_ms"] =
        base::millis_between(replied.timing.started_at, replied.timing.completed_at);
    data["provider_started_at"] = base::to_text(replied.timing.started_at);
    data["provider_completed_at"] = base::to_text(replied.timing.completed_at);
    data["input_tokens"] = usage.input_tokens;
    data["output_tokens"] = usage.output_tokens;
    data["token_usage"] = base::to_json(usage);
    data["tool_call_count"] = summary.tool_names.size();
    data["text_block_count"] = summary.text_blocks;
    data["text_char_count"] = base::char_count(summary.text);
    data["provider_cache_usage"] = cache_usage(reply);
    data["prompt_cache_key"] = replied.cache.prompt_cache_key;
    data["context_fingerprint"] = replied.cache.context_fingerprint;
    data["working_memory_revision"] = replied.cache.working_memory_revision;
    data["compression_epoch"] = replied.cache.compression_epoch;
    data["requested_model"] = facts.attempt.model_ref;
    data["active_model"] = reply.timeline.winning_model_ref.value_or(facts.attempt.model_ref);
    data["fallback_active"] = data["active_model"] != data["requested_model"];
    data["provider_request_diagnostics"] = reply.request_diagnostics;
    data["provider_attempt_timeline"] = base::to_json(reply.timeline);
    return {"provider_round_completed", std::move(data)};
}

EventDraft round_recorded(const Facts& facts, const ModelReplied& replied) {
    const auto summary = summarize(replied.reply.blocks);
    json::object data = place_of(facts, replied.round);
    data["stop_reason"] = replied.reply.stop_reason;
    data["text_preview"] = base::ellipsize(summary.text, kTextPreviewChars);
    data["text_block_count"] = summary.text_blocks;
    data["text_char_count"] = base::char_count(summary.text);
    data["tool_call_count"] = summary.tool_names.size();
    data["tool_names"] = base::to_json(summary.tool_names);
    data["has_text"] = !summary.text.empty();
    data["has_tool_calls"] = !summary.tool_names.empty();
    return {"assistant_round_recorded", std::move(data)};
}

EventDraft process_requested(const Facts& facts, const domain::Agent& agent,
                             const domain::ToolExecution& execution) {
    json::object data = place_of(facts, execution.round);
    data["surface"] = execution.call.tool;
    data["tool_call_id"] = execution.call.call_id.value;
    data["message_id"] = facts.message.id.value;
    data["trust"] = base::enum_name(facts.message.trust);
    data["authority_class"] = base::enum_name(facts.message.authority_class);
    data["instructed_by"] = base::enum_name(execution.call.authority_class);
    add_commands(data, execution.call);
    std::string preview = base::string_at(data, "exec_command_cmd");
    if (preview.empty()) {
        const auto* items = base::find(data, "exec_command_batch_items");
        // What runs is no command of ours when there is none: an outside tool may do as much.
        preview = items && items->is_array() ? fmt::format("{} commands", items->get_array().size())
                                             : execution.call.tool;
    }
    data["cmd_preview"] = preview;
    data["workdir"] = base::string_at(execution.call.args, "workdir");
    if (agent.active_workspace_entry) {
        data["execution_root"] = agent.active_workspace_entry->execution_root;
        data["boundary"] = workspace::boundary(agent.execution, *agent.active_workspace_entry);
    }
    return {"process_execution_requested", std::move(data)};
}

EventDraft tool_event(const Facts& facts, const domain::ToolExecution& execution) {
    json::object data = place_of(facts, execution.round);
    data["tool_call_id"] = execution.call.call_id.value;
    data["tool_name"] = execution.call.tool;
    add_commands(data, execution.call);
    const auto& result = *execution.result;
    data["status"] = base::enum_name(result.status);
    data["duration_ms"] = result.duration_ms;
    data["summary"] = result.user_message;
    const auto* error = execution.envelope ? base::find(*execution.envelope, "error") : nullptr;
    if (!error || error->is_null()) {
        data["error"] = nullptr;
        if (result.data)
            if (const auto* status = base::find(*result.data, "exit_status"))
                data["exit_status"] = *status;
        return {"tool_executed", std::move(data)};
    }
    data["error"] = base::pretty_json(*error);
    data["error_kind"] = base::string_at(*error, "kind");
    data["tool_error"] = *error;
    return {"tool_execution_failed", std::move(data)};
}

EventDraft sandbox_denied(const Facts& facts, const domain::ToolExecution& execution,
                          const sandbox::Denial& denial) {
    json::object data = place_of(facts, execution.round);
    data["tool"] = execution.call.tool;
    data["tool_call_id"] = execution.call.call_id.value;
    for (const auto& [name, value] : base::to_json(denial).as_object()) data[name] = value;
    return {"sandbox_denied", std::move(data)};
}

EventDraft truncated_call(const domain::ToolExecution& execution, std::string_view stop_reason,
                          const domain::ToolError& error) {
    return {"truncated_mutation_tool_call_rejected",
            {{"tool_call_id", execution.call.call_id.value},
             {"tool_name", execution.call.tool},
             {"stop_reason", stop_reason},
             {"round", execution.round},
             {"error_kind", error.kind},
             {"tool_error", base::to_json(error)}}};
}

EventDraft context_length_exceeded(const Facts& facts, std::int64_t round,
                                   const provider::Failure& failure) {
    json::object data{
        {"agent_id", facts.agent.agent_id.value}, {"round", round}, {"error", failure.message}};
    add_failure(data, &failure);
    return {"turn_context_length_exceeded", std::move(data)};
}

EventDraft processing_aborted(const Facts& facts, std::string_view reason) {
    json::object data{{"message_id", facts.message.id.value},
                      {"message_kind", base::enum_name(facts.message.kind)},
                      {"run_id", facts.attempt.run_id.value},
                      {"reason", reason}};
    add_labels(data, facts.message);
    return {"message_processing_aborted", std::move(data)};
}

EventDraft runtime_error(const Facts& facts, std::string_view error,
                         const provider::Failure* failure) {
    json::object data{{"message_id", facts.message.id.value},
                      {"message_kind", base::enum_name(facts.message.kind)},
                      {"run_id", facts.attempt.run_id.value},
                      {"turn_index", facts.attempt.turn_index},
                      {"error", error}};
    add_labels(data, facts.message);
    add_failure(data, failure);
    return {"runtime_error", std::move(data)};
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
