// The files of agents: logs of commands, complete outputs of tools, and how much room all take.
// Everything here blocks.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "base/time.h"
#include "domain/ids.h"
#include "store/store.h"

namespace retention {

struct FileCount {
    std::int64_t files{0};
    std::int64_t bytes{0};
    FileCount& operator+=(const FileCount& other) {
        files += other.files;
        bytes += other.bytes;
        return *this;
    }
    friend bool operator==(const FileCount&, const FileCount&) = default;
};

// Files of an agent that no row names any more.
struct Unnamed {
    std::vector<std::string> commands{};   // Calls and tasks, by id: their logs.
    std::vector<std::string> artifacts{};  // Names in tool-artifacts.
};

// Removes them; those that are gone already do not count. With `dry_run` they stay and count.
FileCount remove_files(const std::filesystem::path& agent_home, const Unnamed& unnamed,
                       bool dry_run);

// Removes logs and artifacts that were last written before `before` and that no record of the agent
// names: a process died between the commit that removed the record and the removal of the file.
// Fails as the store does; nothing is removed that could not be checked.
base::Result<FileCount> sweep_files(store::Store& store, const std::filesystem::path& agent_home,
                                    const domain::AgentId& agent, base::Time before, bool dry_run);

// Removes a folder with all that is in it. Symbolic links are removed, not followed.
FileCount remove_folder(const std::filesystem::path& folder, bool dry_run);

// What the files below `folder` take; the first kMeasuredMax of them count.
inline constexpr std::int64_t kMeasuredMax = 2'000'000;
std::int64_t bytes_below(const std::filesystem::path& folder);

// When the file or folder was last written; nothing when it is not there.
std::optional<base::Time> written_at(const std::filesystem::path& path);

}  // namespace retention
