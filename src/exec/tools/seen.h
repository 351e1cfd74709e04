// What is in the files that a command names or changes, when the command ends.
//
// A file that is only named counts as seen when its stamp is the same before and after the command:
// then the hash is that of the bytes which the command could read.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "domain/tool.h"

namespace tools {

inline constexpr std::size_t kNamedFilesMax = 8;  // Of one call.
inline constexpr std::size_t kSeenFilesMax = 16;  // Of one call, with those that it changed.
inline constexpr std::size_t kSeenFileBytesMax = std::size_t{1024} * 1024;

// The hash of a regular file beneath `root` as one version of it. No link is followed. NotFound
// when there is no such file; any other error: it cannot be known (too large, not readable, or
// written to while it is read). Blocks; any thread.
base::Result<std::string> content_hash(const std::filesystem::path& root,
                                       const std::filesystem::path& path,
                                       std::size_t bytes_max = kSeenFileBytesMax);

// A command line and the folder that it runs in.
struct CommandWords {
    std::string cmd;
    std::filesystem::path workdir;
};

// The words of a command line that can name a file beneath `root`, relative to it. Pure.
std::vector<std::string> named_paths(const std::filesystem::path& root,
                                     const CommandWords& command);

struct NamedFile {
    std::string path;  // Relative to the root.
    std::string stamp;
    friend bool operator==(const NamedFile&, const NamedFile&) = default;
};

// The regular files that the commands name, as they are now. Blocks; any thread.
std::vector<NamedFile> named_files(const std::filesystem::path& root,
                                   std::span<const CommandWords> commands);

// The named files that are still as they were, and the files that the effects list as created or
// changed. Paths of the effects are relative to `root`. Blocks; any thread.
domain::SeenFiles seen_files(const std::filesystem::path& root, std::span<const NamedFile> named,
                             const domain::Effects& effects);

}  // namespace tools
