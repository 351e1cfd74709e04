// Plans that a model made without a given file.
#pragma once

#include <filesystem>
#include <string_view>

#include "base/result.h"

namespace cli {

inline constexpr std::size_t kDraftsMax = 100;

// Writes `text` into `folder` under a name that follows from `plan_hash`. The newest kDraftsMax
// drafts there are kept; files with other names are not ours and are left alone.
base::Result<std::filesystem::path> keep_draft(const std::filesystem::path& folder,
                                               std::string_view plan_hash, std::string_view text);

}  // namespace cli
