// The MCP servers of a runtime in another process, over its control surface.
#pragma once

#include "service/mcp.h"
#include "service/remote/client.h"

namespace service {

class RemoteMcp final : public McpLive {
public:
    explicit RemoteMcp(Address address) : client_(std::move(address)) {}
    base::Result<std::vector<McpQuestion>> questions() override;
    base::Status answer(const std::string& id, const McpAnswer& answer) override;
    base::Result<std::vector<McpPrompt>> prompts() override;
    base::Result<McpPromptText> expand(const McpPromptRequest& request) override;

private:
    Client client_;
};

}  // namespace service
