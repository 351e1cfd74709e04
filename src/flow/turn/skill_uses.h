// Which skills a finished call has used.
#pragma once

#include <filesystem>
#include <vector>

#include "agent/skills/activation.h"
#include "domain/tool.h"
#include "exec/tools/tool.h"

namespace turn {

// A mutation: the agent has used this skill.
struct SkillUsed {
    skills::Use use;
    std::string session;  // See turn::Parts.
    friend bool operator==(const SkillUsed&, const SkillUsed&) = default;
};

// A command that ended with exit code 0, and the folder it ran in.
struct Succeeded {
    std::string cmd;
    std::filesystem::path workdir;
};
// Of a call that could refer to a skill; empty for all others. A command that continues as a task
// has not succeeded yet. Pure.
std::vector<Succeeded> succeeded_commands(const domain::ToolCall& call,
                                          const domain::ToolResult& result,
                                          const tools::ToolSpec* spec,
                                          const std::filesystem::path& cwd);

// The skills of the agent that the commands refer to. Blocks on the file system.
std::vector<skills::Use> find_uses(const std::vector<Succeeded>& commands,
                                   const skills::Places& places,
                                   const std::filesystem::path& user_home);

}  // namespace turn
