// Whatever a model API sends, it becomes a reply or a failure.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "provider/anthropic_messages/stream.h"
#include "provider/anthropic_messages/wire.h"
#include "provider/chat_completions/stream.h"
#include "provider/chat_completions/wire.h"
#include "provider/http/sse.h"
#include "provider/openai_codex/login.h"
#include "provider/openai_codex/wire.h"
#include "provider/openai_responses/stream.h"
#include "provider/openai_responses/wire.h"

namespace {

constexpr std::int64_t kStatuses[] = {200, 200, 200, 201, 302, 400, 404, 429, 500, 529, 0, 999};

void require(bool condition) {
    if (!condition) std::abort();
}

void check_failure(const provider::Failure& failure) {
    require(!failure.message.empty() && failure.message.size() < 4096);
    require(base::is_utf8(failure.message));
}

// What was read can be sent back, by every transport.
void check_reply(const provider::Reply& reply) {
    provider::Request request{.model_ref = "a/b"};
    request.conversation.emplace_back(provider::AssistantTurn{reply.blocks});
    request.tools.own().push_back({"ApplyPatch", "", {}, true});
    for (const json::object& body :
         {provider::anthropic_messages::encode_request(request, provider::ContextManagement{}),
          provider::chat_completions::encode_request(request),
          provider::openai_codex::encode_request(request, std::nullopt)})
        require(base::parse_json(base::json_text(body)).has_value());
}

void check(const provider::Outcome& outcome) {
    if (outcome)
        check_reply(*outcome);
    else
        check_failure(outcome.error());
}

std::vector<std::string> events(std::string_view body, std::size_t piece) {
    provider::SseReader reader;
    std::vector<std::string> out;
    const auto keep = [&](std::string_view data) { out.emplace_back(data); };
    for (; !body.empty(); body.remove_prefix(std::min(piece, body.size())))
        reader.add(body.substr(0, piece), keep);
    reader.finish(keep);
    return out;
}

void read_stream(provider::EventReader& reader, std::string_view body, std::size_t piece) {
    const auto whole = events(body, body.size() + 1);
    require(events(body, piece + 1) == whole);
    for (const auto& event : whole) {
        const auto step = reader.take(event);
        require(base::is_utf8(step.text_delta));
        if (step.end) return check(*step.end);
    }
    check(reader.stop({.status = 200, .headers = {{"content-type", "x"}}}));
}

void read_any_stream(std::uint8_t form, std::string_view body, std::size_t piece) {
    provider::openai_responses::StreamReader responses;
    provider::chat_completions::StreamReader chat;
    provider::anthropic_messages::StreamReader messages;
    if (form == 0)
        read_stream(responses, body, piece);
    else if (form == 1)
        read_stream(chat, body, piece);
    else
        read_stream(messages, body, piece);
}

void read_response(std::uint8_t form, std::int64_t status, std::string_view body) {
    const provider::HttpResponse response{
        status, {{"Retry-After", std::string(body.substr(0, 40))}}, std::string(body)};
    if (form == 0) {
        provider::openai_responses::refuses_previous_response(response, body.substr(0, 8));
        auto answer = provider::openai_responses::parse_response(response, base::Time{});
        if (answer)
            check_reply(answer->reply);
        else
            check_failure(answer.error());
    } else if (form == 1) {
        check(provider::anthropic_messages::parse_response(response, base::Time{}));
    } else {
        check_failure(provider::openai_codex::parse_refusal(response, base::Time{}));
        provider::parse_codex_login(body);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 2) return 0;
    const std::string_view rest(reinterpret_cast<const char*>(data + 2), size - 2);
    const auto form = static_cast<std::uint8_t>(data[0] % 6);
    if (form >= 3)
        read_any_stream(form - 3, rest, data[1]);
    else
        read_response(form, kStatuses[data[1] % std::size(kStatuses)], rest);
    return 0;
}
