// The MCP servers of a runtime, as operators use them.
#pragma once

#include "config/config.h"
#include "exec/tools/mcp/servers.h"
#include "service/mcp.h"

namespace app {

// Called on any thread but the loop's, which must run; waits for servers for a bounded time. The
// parts outlive it.
class McpServers final : public service::McpLive {
public:
    McpServers(base::Loop& loop, mcp::Servers& servers, mcp::Questions* questions)
        : loop_(loop), servers_(servers), questions_(questions) {}
    base::Result<std::vector<service::McpQuestion>> questions() override;
    base::Status answer(const std::string& id, const service::McpAnswer& answer) override;
    base::Result<std::vector<service::McpPrompt>> prompts() override;
    base::Result<service::McpPromptText> expand(const service::McpPromptRequest& request) override;

private:
    base::Loop& loop_;
    mcp::Servers& servers_;
    mcp::Questions* questions_;
};

// Servers that this process starts for as long as `use` takes.
int with_mcp_servers(const config::Config& config,
                     const std::function<int(service::McpLive&)>& use);

}  // namespace app
