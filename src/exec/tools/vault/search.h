// Finding text in a vault, within bounds that hold for any size of vault.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "base/typed.h"
#include "exec/tools/vault/root.h"

namespace vault {

inline constexpr std::size_t kSearchHitsMax = 1000;
inline constexpr std::size_t kSearchFileBytesMax = kFileBytesMax;
inline constexpr std::size_t kSearchBytesMax = 256 * 1024 * 1024;
inline constexpr std::size_t kSearchLineCharsMax = 300;

struct Search {
    std::string query;
    bool regex{false};  // RE2 syntax; otherwise the query is plain text.
    bool case_sensitive{false};
    std::string folder{};
    std::optional<std::string> glob{};
    std::size_t hits_max{100};
    const std::atomic<bool>* stop{nullptr};
};

struct Hit {
    std::string path;
    std::int64_t line{0};    // From 1.
    std::int64_t column{0};  // Characters from 1.
    std::string text;        // The line, cut around the hit if it is long.
    friend bool operator==(const Hit&, const Hit&) = default;
};
BOOST_DESCRIBE_STRUCT(Hit, (), (path, line, column, text))

struct Found {
    std::vector<Hit> hits;   // One a line, in the order of paths and lines.
    std::size_t files{0};    // Searched.
    std::size_t skipped{0};  // Binary, too large, or beyond the bytes of one search.
    bool truncated{false};   // There is more than was searched or listed.
};

// Ignore files are respected; links are not followed.
Outcome<Found> search(const Root& root, const Search& search);

}  // namespace vault
