#include "app/mcp.h"

#include "app/sandbox.h"
#include "exec/sandbox/permit.h"
#include "exec/tools/mcp/system_child.h"

namespace app {
namespace {

// Servers are shared and run behind the boundary of all. An agent that is kept in more closely
// would get out through them.
std::optional<domain::ToolError> refusal(const config::Sandboxes& sandboxes,
                                         const domain::AgentId& agent) {
    const auto& own = sandboxes.of(agent.value);
    const auto allowed = sandbox::permit(config::execution_of(own), sandbox::Use::Process);
    const bool is_apart = own.settings.backend != domain::SandboxBackend::HostLocal &&
                          own.settings != sandboxes.general.settings;
    if (allowed && !is_apart) return std::nullopt;
    return domain::ToolError{
        .kind = "policy_denied",
        .message = allowed ? "This agent has a sandbox of its own, and MCP servers run behind that "
                             "of all agents."
                           : allowed.error().message,
        .recovery_hint = "Do without the tool; only the operator can change this."};
}

}  // namespace

mcp::ServersParts mcp_parts(const config::Config& config, base::Loop& loop, base::Clock& clock,
                            mcp::ChildRunner& children, const sandbox::Boundary& boundary) {
    return {
        .servers = config.mcp_servers,
        .loop = loop,
        .clock = clock,
        .children = children,
        .boundary = boundary,
        .log_of = [&config](const std::string& server) { return config.mcp_log(server); },
        .refusal =
            [&config](const domain::AgentId& agent) { return refusal(config.sandboxes, agent); },
        .lists_folder = config.home / "cache" / "mcp"};
}

json::array mcp_diagnosis(const config::Config& config, bool probe) {
    json::array list;
    if (config.mcp_servers.empty()) return list;
    base::AsioLoop loop;
    base::SystemClock clock;
    const auto boundary = boundary_of(config, config.sandboxes.general);
    mcp::SystemChildRunner children(loop, {.ca_file = config.tls_ca_file});
    children.use_logins(config.home, clock);
    mcp::Servers servers(mcp_parts(config, loop, clock, children, boundary));
    if (probe) {
        servers.discover([&] { loop.stop(); });
        loop.run();
    }
    for (const auto& view : servers.views()) list.push_back(base::to_json(view));
    return list;
}

}  // namespace app
