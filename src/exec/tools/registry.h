// Every tool there is, in the order models are shown them.
#pragma once

#include <memory>
#include <shared_mutex>
#include <string>
#include <vector>

#include "domain/agent.h"
#include "exec/tools/tool.h"

namespace tools {

// Any thread may read it. Tools and their specs stay valid as long as the registry does, also those
// that were replaced: calls that began before may still use them.
class Registry {
public:
    // Throws Bug for a second tool of the same name.
    void add(std::unique_ptr<Tool> tool);

    // The tools of `group` are these from now on, in the place where the group was first named. One
    // whose name another group has is left out. Turns that are open keep what they were offered.
    void replace(std::string_view group, std::vector<std::unique_ptr<Tool>> tools);

    Tool* find(std::string_view name) const;  // Null when there is none.
    std::vector<const ToolSpec*> all() const;
    // What an agent of this profile is offered in a turn. Never depends on who sent the message.
    std::vector<const ToolSpec*> exposed(domain::ProfilePreset profile) const;

    // How often tools were added or replaced.
    std::uint64_t changes() const;

    // A digest of names, schemas and risks: it changes when what tools promise changes.
    std::string version() const;

private:
    struct Group {
        std::string name;  // Empty: of this program.
        std::vector<std::unique_ptr<Tool>> tools;
    };
    Tool* find_locked(std::string_view name) const;

    mutable std::shared_mutex mutex_;
    std::vector<Group> groups_;
    std::vector<std::unique_ptr<Tool>> replaced_;
    std::uint64_t changes_{0};
    mutable std::string version_;  // Empty: to be computed.
};

// Does the profile grant the family?
bool grants(domain::ProfilePreset profile, Family family);

}  // namespace tools
