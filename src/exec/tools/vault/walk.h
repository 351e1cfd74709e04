// What is in a vault, folder by folder, in the order of names.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <string_view>

#include "exec/tools/vault/root.h"

namespace vault {

inline constexpr std::size_t kEntriesMax = 100'000;
inline constexpr std::string_view kTrash = ".trash";
// Prefix of our own temporary files, which are never listed.
inline constexpr std::string_view kTemporaryPrefix = ".holon-write-";

struct Entry {
    std::string path;
    Kind kind{Kind::File};
    std::uint64_t bytes{0};
    std::int64_t mtime_ms{0};
    friend bool operator==(const Entry&, const Entry&) = default;
};

struct WalkOptions {
    std::string folder{};
    bool recursive{true};
    // Also files that ignore files exclude; .git and .trash are never shown.
    bool with_ignored{false};
    const std::atomic<bool>* stop{nullptr};  // Checked between entries.
};

struct Walked {
    bool truncated{false};   // There are more than kEntriesMax entries, or `visit` had enough.
    std::size_t unnamed{0};  // Entries whose names are not UTF-8: no path can name them.
    std::size_t hidden{0};   // Entries that the permit of the root leaves out.
};

// Calls `visit` for everything below the folder until it returns false. Links are shown, not
// followed.
Outcome<Walked> walk(const Root& root, const WalkOptions& options,
                     const std::function<bool(const Entry&)>& visit);

}  // namespace vault
