#include "app/mcp.h"

#include "app/mcp/refusal.h"
#include "app/sandbox.h"
#include "exec/tools/mcp/system_child.h"

namespace app {

mcp::ServersParts mcp_parts(const config::Config& config, base::Loop& loop, base::Clock& clock,
                            mcp::ChildRunner& children, const sandbox::Boundary& boundary) {
    return {.servers = config.mcp_servers,
            .loop = loop,
            .clock = clock,
            .children = children,
            .boundary = boundary,
            .log_of = [&config](const std::string& server) { return config.mcp_log(server); },
            .refusal =
                [&config](const domain::AgentId& agent) {
                    return mcp_refusal(config.sandboxes, agent);
                },
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
