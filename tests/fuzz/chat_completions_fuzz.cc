// Whatever a server or a scenario file holds, it becomes a value or an error.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/text.h"
#include "provider/chat_completions/wire.h"
#include "provider/scripted/play.h"
#include "provider/scripted/scenario.h"

namespace {

constexpr std::int64_t kStatuses[] = {200, 200, 200, 201, 302, 400, 401, 429, 500, 503, 0, 999};

void require(bool condition) {
    if (!condition) std::abort();
}

void read_response(std::uint8_t choice, std::string_view body) {
    const std::int64_t status = kStatuses[choice % std::size(kStatuses)];
    const std::string retry_after(body.substr(0, 40));
    const auto outcome = provider::chat_completions::parse_response(
        {status, {{"Retry-After", retry_after}}, std::string(body)}, base::from_micros(0));
    if (!outcome) {
        require(!outcome.error().message.empty() && outcome.error().message.size() < 4096);
        require(base::is_utf8(outcome.error().message));
        return;
    }
    // What was read can be sent back.
    provider::Request request{.model_ref = "a/b"};
    request.conversation.emplace_back(provider::AssistantTurn{outcome->blocks});
    const auto text = base::json_text(provider::chat_completions::encode_request(request));
    require(base::parse_json(text).has_value());
}

void read_scenario(std::string_view text) {
    const auto scenario = provider::parse_scenario(text);
    if (scenario) provider::play(*scenario, {}, 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const std::string_view rest(reinterpret_cast<const char*>(data + 1), size - 1);
    if (data[0] & 1U)
        read_scenario(rest);
    else
        read_response(data[0] >> 1U, rest);
    return 0;
}
