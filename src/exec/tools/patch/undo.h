// What is kept of a patch so that it can be undone, and the undoing.
//
// A patch is a list of files that went from one state to another. Undoing it puts each file back,
// all or none, and only while every file is still as the patch left it. A file that is back already
// is left alone, so an undo that a crash cut off can simply be made again.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/typed.h"
#include "exec/tools/patch/errors.h"

namespace patch {

// What is kept of one patch at most; a larger one cannot be undone.
inline constexpr std::size_t kUndoFilesMax = 200;
inline constexpr std::size_t kUndoBytesMax = std::size_t{64} * 1024 * 1024;

struct FileState {
    std::string sha256;
    std::int64_t mode{0};                   // Permission bits; 0: not known.
    std::optional<std::string> artifact{};  // A file with the bytes; of a state before only.
    friend bool operator==(const FileState&, const FileState&) = default;
};
BOOST_DESCRIBE_STRUCT(FileState, (), (sha256, mode, artifact))

// One path. A state that is absent: there was no file.
struct FileUndo {
    std::string path;  // Relative to the root.
    std::optional<FileState> before{};
    std::optional<FileState> after{};
    friend bool operator==(const FileUndo&, const FileUndo&) = default;
};
BOOST_DESCRIBE_STRUCT(FileUndo, (), (path, before, after))

struct Undo {
    std::string root;  // The execution root, absolute.
    std::vector<FileUndo> files{};
    std::vector<std::string> folders{};      // That the patch made, relative to the root.
    std::optional<std::string> not_kept{};   // Why it cannot be undone.
    std::optional<std::string> undone_at{};  // Set once it was.
    friend bool operator==(const Undo&, const Undo&) = default;
};
BOOST_DESCRIBE_STRUCT(Undo, (), (root, files, folders, not_kept, undone_at))

// Keeps the bytes of a file before it changes and returns the name to find them by.
using Keep = std::function<base::Result<std::string>(std::string_view bytes)>;
// Reads them again.
using Kept = std::function<base::Result<std::string>(const std::string& artifact)>;

// One undo for several patches of one root, given newest first. `changed_since` when a file was
// changed between two of them by something else, as that change would be lost. Pure.
Outcome<Undo> composed(std::span<const Undo> newest_first);

// Puts the files back and returns the paths that changed. `changed_since` when a file is neither as
// the patch left it nor back already; its details name all such `paths`, and nothing has changed.
// With `dry_run` nothing changes in any case. Any thread; blocks.
Outcome<std::vector<std::string>> take_back(const Undo& undo, const Kept& kept, bool dry_run);

}  // namespace patch
