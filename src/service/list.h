// A list that may be long, in parts.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace service {

inline constexpr std::int64_t kListedMax = 10'000;  // In one part, whatever its query says.

// The newest `limit` entries, or those before the ones of an earlier part.
struct ListQuery {
    std::int64_t limit{50};
    std::string before{};  // The `next` of that part; empty: the newest.
};

template <class T>
struct Listed {
    std::vector<T> items;
    std::string next{};  // Where the next part begins; empty when there is nothing older.
    friend bool operator==(const Listed&, const Listed&) = default;
};

// How many rows to read for a part: one more than it may have shows whether there is another.
constexpr std::int64_t rows_for(const ListQuery& query) {
    return std::clamp<std::int64_t>(query.limit, 0, kListedMax) + 1;
}

// The part of these rows, newest first. `name_of` a row is what the next part comes before. Pure.
template <class T, class NameOf>
Listed<T> listed(std::vector<T> rows, const ListQuery& query, NameOf name_of) {
    const auto limit = static_cast<std::size_t>(rows_for(query) - 1);
    Listed<T> part{.items = std::move(rows)};
    if (part.items.size() <= limit) return part;
    part.items.erase(part.items.begin() + static_cast<std::ptrdiff_t>(limit), part.items.end());
    if (!part.items.empty()) part.next = name_of(part.items.back());
    return part;
}

}  // namespace service
