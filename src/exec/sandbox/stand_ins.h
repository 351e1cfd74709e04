// Files that a confined command finds in the place of hidden ones.
//
// Programs stop at a settings file that they may not read; an empty one they take for no settings.
// And a commit needs a name: git is led to settings that have the user's and nothing else of them.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"

namespace sandbox {

struct StandIns {
    std::filesystem::path folder;
    std::filesystem::path empty;
    std::filesystem::path git_settings;
};

// Makes them below `holon_home`, or finds them there as they have to be.
base::Result<StandIns> make_stand_ins(const std::filesystem::path& user_home,
                                      const std::filesystem::path& holon_home);

// Of the text of git's settings, the name and the address of the user. Pure.
std::string git_identity(std::string_view settings);

}  // namespace sandbox
