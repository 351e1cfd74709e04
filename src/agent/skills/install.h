// An agent's own skills: what is installed, and how skills get there and away.
//
// Everything is in the one root of the agent's skills that is used; see agent_root(). The functions
// block on the file system; any thread but the loop's.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "agent/skills/tree.h"
#include "base/typed.h"
#include "domain/skill.h"

namespace skills {

struct InstalledSkill {
    std::string skill_id;
    std::string name;
    std::optional<std::string> description{};
    std::string path;
    domain::SkillScope scope{domain::SkillScope::Agent};
    std::string install_mode;  // linked, builtin, copied
    std::optional<std::string> link_target{};
    std::optional<std::string> warning{};  // Why it cannot be used.
    friend bool operator==(const InstalledSkill&, const InstalledSkill&) = default;
};
BOOST_DESCRIBE_STRUCT(InstalledSkill, (),
                      (skill_id, name, description, path, scope, install_mode, link_target,
                       warning))

// By id; broken ones with a warning.
std::vector<InstalledSkill> list_installed(const std::filesystem::path& agent_home);

// Conflict (skill_already_installed) when there is one of that name. Returns the name.
base::Result<std::string> install_copy(const std::filesystem::path& agent_home, const Tree& tree);
// The same as a link to a folder with a SKILL.md.
base::Result<std::string> install_link(const std::filesystem::path& agent_home,
                                       const std::filesystem::path& folder);
// A skill of the user, by the name in its front matter or that of its folder: in the first root of
// the user that has one. Conflict when that root has two.
base::Result<std::filesystem::path> find_named(const std::filesystem::path& user_home,
                                               const std::string& name);
// Removes the link or the folder, which must hold a SKILL.md. NotFound when there is none.
base::Status uninstall(const std::filesystem::path& agent_home, const std::string& name);

}  // namespace skills
