// Every tool there is, in the order models are shown them.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "domain/agent.h"
#include "exec/tools/tool.h"

namespace tools {

class Registry {
public:
    // Throws Bug for a second tool of the same name.
    void add(std::unique_ptr<Tool> tool);

    Tool* find(std::string_view name) const;  // Null when there is none.
    std::vector<const ToolSpec*> all() const;
    // What an agent of this profile is offered in a turn. Never depends on who sent the message.
    std::vector<const ToolSpec*> exposed(domain::ProfilePreset profile) const;

    // A digest of names, schemas and risks: it changes when what tools promise changes.
    std::string version() const;

private:
    std::vector<std::unique_ptr<Tool>> tools_;
};

// Does the profile grant the family?
bool grants(domain::ProfilePreset profile, Family family);

}  // namespace tools
