// The files of one skill, from wherever they come, and how they get below an agent's home.
//
// A skill is somebody else's work: its files are bounded in number and size, every path stays
// inside its folder, and links are not followed and not copied. Functions that touch files block;
// any thread.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace skills {

inline constexpr std::size_t kTreeFilesMax = 512;
inline constexpr std::size_t kTreeBytesMax = std::size_t{16} << 20;
inline constexpr std::size_t kTreeDepthMax = 8;
inline constexpr const char* kSkillFile = "SKILL.md";
// Written into a skill that the runtime has installed.
inline constexpr const char* kInstallFile = ".holon-skill-install.json";

struct TreeFile {
    std::string path;  // Relative, without "..".
    std::string bytes;
    bool is_executable{false};
    friend bool operator==(const TreeFile&, const TreeFile&) = default;
};

struct Tree {
    std::string name;  // Of its folder; see is_skill_name().
    std::vector<TreeFile> files{};
    std::string install_mode{"copied"};  // copied, builtin
    friend bool operator==(const Tree&, const Tree&) = default;
};

// One path component of at most 64 letters, digits, '.', '-' and '_' that does not begin with a
// dot.
bool is_skill_name(std::string_view text);
// A relative path below a folder: no empty component, no "." or "..", no backslash or control
// character.
bool is_tree_path(std::string_view path);

// Checks what every tree has to fulfil: a name, a SKILL.md, allowed paths, the bounds above.
base::Status check(const Tree& tree);

// The skill in the folder `path`. NotFound without a SKILL.md; Refused for a link inside it.
base::Result<Tree> read_tree(const std::filesystem::path& path);

// Writes the tree to `folder`/<name>, which must not exist (Conflict), with a note on how it was
// installed. It appears whole or not at all.
base::Status write_tree(const std::filesystem::path& folder, const Tree& tree);

}  // namespace skills
