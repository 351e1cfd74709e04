#include "app/mcp/refusal.h"

#include "exec/sandbox/permit.h"

namespace app {

std::optional<domain::ToolError> mcp_refusal(const config::Sandboxes& sandboxes,
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

}  // namespace app
