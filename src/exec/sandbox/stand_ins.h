// Files that a confined command sees instead of hidden ones.
//
// Programs fail on a settings file that they may not read; an empty one means no settings. A commit
// needs a name, so git gets settings with the user's name and address and nothing else.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"

namespace sandbox {

// Absolute paths of the files and of the folder that holds them.
struct StandIns {
    std::filesystem::path folder;
    std::filesystem::path empty;
    std::filesystem::path git_settings;
};

// Creates the files below `holon_home`, or updates them where their content differs. An error when
// they cannot be written; hidden files stay hidden then. Blocks on the file system; any thread.
base::Result<StandIns> make_stand_ins(const std::filesystem::path& user_home,
                                      const std::filesystem::path& holon_home);

// Git settings with the user's name and address from the text `settings`; empty if it has neither.
// Pure.
std::string git_identity(std::string_view settings);

}  // namespace sandbox
