// Small makers for tests of a turn: facts, replies and results that set only what matters.
#pragma once

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "flow/turn/decide/decide.h"

namespace turn::test {

inline constexpr base::Time kOpened = base::Time(std::chrono::microseconds(1'925'000'000'000'000));
inline constexpr base::Time kNow = kOpened + std::chrono::milliseconds(1500);

inline Facts thinking(std::int64_t round = 1, std::int64_t rounds_max = 10) {
    return {.agent = {.agent_id = {"main"}, .identity = {.agent_id = {"main"}}, .turn_index = 1},
            .statistics = {.agent_id = {"main"}},
            .attempt = {.run_id = {"run"},
                        .agent_id = {"main"},
                        .message_id = {"m"},
                        .turn_index = 1,
                        .state = domain::Thinking{round},
                        .rounds_max = rounds_max,
                        .model_ref = "anthropic/big",
                        .opened_at = kOpened},
            .message = {.id = {"m"},
                        .agent_id = {"main"},
                        .created_at = kOpened,
                        .authority_class = domain::AuthorityClass::OperatorInstruction,
                        .body = domain::TextBody{"do it"},
                        .delivery_surface = domain::DeliverySurface::CliPrompt,
                        .admission_context = domain::AdmissionContext::LocalProcess}};
}

inline domain::Block text(std::string words) {
    return domain::TextBlock{std::move(words)};
}
inline domain::Block use(std::string id, std::string tool, json::value input = json::object{}) {
    return domain::ToolUseBlock{std::move(id), std::move(tool), std::move(input)};
}

// A reply with the calls the dispatcher would have described: block "a" becomes call "call-a".
inline ModelReplied reply(std::int64_t round, std::vector<domain::Block> blocks,
                          std::string stop_reason = "end_turn") {
    ModelReplied replied{.round = round,
                         .timing = {.context_build_ms = 3,
                                    .started_at = kOpened,
                                    .completed_at = kOpened + std::chrono::milliseconds(200)},
                         .cache = {"main", "main:ctx:0", "f1", 2, 1}};
    for (const auto& block : blocks)
        if (const auto* wanted = std::get_if<domain::ToolUseBlock>(&block))
            replied.calls.push_back({.call_id = {"call-" + wanted->id},
                                     .run_id = {"run"},
                                     .agent_id = {"main"},
                                     .tool = wanted->name,
                                     .args = wanted->input,
                                     .risk_level = wanted->name.starts_with("Exec")
                                                       ? domain::RiskLevel::Commands
                                                       : domain::RiskLevel::ReadOnly});
    replied.reply.blocks = std::move(blocks);
    replied.reply.stop_reason = std::move(stop_reason);
    replied.reply.usage = domain::TokenUsage{10, 5, 15};
    return replied;
}

inline tools::Dispatched failed(const domain::ToolCall& call, domain::ToolError error,
                                domain::ResultStatus status = domain::ResultStatus::Error) {
    return {.result = {.call_id = call.call_id,
                       .tool = call.tool,
                       .status = status,
                       .ok = false,
                       .error = domain::ResultError{error.kind, error.message},
                       .user_message = error.message},
            .envelope = results::Envelope::failure(call.tool, error),
            .receipt = "error: " + error.kind};
}

inline ToolFinished done(const std::string& block, const std::string& tool,
                         std::vector<tools::Mutation> mutations = {},
                         std::int64_t duration_ms = 20) {
    return {{"call-" + block},
            {.result = {.call_id = {"call-" + block},
                        .tool = tool,
                        .started_at = kNow,
                        .ended_at = kNow,
                        .duration_ms = duration_ms,
                        .user_message = "did " + block},
             .envelope = results::Envelope::success(tool, "did " + block, {{"n", 1}}),
             .receipt = "receipt of " + block,
             .mutations = std::move(mutations)}};
}

inline ToolFinished broke(const std::string& block, const std::string& tool,
                          std::string kind = "tool_outcome_unknown") {
    const domain::ToolCall call{.call_id = {"call-" + block}, .tool = tool};
    return {call.call_id, failed(call, {.kind = std::move(kind), .message = "unknown"})};
}

inline Input input(base::Time now = kNow) {
    return {.now = now, .spec_of = [](const std::string& tool) {
                static std::map<std::string, tools::ToolSpec> specs;
                auto& spec = specs[tool];
                spec = {.name = tool,
                        .repeatable = !tool.starts_with("Exec"),
                        .sleeps = tool == "Sleep",
                        .changes_files = tool == "ApplyPatch",
                        .changes_records = tool.ends_with("WorkItem"),
                        .writes_work_items = tool.ends_with("WorkItem"),
                        .completes_work_item = tool == "CompleteWorkItem",
                        .command_lines = tool == "ExecCommand"        ? tools::CommandLines::One
                                         : tool == "ExecCommandBatch" ? tools::CommandLines::Batch
                                                                      : tools::CommandLines::None};
                return &spec;
            }};
}

// What the store would hand out after the step's commit.
inline Facts after(Facts facts, const Step& step) {
    facts.attempt = step.attempt;
    facts.agent = step.agent;
    if (step.statistics) facts.statistics = *step.statistics;
    for (const auto& changed : step.executions) {
        auto& known = facts.executions;
        if (!known.empty() && known.front().round != changed.round) known.clear();
        const auto found = std::ranges::find_if(known, [&](const auto& execution) {
            return execution.call.call_id == changed.call.call_id;
        });
        if (found != known.end())
            *found = changed;
        else
            known.push_back(changed);
    }
    std::ranges::sort(facts.executions, {}, &domain::ToolExecution::ordinal);
    return facts;
}

inline Facts after(const Facts& facts, const Event& event) {
    return after(facts, decide(facts, event, input()));
}

// The facts of a turn whose first round asked for these calls: {"a", "ExecCommand"}.
inline Facts awaiting(const std::vector<std::pair<std::string, std::string>>& calls) {
    std::vector<domain::Block> blocks;
    for (const auto& [id, tool] : calls) blocks.push_back(use(id, tool));
    return after(thinking(), reply(1, std::move(blocks), "tool_use"));
}

inline std::vector<std::string> kinds(const Step& step) {
    std::vector<std::string> list;
    for (const auto& event : step.events) list.push_back(event.kind);
    return list;
}

inline std::vector<domain::TranscriptKind> entries(const Step& step) {
    std::vector<domain::TranscriptKind> list;
    for (const auto& entry : step.transcript) list.push_back(entry.kind);
    return list;
}

// The data of the only event of this kind.
inline json::object data_of(const Step& step, std::string_view kind) {
    json::object data;
    int count = 0;
    for (const auto& event : step.events)
        if (event.kind == kind) {
            data = event.data;
            ++count;
        }
    CHECK(count == 1, "the step has one event of this kind");
    return data;
}

// tool_use_id and content of each result the model reads, as the last results entry has them.
inline std::vector<std::pair<std::string, std::string>> answers(const Step& step) {
    std::vector<std::pair<std::string, std::string>> list;
    for (const auto& entry : step.transcript) {
        if (entry.kind != domain::TranscriptKind::ToolResults) continue;
        list.clear();
        for (const auto& result : entry.data.at("results").as_array()) {
            const auto* error = base::find(result, "error");
            list.emplace_back(base::string_at(result, "tool_use_id"),
                              error && error->is_object()
                                  ? "error: " + base::string_at(*error, "kind")
                                  : base::string_at(result, "content"));
        }
    }
    return list;
}

}  // namespace turn::test
