#include "provider/scripted/play.h"

#include <algorithm>

#include "base/text.h"

namespace provider {
namespace {

constexpr std::size_t kExcerptCharsMax = 200;

std::size_t answered_rounds(const Request& request) {
    return static_cast<std::size_t>(
        request.rounds_left_out + std::ranges::count_if(request.conversation, [](const auto& turn) {
            return turn.index() == 1;
        }));
}
static_assert(std::is_same_v<std::variant_alternative_t<1, ConversationTurn>, AssistantTurn>);

const ToolResultsTurn* last_results(const Request& request) {
    for (auto turn = request.conversation.rbegin(); turn != request.conversation.rend(); ++turn)
        if (const auto* results = std::get_if<ToolResultsTurn>(&*turn)) return results;
    return nullptr;
}

std::optional<domain::TokenUsage> usage_of(const std::optional<ScriptedUsage>& usage) {
    if (!usage) return std::nullopt;
    return domain::TokenUsage{.input_tokens = usage->input_tokens,
                              .output_tokens = usage->output_tokens,
                              .total_tokens = usage->input_tokens + usage->output_tokens};
}

Failure contract_failure(std::string message) {
    return {.kind = FailureKind::ContractError, .message = std::move(message)};
}

std::optional<Failure> unmet(const Expectation& expect, const Request& request,
                             std::size_t number) {
    const std::string wanted = base::ellipsize(expect.last_result_contains, kExcerptCharsMax);
    const auto* results = last_results(request);
    if (!results)
        return contract_failure(fmt::format(
            "round {} expects a tool result that contains '{}', but none came", number, wanted));
    for (const auto& result : results->results)
        if (result.content.contains(expect.last_result_contains)) return std::nullopt;
    std::string came;
    for (const auto& result : results->results)
        came += (came.empty() ? "" : " | ") + result.content;
    const std::string excerpt =
        base::printable(base::ellipsize(base::to_utf8(came), kExcerptCharsMax));
    return contract_failure(
        fmt::format("round {} expects a tool result that contains '{}', but '{}' came", number,
                    wanted, excerpt));
}

Failure failure_of(const ScriptedFault& fault) {
    Failure failure{.kind = fault.kind, .message = fault.message, .status = fault.status};
    if (fault.retry_after_ms)
        failure.retry_after = std::chrono::milliseconds(*fault.retry_after_ms);
    failure.usage = usage_of(fault.usage);
    return failure;
}

constexpr std::string_view kWorkItem = "$work_item";
constexpr std::string_view kWorkItemPrefix = "work_";
constexpr std::size_t kWorkItemDigits = 32;

// "work_" and 32 hex digits, or nothing.
std::string first_work_item(std::string_view text) {
    for (auto at = text.find(kWorkItemPrefix); at != text.npos;
         at = text.find(kWorkItemPrefix, at + 1)) {
        const auto digits = text.substr(at + kWorkItemPrefix.size(), kWorkItemDigits);
        if (digits.size() == kWorkItemDigits &&
            digits.find_first_not_of("0123456789abcdef") == digits.npos)
            return std::string(text.substr(at, kWorkItemPrefix.size() + kWorkItemDigits));
    }
    return "";
}

std::string named_work_item(const Request& request) {
    if (const auto* results = last_results(request))
        for (const auto& result : results->results)
            if (auto id = first_work_item(result.content); !id.empty()) return id;
    const auto& blocks = request.frame.context_blocks;
    return blocks.empty() ? "" : first_work_item(blocks.back().text);
}

constexpr std::string_view kTask = "$task";
constexpr std::size_t kTaskIdChars = 36;

// Hex digits in groups of 8, 4, 4, 4 and 12.
bool is_task_id(std::string_view text) {
    for (std::size_t i = 0; i < kTaskIdChars; ++i) {
        const bool is_dash = i == 8 || i == 13 || i == 18 || i == 23;
        if (is_dash ? text[i] != '-' : !std::string_view("0123456789abcdef").contains(text[i]))
            return false;
    }
    return true;
}

std::string named_task(const Request& request) {
    const auto& blocks = request.frame.context_blocks;
    const std::string_view text = blocks.empty() ? std::string_view() : blocks.back().text;
    const auto body = text.find("\n\n");  // The labels of the message name others, too.
    for (std::size_t at = body == text.npos ? 0 : body; at + kTaskIdChars <= text.size(); ++at)
        if (is_task_id(text.substr(at, kTaskIdChars)))
            return std::string(text.substr(at, kTaskIdChars));
    return "";
}

json::value filled_in(json::value input, const Request& request) {
    if (!input.is_object()) return input;
    for (auto& member : input.get_object()) {
        if (!member.value().is_string()) continue;
        if (member.value().get_string() == kWorkItem) member.value() = named_work_item(request);
        if (member.value().is_string() && member.value().get_string() == kTask)
            member.value() = named_task(request);
    }
    return input;
}

// `number` counts on when the scenario loops, so made-up ids never repeat within a conversation.
Reply reply_of(const Round& round, const Request& request, std::size_t number) {
    Reply reply{.stop_reason =
                    round.stop_reason.value_or(round.tool_calls.empty() ? "end_turn" : "tool_use"),
                .usage = usage_of(round.usage),
                .cache_usage = round.cache_usage,
                .request_diagnostics = {{"request_lowering_mode", "scripted"}}};
    if (!round.text.empty()) reply.blocks.emplace_back(domain::TextBlock{round.text});
    for (std::size_t i = 0; i < round.tool_calls.size(); ++i) {
        const auto& call = round.tool_calls[i];
        reply.blocks.emplace_back(
            domain::ToolUseBlock{call.id.value_or(fmt::format("call_{}_{}", number, i + 1)),
                                 call.name, filled_in(call.input, request)});
    }
    return reply;
}

}  // namespace

namespace {

// The scene that is played; none: the rounds of the scenario itself.
const Scene* scene_of(const Scenario& scenario, const Request& request) {
    const auto& blocks = request.frame.context_blocks;
    if (blocks.empty()) return nullptr;
    const auto found = std::ranges::find_if(scenario.scenes, [&](const Scene& scene) {
        return blocks.back().text.contains(scene.when);
    });
    return found == scenario.scenes.end() ? nullptr : &*found;
}

}  // namespace

std::size_t round_index(const Scenario& scenario, const Request& request) {
    const std::size_t answered = answered_rounds(request);
    std::size_t before = 0;
    if (const auto* scene = scene_of(scenario, request)) {
        before = scenario.rounds.size();
        for (const auto* earlier = scenario.scenes.data(); earlier != scene; ++earlier)
            before += earlier->rounds.size();
        return before + std::min(answered, scene->rounds.size());
    }
    return scenario.loop ? answered % scenario.rounds.size() : answered;
}

Played play(const Scenario& scenario, const Request& request, std::int64_t faults_given) {
    const std::size_t number = answered_rounds(request) + 1;
    const auto* scene = scene_of(scenario, request);
    const auto& rounds = scene ? scene->rounds : scenario.rounds;
    const std::size_t index = scene ? number - 1 : round_index(scenario, request);
    if (index >= rounds.size())
        return {
            std::unexpected(contract_failure(fmt::format("the scenario has no round {}", number)))};
    const Round& round = rounds[index];
    const std::chrono::milliseconds delay(round.delay_ms);
    if (round.expect) {
        if (auto failure = unmet(*round.expect, request, number))
            return {std::unexpected(std::move(*failure)), delay};
    }
    if (round.fault && faults_given < round.fault->times)
        return {std::unexpected(failure_of(*round.fault)), delay, true};
    return {reply_of(round, request, number), delay};
}

}  // namespace provider
