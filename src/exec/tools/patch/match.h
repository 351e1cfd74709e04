// Where a hunk fits into a file, and what the file is afterwards. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "exec/tools/patch/errors.h"
#include "exec/tools/patch/model.h"

namespace patch {

// How many pairs of lines may be compared for one file, so that a hostile pair of patch and file
// costs about a second.
inline constexpr std::size_t kComparisonsMax = 100'000'000;

// The bytes of `file` with all `hunks` applied; `path` is for errors only.
//
// All hunks are located in the old file. The one place near the line number of the header wins,
// else the one place in the whole file; none is `context_not_found`, several are
// `ambiguous_context`; beyond `comparisons_max` the search is given up. A line that one hunk
// removed is not there for the next. Lines keep their endings, added ones take those of their
// neighbours, and the final newline is kept, unless the patch changes it.
Outcome<std::string> apply_hunks(std::string_view file, std::span<const Hunk> hunks,
                                 std::string_view path,
                                 std::size_t comparisons_max = kComparisonsMax);

// The bytes of a new file that consists of the added lines of `hunks`.
std::string new_content(std::span<const Hunk> hunks);

}  // namespace patch
