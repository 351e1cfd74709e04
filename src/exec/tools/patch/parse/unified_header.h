// What the lines above the hunks of one file say together.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "exec/tools/patch/errors.h"
#include "exec/tools/patch/model.h"
#include "exec/tools/patch/parse/git_path.h"

namespace patch {

struct Header {
    std::size_t line{0};
    bool has_git{false};
    std::optional<GitPaths> git{};
    std::optional<std::string> rename_from{};
    std::optional<std::string> rename_to{};
    std::optional<std::string> new_file_mode{};
    std::optional<std::string> deleted_file_mode{};
    std::optional<std::string> old_mode{};
    std::optional<std::string> new_mode{};
    std::vector<std::pair<std::string, std::string>> ignored{};
    bool has_paths{false};  // `---` and `+++` are there; an absent path below means /dev/null.
    std::optional<std::string> old_path{};
    std::optional<std::string> new_path{};
};

// The action and paths of the file, or how the header contradicts itself. Rename paths with a
// prefix lose it where the other lines have none.
Outcome<FilePatch> resolve(Header& header);

// Modes that have an effect go into `file`; the others join the ignored lines.
void note_modes(Header& header, FilePatch& file);

}  // namespace patch
