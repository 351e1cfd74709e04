// What a patch says, in whichever format it was written. Lines are views into the patch text.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "exec/tools/patch/patch.h"

namespace patch {

enum class LineKind { Context, Remove, Add };

struct Line {
    LineKind kind{LineKind::Context};
    std::string_view text{};      // Without its line ending.
    bool carriage_return{false};  // The line ended in CR LF while the patch around it did not.
    friend bool operator==(const Line&, const Line&) = default;
};

struct Hunk {
    std::size_t patch_line{0};  // Its line in the patch, from 1.
    std::size_t old_start{1};
    // The header has an old count of 0: lines are added behind old_start instead of before it.
    bool inserts_after{false};
    // When set, the hunk reaches the end of the file, which then has a final newline or not.
    std::optional<bool> final_newline{};
    std::vector<Line> lines{};
    friend bool operator==(const Hunk&, const Hunk&) = default;
};

struct FilePatch {
    Action action{Action::Modify};
    std::string path;
    std::optional<std::string> from_path{};
    std::optional<bool> executable{};    // The executable bit, when the patch sets it.
    bool deletes_whatever_is_in{false};  // Of a delete: the hunks need not list the content.
    std::vector<Hunk> hunks{};
    friend bool operator==(const FilePatch&, const FilePatch&) = default;
};

struct Parsed {
    std::vector<FilePatch> files{};
    std::vector<IgnoredMetadata> ignored_metadata{};
    std::vector<Diagnostic> diagnostics{};
    friend bool operator==(const Parsed&, const Parsed&) = default;
};

}  // namespace patch
