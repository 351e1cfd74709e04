// Which skills an agent can discover.
//
// Each scope has a list of roots, of which the first that exists is used, even when it is empty:
// roots of one scope are never merged. A skill is a folder, or a link to one, with a regular
// SKILL.md in it. Only its name and description are taken from that file. Discovery blocks on the
// file system; any thread.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

#include "domain/agent.h"
#include "domain/skill.h"

namespace skills {

inline constexpr std::size_t kSkillsPerRootMax = 256;
inline constexpr std::size_t kNameChars = 80;
inline constexpr std::size_t kDescriptionChars = 1'024;

// Where skills are looked for; an empty path is left out.
struct Places {
    std::filesystem::path user_home{};  // For the default agent only; see places_of().
    std::filesystem::path agent_home{};
    std::filesystem::path workspace_anchor{};
};

// What `agent` may discover: the default agent also sees the user's skills.
Places places_of(const domain::Agent& agent, const std::filesystem::path& user_home,
                 const std::filesystem::path& agent_home);

struct Catalogue {
    std::vector<domain::SkillRoot> roots{};  // Those that exist and are used.
    std::vector<domain::Skill> skills{};     // By id.
    friend bool operator==(const Catalogue&, const Catalogue&) = default;
};
Catalogue discover(const Places& places);

// The root of the agent's own skills that is used, and where skills are installed: the first that
// exists, else <agent_home>/skills.
std::filesystem::path agent_root(const std::filesystem::path& agent_home);

// What a SKILL.md says of itself: the front matter, else the folder's name and the first paragraph.
// Pure.
struct Described {
    std::string name;
    std::optional<std::string> description{};
    friend bool operator==(const Described&, const Described&) = default;
};
Described describe(std::string_view text, const std::string& folder);

// The head of a SKILL.md below `folder`; an Error when there is none that may be read.
base::Result<std::string> read_head(const std::filesystem::path& folder);

}  // namespace skills
