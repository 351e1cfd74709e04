#include "service/local/collector.h"

#include <algorithm>

#include "domain/events/messages.h"
#include "domain/events/tasks.h"
#include "domain/events/turn.h"

namespace service {

namespace {

using namespace domain::events;

void add_to(domain::AttemptTimeline& whole, const domain::AttemptTimeline& part) {
    if (part.attempts.empty()) return;
    whole.requested_model_ref = part.requested_model_ref;
    whole.active_model_ref = part.active_model_ref;
    whole.winning_model_ref = part.winning_model_ref;
    whole.attempts.insert(whole.attempts.end(), part.attempts.begin(), part.attempts.end());
    if (part.aggregated_token_usage)
        whole.aggregated_token_usage = whole.aggregated_token_usage.value_or(domain::TokenUsage{}) +
                                       *part.aggregated_token_usage;
}

}  // namespace

void Collector::add(const domain::Event& event) {
    if (const auto created = read<TaskCreated>(event)) add_task(created->id);
    if (const auto ended = read<TaskResultReceived>(event)) add_task(ended->id);
    if (is<MessageProcessingStarted>(event)) ++totals_.message_count;
    if (const auto error = read<RuntimeError>(event); error && error->provider_attempt_timeline)
        add_to(timeline_, *error->provider_attempt_timeline);
    if (const auto round = read<ProviderRoundCompleted>(event)) {
        add_to(timeline_, round->provider_attempt_timeline);
        ++totals_.model_rounds;
        totals_.token_usage = totals_.token_usage + round->token_usage;
        if (const auto& cache = round->provider_cache_usage) {
            cache_reported_ = true;
            cache_.read_input_tokens += cache->read_input_tokens;
            cache_.creation_input_tokens += cache->creation_input_tokens;
            cache_.cacheable_input_tokens += round->input_tokens;
        }
    }
    if (const auto done = read<ToolExecuted>(event)) add_call(*done);
    if (const auto failed = read<ToolExecutionFailed>(event)) add_call(*failed);
}

void Collector::add_task(const domain::TaskId& id) {
    if (std::ranges::find(tasks_, id.value) == tasks_.end()) tasks_.push_back(id.value);
}

void Collector::add_call(const ToolFinished& call) {
    ++totals_.tool_calls;
    if (call.tool_name == "ExecCommand") ++totals_.exec_command_items;
    if (call.tool_name == "ExecCommandBatch" && call.exec_command_batch_items) {
        const auto count = std::ssize(*call.exec_command_batch_items);
        totals_.exec_command_items += count;
        totals_.batched_exec_command_items += count;
    }
    if (call.tool_name == "ApplyPatch") patch_calls_.push_back(call.tool_call_id.value);
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
