// What a command changed in its folder, seen from outside.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <unordered_map>

#include "domain/tool.h"

namespace tools {

// Folders with more entries are not compared: looking would cost more than the command.
inline constexpr std::size_t kObservedEntriesMax = 20'000;

struct Stamp {
    domain::PathKind kind{domain::PathKind::File};
    std::uint64_t size{0};
    std::int64_t modified_ns{0};
    std::uint64_t inode{0};
    friend bool operator==(const Stamp&, const Stamp&) = default;
};

struct FolderSnapshot {
    bool complete{false};  // False: too large, or unreadable.
    std::unordered_map<std::string, Stamp> entries{};
};

// Looks at every entry below `root` without following links. Version-control internals (`.git`) and
// the entries of `root` itself that `left_out` names are left out. Blocks; run it off the loop.
FolderSnapshot take_snapshot(const std::filesystem::path& root,
                             std::size_t entries_max = kObservedEntriesMax,
                             std::span<const char* const> left_out = {});

// Paths are relative to the folder, each list sorted. A file whose stamp moved unchanged to another
// name is a rename.
domain::Effects compare(const FolderSnapshot& before, const FolderSnapshot& after);

}  // namespace tools
