// The skills of agents, for operators: what is installed, and what comes and goes. The operations
// are those that service.h promises. Nothing here activates a skill: only its use does.
#pragma once

#include "agent/skills/github.h"
#include "flow/turn/runner.h"
#include "service/local/agents/transactions.h"
#include "service/service.h"

namespace service {

// The references are the service's and outlive this. Any thread may call.
class LocalSkills {
public:
    struct Parts {
        Transactions& transactions;
        const turn::Parts& turn;  // Where agents live.
        const skills::Fetch& fetch;
        const std::string& github_api;
    };
    explicit LocalSkills(Parts parts) : parts_(parts) {}

    base::Result<std::vector<json::object>> list(const std::string& agent) const;
    base::Result<json::object> show(const std::string& agent, const std::string& name) const;
    base::Result<std::string> install(const std::string& agent, const SkillInstall& request,
                                      const Caller& caller);
    base::Result<std::string> uninstall(const std::string& agent, const std::string& name,
                                        const Caller& caller);

private:
    base::Result<domain::Agent> agent_of(const std::string& agent) const;
    base::Result<std::string> put(const domain::AgentId& agent, const SkillInstall& request) const;
    base::Result<std::string> put_folder(const domain::AgentId& agent,
                                         const std::filesystem::path& folder,
                                         SkillInstallMode mode) const;

    Parts parts_;
};

}  // namespace service
