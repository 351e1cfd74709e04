#include "service/remote/remote_mcp.h"

#include "base/text.h"

namespace service {
namespace {

using namespace std::chrono_literals;

// Servers may have to be started for it.
constexpr std::chrono::milliseconds kServersTimeout = 3min;

template <class T>
base::Result<T> decode(const json::value& value) {
    auto decoded = base::from_json<T>(value);
    if (!decoded)
        return base::fail(base::ErrorCode::Corrupt,
                          "the daemon's answer about MCP servers cannot be read ({}); is it of "
                          "another version? Compare holon --version with holon daemon status",
                          decoded.error().message);
    return decoded;
}

}  // namespace

base::Result<std::vector<McpQuestion>> RemoteMcp::questions() {
    return decode<std::vector<McpQuestion>>(TRY(client_.ask(
        {.path = "/control/mcp/questions", .timeout = kServersTimeout, .stop = stop_})));
}

base::Status RemoteMcp::answer(const std::string& id, const McpAnswer& answer) {
    TRY(client_.ask(
        {.method = Method::Post,
         .path = fmt::format("/control/mcp/questions/{}/answer", base::percent_encoded(id)),
         .body = base::json_text(base::to_json(answer)),
         .timeout = kServersTimeout,
         .stop = stop_}));
    return {};
}

base::Result<std::vector<McpPrompt>> RemoteMcp::prompts() {
    return decode<std::vector<McpPrompt>>(TRY(
        client_.ask({.path = "/control/mcp/prompts", .timeout = kServersTimeout, .stop = stop_})));
}

base::Result<McpPromptText> RemoteMcp::expand(const McpPromptRequest& request) {
    return decode<McpPromptText>(TRY(client_.ask({.method = Method::Post,
                                                  .path = "/control/mcp/prompts/expand",
                                                  .body = base::json_text(base::to_json(request)),
                                                  .timeout = kServersTimeout,
                                                  .stop = stop_})));
}

}  // namespace service
