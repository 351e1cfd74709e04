#include "service/local/collector.h"

#include <algorithm>

namespace service {

void Collector::add(const domain::Event& event) {
    const auto& data = event.data;
    if (const auto* found = base::find(data, "provider_attempt_timeline");
        found && (event.kind == "provider_round_completed" || event.kind == "runtime_error")) {
        if (auto part = base::from_json<domain::AttemptTimeline>(*found)) {
            timeline_.requested_model_ref = part->requested_model_ref;
            timeline_.active_model_ref = part->active_model_ref;
            timeline_.winning_model_ref = part->winning_model_ref;
            timeline_.attempts.insert(timeline_.attempts.end(), part->attempts.begin(),
                                      part->attempts.end());
            if (part->aggregated_token_usage)
                timeline_.aggregated_token_usage =
                    timeline_.aggregated_token_usage.value_or(domain::TokenUsage{}) +
                    *part->aggregated_token_usage;
        }
    }
    if (event.kind == "task_created" || event.kind == "task_result_received")
        if (const auto id = base::string_at(data, "id");
            std::ranges::find(tasks_, id) == tasks_.end())
            tasks_.push_back(id);
    if (event.kind == "message_processing_started") ++totals_.message_count;
    if (event.kind == "provider_round_completed") {
        ++totals_.model_rounds;
        if (const auto* usage = base::find(data, "token_usage"))
            totals_.token_usage =
                totals_.token_usage +
                base::from_json<domain::TokenUsage>(*usage).value_or(domain::TokenUsage{});
        if (const auto* cache = base::find(data, "provider_cache_usage");
            cache && cache->is_object()) {
            cache_reported_ = true;
            cache_.read_input_tokens += base::int_at(*cache, "read_input_tokens");
            cache_.creation_input_tokens += base::int_at(*cache, "creation_input_tokens");
            cache_.cacheable_input_tokens += base::int_at(data, "input_tokens");
        }
    }
    if (event.kind == "tool_executed" || event.kind == "tool_execution_failed") {
        ++totals_.tool_calls;
        const std::string tool = base::string_at(data, "tool_name");
        if (tool == "ExecCommand") ++totals_.exec_command_items;
        if (tool == "ExecCommandBatch")
            if (const auto* items = base::find(data, "exec_command_batch_items");
                items && items->is_array()) {
                const auto count = static_cast<std::int64_t>(items->get_array().size());
                totals_.exec_command_items += count;
                totals_.batched_exec_command_items += count;
            }
        if (tool == "ApplyPatch") patch_calls_.push_back(base::string_at(data, "tool_call_id"));
    }
}

void Collector::fill(RunResponse& response) const {
    response.message_count = totals_.message_count;
    response.model_rounds = totals_.model_rounds;
    response.tool_calls = totals_.tool_calls;
    response.exec_command_items = totals_.exec_command_items;
    response.shell_commands = totals_.exec_command_items;
    response.batched_exec_command_items = totals_.batched_exec_command_items;
    response.token_usage = totals_.token_usage;
    response.input_tokens = totals_.token_usage.input_tokens;
    response.output_tokens = totals_.token_usage.output_tokens;
    if (cache_reported_) {
        response.provider_cache_usage = cache_;
        if (cache_.cacheable_input_tokens > 0)
            response.provider_cache_usage->hit_rate =
                static_cast<double>(cache_.read_input_tokens) /
                static_cast<double>(cache_.cacheable_input_tokens);
    }
    if (!timeline_.attempts.empty()) response.provider_attempt_timeline = timeline_;
}

}  // namespace service
