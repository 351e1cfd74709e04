// When a skill counts as used. Pure: values in, values out.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "agent/skills/catalogue.h"

namespace skills {

inline constexpr std::size_t kActiveMax = 64;

struct Use {
    domain::Skill skill;
    domain::LoadReason reason{domain::LoadReason::ReadSkillMd};
    std::string path;  // What the command referred to: the SKILL.md, or a file below scripts/.
    friend bool operator==(const Use&, const Use&) = default;
};

// Where the relative paths of a command begin.
struct CommandPlace {
    std::filesystem::path cwd{};
    std::filesystem::path anchor{};
    std::filesystem::path user_home{};
};

// Could the command refer to a skill at all? Cheap, so that files are looked at for few commands.
bool may_use_skill(std::string_view command);

// The skills whose SKILL.md or scripts the command names, by an absolute path, by one relative to
// its folder or to the workspace, or below ~; at most one use for each skill.
std::vector<Use> uses_of(const Catalogue& catalogue, std::string_view command,
                         const CommandPlace& place);

// The skill is active in this turn. True when it was active already.
bool activate(std::vector<domain::ActiveSkill>& active, const Use& use,
              const domain::AgentId& agent, std::int64_t turn_index, const std::string& session);
// What is active when a turn begins in the runtime `session`: what the last turn used without
// completing is dropped, and what an earlier runtime activated is restored.
std::vector<domain::ActiveSkill> at_turn_start(std::vector<domain::ActiveSkill> active,
                                               const std::string& session);
// The turn has completed: what it used stays active.
void promote(std::vector<domain::ActiveSkill>& active);
// The same list as readers see it in the runtime `session`.
std::vector<domain::ActiveSkill> shown(std::vector<domain::ActiveSkill> active,
                                       const std::string& session);

}  // namespace skills
