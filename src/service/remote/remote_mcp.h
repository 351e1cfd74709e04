// The MCP servers of a runtime in another process, over its control surface.
#pragma once

#include "service/mcp.h"
#include "service/remote/client.h"

namespace service {

class RemoteMcp final : public McpLive {
public:
    // `stop` ends calls that wait for a server.
    explicit RemoteMcp(Address address, std::stop_token stop = {})
        : client_(std::move(address)), stop_(std::move(stop)) {}
    base::Result<std::vector<McpQuestion>> questions() override;
    base::Status answer(const std::string& id, const McpAnswer& answer) override;
    base::Result<std::vector<McpPrompt>> prompts() override;
    base::Result<McpPromptText> expand(const McpPromptRequest& request) override;

private:
    Client client_;
    std::stop_token stop_;
};

}  // namespace service
