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
    std::optional<bool> executable{};   // Sets the executable bit, else it stays as it is.
};

// What becomes of one path: `before` alone is a delete, `after` alone an add, both are a rewrite.
struct Change {
    Spot spot;
    std::optional<struct stat> before{};
    std::optional<NewFile> after{};
};

enum class Step { MakeFolder, Stage, Exchange, Place, SetAside };

// Asked before each step; an errno other than 0 is taken as the answer of the operating system.
// For tests: a full disk cannot be had on demand.
using Fault = std::function<int(Step step, const Spot& spot)>;

// Carries out `changes` in their order and returns the folders it made, as absolute paths.
//
// New bytes go to hidden files beside their targets first. When anything fails, from a full disk
// to a file that changed since it was read, what was done is undone and nothing is left behind.
// Should undoing fail as well, the details name the paths in `not_restored`, each with the hidden
// file that still has its old bytes.
Outcome<std::vector<std::string>> sweep(const std::vector<Change>& changes,
                                        const Fault& fault = nullptr);

// The permission bits of `mode` with the executable bit set for those who can read, or cleared.
mode_t with_executable(mode_t mode, bool executable);

}  // namespace patch
