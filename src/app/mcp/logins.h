// Logins to MCP servers behind service::Mcp.
#pragma once

#include "config/config.h"
#include "service/mcp.h"

namespace app {

class McpLogins final : public service::Mcp {
public:
    McpLogins(const config::Config& config, base::Clock& clock) : config_(config), clock_(clock) {}
    base::Result<std::vector<service::McpAccess>> status() override;
    base::Result<service::McpAccess> login(const service::McpLogin& login) override;
    base::Result<bool> logout(const std::string& server) override;

private:
    base::Result<const config::McpServer*> find(const std::string& server) const;
    base::Result<service::McpAccess> access_of(const config::McpServer& server);

    const config::Config& config_;
    base::Clock& clock_;
};

}  // namespace app
