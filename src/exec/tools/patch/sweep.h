// Many files change together or not at all.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "exec/tools/patch/files.h"

namespace patch {

struct NewFile {
    std::string bytes;
    std::optional<struct stat> like{};  // Takes mode and owner of this file; a fresh one has none.
    std::optional<bool> executable{};   // Sets the executable bit, else it is unchanged.
};

// The change of one path: `before` alone is a delete, `after` alone an add, both are a rewrite.
struct Change {
    Spot spot;
    std::optional<struct stat> before{};
    std::optional<NewFile> after{};
};

enum class Step { MakeFolder, Stage, Exchange, Place, SetAside };

// Called before each step; an errno other than 0 fails the step. For tests, which cannot fill a
// disk.
using Fault = std::function<int(Step step, const Spot& spot)>;

// Executes `changes` in order and returns the folders it created, as absolute paths.
//
// New bytes go to hidden files next to their targets first. When anything fails, from a full disk
// to a file that changed since it was read, what was done is undone and nothing is left behind. If
// undoing fails, too, the details name the paths in `not_restored`, each with the hidden file that
// still has its old bytes.
Outcome<std::vector<std::string>> sweep(const std::vector<Change>& changes,
                                        const Fault& fault = nullptr);

// The permission bits of `mode` with the executable bit set for those who can read, or cleared.
mode_t with_executable(mode_t mode, bool executable);

}  // namespace patch
