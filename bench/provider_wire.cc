// What the provider plane costs without a network: reading a streamed reply, building a request,
// what two requests in a row have in common, and what a continuation saves.
#include <algorithm>
#include <chrono>
#include <functional>

#include "agent/context/frame.h"
#include "base/json.h"
#include "bench/support/figures.h"
#include "provider/anthropic_messages/stream.h"
#include "provider/anthropic_messages/wire.h"
#include "provider/chat_completions/stream.h"
#include "provider/chat_completions/wire.h"
#include "provider/http/sse.h"
#include "provider/openai_codex/wire.h"
#include "provider/openai_responses/continuation.h"
#include "provider/openai_responses/stream.h"
#include "provider/openai_responses/wire.h"

namespace {

using bench::figure;
using Steady = std::chrono::steady_clock;

constexpr int kRuns = 15;
constexpr std::size_t kReplyBytes = 1'000'000;
constexpr std::size_t kDeltaBytes = 24;     // About a token or five, as servers send them.
constexpr std::size_t kChunkBytes = 16384;  // As libcurl hands them on.
constexpr int kRoundsLong = 200;
constexpr int kRoundsShort = 20;
constexpr std::size_t kReceiptBytes = 2000;

constexpr double kParseMsMax = 60;
constexpr double kBuildMsMax = 5;
constexpr double kCommonPercentMin = 99;

double median_ms(const std::function<void()>& work) {
    std::vector<double> times;
    for (int run = 0; run < kRuns; ++run) {
        const auto start = Steady::now();
        work();
        times.push_back(std::chrono::duration<double, std::milli>(Steady::now() - start).count());
    }
    return bench::median(std::move(times));
}

std::string text_of(std::size_t bytes) {
    std::string text;
    for (std::size_t i = 0; text.size() < bytes; ++i) text += fmt::format("word{} ", i % 977);
    text.resize(bytes);
    return text;
}

std::string sse(const json::value& event) {
    return fmt::format("data: {}\n\n", base::json_text(event));
}

// A reply of kReplyBytes of text, cut into events by `piece`, between `head` and `tail`.
std::string stream_of(const std::string& head,
                      const std::function<json::value(std::string_view)>& piece,
                      const std::string& tail) {
    const std::string text = text_of(kReplyBytes);
    std::string body = head;
    for (std::size_t at = 0; at < text.size(); at += kDeltaBytes)
        body += sse(piece(std::string_view(text).substr(at, kDeltaBytes)));
    return body + tail;
}

void read(provider::EventReader& reader, std::string_view body) {
    provider::SseReader events;
    bool ended = false;
    const auto take = [&](std::string_view data) {
        const auto step = reader.take(data);
        if (!step.end) return;
        CHECK(step.end->has_value(), "the stream is an answer");
        ended = true;
    };
    for (; !body.empty(); body.remove_prefix(std::min(kChunkBytes, body.size())))
        events.add(body.substr(0, kChunkBytes), take);
    CHECK(ended, "the stream has an end");
}

void measure_parsing() {
    const std::string chat = stream_of(
        "",
        [](std::string_view text) -> json::value {
            return {{"id", "c"}, {"choices", {{{"index", 0}, {"delta", {{"content", text}}}}}}};
        },
        sse({{"id", "c"}, {"choices", {{{"delta", json::object()}, {"finish_reason", "stop"}}}}}) +
            "data: [DONE]\n\n");
    const std::string messages = stream_of(
        sse({{"type", "message_start"}, {"message", {{"id", "m"}}}}) +
            sse({{"type", "content_block_start"},
                 {"index", 0},
                 {"content_block", {{"type", "text"}, {"text", ""}}}}),
        [](std::string_view text) -> json::value {
            return {{"type", "content_block_delta"},
                    {"index", 0},
                    {"delta", {{"type", "text_delta"}, {"text", text}}}};
        },
        sse({{"type", "message_delta"}, {"delta", {{"stop_reason", "end_turn"}}}}) +
            sse({{"type", "message_stop"}}));
    const std::string responses = stream_of(
        "",
        [](std::string_view text) -> json::value {
            return {{"type", "response.output_text.delta"}, {"delta", text}};
        },
        sse({{"type", "response.output_item.done"},
             {"item",
              {{"type", "message"},
               {"content", {{{"type", "output_text"}, {"text", text_of(kReplyBytes)}}}}}}}) +
            sse({{"type", "response.completed"}, {"response", {{"status", "completed"}}}}));
    bench::note(
        fmt::format("a reply of {} bytes of text in events of {}; on the wire {}, {} and "
                    "{} bytes",
                    kReplyBytes, kDeltaBytes, chat.size(), messages.size(), responses.size()));
    figure("parse_stream_1mb_chat_completions", median_ms([&] {
               provider::chat_completions::StreamReader reader;
               read(reader, chat);
           }),
           "ms", bench::at_most(kParseMsMax));
    figure("parse_stream_1mb_messages", median_ms([&] {
               provider::anthropic_messages::StreamReader reader;
               read(reader, messages);
           }),
           "ms", bench::at_most(kParseMsMax));
    figure("parse_stream_1mb_responses", median_ms([&] {
               provider::openai_responses::StreamReader reader;
               read(reader, responses);
           }),
           "ms", bench::at_most(kParseMsMax));
}

// A growing turn: a frame with guidance, a dozen tools, and a call and its receipt a round.
provider::Request request_of(int rounds) {
    provider::Request request{.model_ref = "bench/model"};
    for (int i = 0; i < 12; ++i)
        request.tools.own().push_back(
            {fmt::format("Tool{}", i),
             text_of(400),
             {{"type", "object"},
              {"properties", {{"cmd", {{"type", "string"}, {"description", text_of(200)}}}}},
              {"required", json::array{"cmd"}}}});
    request.frame = context::build_frame(
        {.agent = {.agent_id = {"main"}},
         .workspace = {.workspace_id = "ws", .execution_root = "/p", .cwd = "/p"},
         .message = {.id = {"m"}, .agent_id = {"main"}, .body = domain::TextBody{"Fix it."}},
         .guidance = {{.source = {.path = "AGENTS.md"}, .text = text_of(4000)}},
         .offer = context::offer_of(request.tools)});
    for (int round = 0; round < rounds; ++round) {
        const std::string id = fmt::format("call_{}", round);
        request.conversation.emplace_back(provider::AssistantTurn{
            {domain::TextBlock{fmt::format("Looking further ({}).", round)},
             domain::ToolUseBlock{id, "Tool1", {{"cmd", "make -j2 test"}}}}});
        request.conversation.emplace_back(
            provider::ToolResultsTurn{{{id, text_of(kReceiptBytes), false}}});
    }
    return request;
}

json::object responses_body(const provider::Request& request) {
    json::object body = provider::openai_responses::encode_frame(request);
    body["input"] = provider::openai_responses::encode_input(
        request, provider::openai_responses::PatchForm::Function);
    return body;
}

struct Lowering {
    std::string_view name;
    std::function<json::object(const provider::Request&)> encode;
};

std::vector<Lowering> lowerings() {
    return {
        {"chat_completions",
         [](const auto& request) {
             return provider::chat_completions::encode_request(request, true);
         }},
        {"responses", responses_body},
        {"codex",
         [](const auto& request) {
             return provider::openai_codex::encode_request(request, std::nullopt);
         }},
        {"messages",
         [](const auto& request) { return provider::anthropic_messages::encode_request(request); }},
    };
}

void measure_building() {
    const provider::Request request = request_of(kRoundsLong);
    for (const auto& [name, encode] : lowerings())
        figure(fmt::format("build_request_200_rounds_{}", name),
               median_ms([&] { CHECK(!base::json_text(encode(request)).empty(), "a body"); }), "ms",
               bench::at_most(kBuildMsMax));
}

// How much of the smaller of two bodies in a row their common beginning is; the least of all pairs.
void measure_prefix() {
    for (const auto& [name, encode] : lowerings()) {
        double least = 100;
        std::string before = base::json_text(encode(request_of(0)));
        for (int round = 1; round <= kRoundsShort; ++round) {
            std::string now = base::json_text(encode(request_of(round)));
            const auto same = std::ranges::mismatch(before, now).in1 - before.begin();
            least = std::min(least, 100.0 * static_cast<double>(same) /
                                        static_cast<double>(std::min(before.size(), now.size())));
            before = std::move(now);
        }
        figure(fmt::format("common_prefix_20_rounds_{}", name), least, "%",
               bench::at_least(kCommonPercentMin));
    }
}

// As the Responses transport does it when the server keeps its responses.
void measure_continuation() {
    using namespace provider::openai_responses;
    double full_bytes = 0, sent_bytes = 0;
    std::optional<Snapshot> previous;
    for (int round = 0; round < kRoundsShort; ++round) {
        const provider::Request request = request_of(round);
        const json::object frame = encode_frame(request);
        const json::array input = encode_input(request, PatchForm::Function);
        Snapshot now{.shape = digest(frame), .items = digests(input)};
        const Plan plan = plan_request(previous, now);
        json::object body = frame;
        if (plan.previous_response_id) body["previous_response_id"] = *plan.previous_response_id;
        body["input"] =
            json::array(input.begin() + static_cast<std::ptrdiff_t>(plan.first_new), input.end());
        sent_bytes += static_cast<double>(base::json_text(body).size());
        full_bytes += static_cast<double>(base::json_text(responses_body(request)).size());
        now.response_id = fmt::format("resp_{}", round);
        provider::Request echo = request_of(round + 1);
        echo.frame = {};
        echo.conversation.erase(echo.conversation.begin(), echo.conversation.end() - 2);
        echo.conversation.pop_back();
        for (auto& item : digests(encode_input(echo, PatchForm::Function)))
            now.items.push_back(std::move(item));
        previous = std::move(now);
    }
    figure("bytes_per_round_full", full_bytes / kRoundsShort, "B");
    figure("bytes_per_round_continued", sent_bytes / kRoundsShort, "B");
    figure("bytes_continued_to_full", 100 * sent_bytes / full_bytes, "%");
}

}  // namespace

int main() {
    try {
        measure_parsing();
        measure_building();
        measure_prefix();
        measure_continuation();
    } catch (const std::exception& error) {
        std::fprintf(stderr, "bench_provider_wire: %s\n", error.what());
        return 1;
    }
    return 0;
}
