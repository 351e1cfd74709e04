#include "app/mcp/live.h"

#include <future>
#include <thread>

#include "app/mcp.h"
#include "app/sandbox.h"
#include "base/text.h"
#include "exec/tools/mcp/system_child.h"

namespace app {
namespace {

using base::ErrorCode;
using base::fail;

// The start of a server and its answer.
constexpr std::chrono::milliseconds kServersWait{120'000};

// Runs `step` on the loop, and waits for what it brings.
template <class T, class Step>
base::Result<T> on_loop(base::Loop& loop, Step step) {
    const auto promise = std::make_shared<std::promise<base::Result<T>>>();
    auto future = promise->get_future();
    loop.post([promise, step = std::move(step)]() mutable {
        step([promise](base::Result<T> result) { promise->set_value(std::move(result)); });
    });
    if (future.wait_for(kServersWait) != std::future_status::ready)
        return fail(ErrorCode::Unavailable, "the MCP servers did not answer within {} s",
                    std::chrono::duration_cast<std::chrono::seconds>(kServersWait).count());
    return future.get();
}

service::McpPrompt view_of(mcp::Prompt prompt) {
    service::McpPrompt view{.server = std::move(prompt.server),
                            .name = std::move(prompt.name),
                            .description = std::move(prompt.description)};
    for (auto& argument : prompt.arguments)
        view.arguments.push_back(
            {std::move(argument.name), std::move(argument.description), argument.required});
    return view;
}

}  // namespace

base::Result<std::vector<service::McpQuestion>> McpServers::questions() {
    std::vector<service::McpQuestion> list;
    if (!questions_) return list;
    for (auto& question : questions_->list())
        list.push_back({.id = std::move(question.id),
                        .server = std::move(question.server),
                        .mode = std::move(question.mode),
                        .message = std::move(question.message),
                        .schema = std::move(question.schema),
                        .url = std::move(question.url),
                        .asked_at = question.asked_at,
                        .expires_at = question.expires_at});
    return list;
}

base::Status McpServers::answer(const std::string& id, const service::McpAnswer& answer) {
    const auto action = base::enum_from<mcp::VerdictAction>(answer.action);
    if (!action) return fail(ErrorCode::InvalidInput, "action must be accept, decline or cancel");
    if (!questions_) return fail(ErrorCode::NotFound, "no question waits for an answer");
    return questions_->answer(
        id, {.action = *action, .content = answer.content.value_or(json::object{})});
}

base::Result<std::vector<service::McpPrompt>> McpServers::prompts() {
    auto found =
        TRY(on_loop<std::vector<mcp::Prompt>>(loop_, [&servers = servers_](const auto& done) {
            servers.prompts(
                [done](std::vector<mcp::Prompt> prompts) mutable { done(std::move(prompts)); });
        }));
    std::vector<service::McpPrompt> list;
    for (auto& prompt : found) list.push_back(view_of(std::move(prompt)));
    return list;
}

base::Result<service::McpPromptText> McpServers::expand(const service::McpPromptRequest& request) {
    json::object arguments;
    for (const auto& [name, value] : request.arguments) arguments[name] = value;
    json::object params{{"name", request.name}};
    if (!arguments.empty()) params["arguments"] = std::move(arguments);
    auto expanded = TRY(on_loop<mcp::Expanded>(
        loop_, [&servers = servers_, server = request.server, params](const auto& done) {
            servers.expand(server, params, [done](base::Result<mcp::Expanded> result) mutable {
                done(std::move(result));
            });
        }));
    return service::McpPromptText{.server = request.server,
                                  .name = request.name,
                                  .text = std::move(expanded.text),
                                  .left_out = std::move(expanded.left_out)};
}

int with_mcp_servers(const config::Config& config,
                     const std::function<int(service::McpLive&)>& use) {
    base::AsioLoop loop;
    base::SystemClock clock;
    const auto boundary = boundary_of(config, config.sandboxes.general);
    mcp::SystemChildRunner children(loop, {.ca_file = config.tls_ca_file});
    children.use_logins(config.home, clock);
    mcp::Servers servers(mcp_parts(config, loop, clock, children, boundary));
    McpServers live(loop, servers, nullptr);
    std::jthread looping([&loop] { loop.run(); });
    const int exit = use(live);
    loop.stop();
    return exit;
}

}  // namespace app
