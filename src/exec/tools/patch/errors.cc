#include "exec/tools/patch/errors.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace patch {
namespace {

constexpr std::size_t kPreviewCharsMax = 200;

struct RuleHint {
    std::string_view rule;
    std::string_view hint;
};

constexpr std::array kRuleHints{
    RuleHint{"wrong_patch_format", "Write the patch in the format that the tool describes."},
    RuleHint{"unknown_patch_format",
             "Start with `--- a/path`, `+++ b/path` and a hunk `@@ -1,3 +1,4 @@`, or with "
             "`*** Begin Patch`."},
    RuleHint{"unexpected_git_metadata",
             "Put git header lines between `diff --git a/path b/path` and `--- a/path` only."},
    RuleHint{"missing_file_header",
             "Begin each file with `--- a/path` and `+++ b/path`, one directly under the other."},
    RuleHint{"invalid_hunk_header",
             "Write hunk headers as `@@ -old_start,count +new_start,count @@`."},
    RuleHint{"missing_hunk", "Give each file at least one hunk with at least one line."},
    RuleHint{
        "invalid_hunk_empty_line",
        "Write an empty line as a single space when it is kept, as `+` when it is added and as "
        "`-` when it is removed."},
    RuleHint{"invalid_hunk_line",
             "Begin each line of a hunk with a space (kept), `+` (added) or `-` (removed)."},
    RuleHint{"invalid_git_header",
             "Write `diff --git a/path b/path`, with paths in double quotes if they have special "
             "characters."},
    RuleHint{"path_header_mismatch",
             "Name the same path in all headers of one file, with /dev/null on one side to add or "
             "delete it."},
    RuleHint{"missing_rename_header",
             "To rename, write `diff --git a/old b/new`, `rename from old` and `rename to new`."},
    RuleHint{"missing_end_patch", "End the patch with a line `*** End Patch`."},
    RuleHint{"invalid_codex_add_line",
             "Begin each line below `*** Add File:` with `+`, empty ones included; give at least "
             "one."},
    RuleHint{"invalid_codex_change_line",
             "Begin each line below `*** Update File:` with a space (kept), `+` (added) or `-` "
             "(removed)."},
    RuleHint{"invalid_codex_hunk",
             "Use `*** Add File: path`, `*** Delete File: path` or `*** Update File: path` with at "
             "least one change below it."},
    RuleHint{"patch_too_large", "Split the patch into several smaller ones."},
    RuleHint{"file_too_large", "Change a file of this size with a command instead."},
};

std::string_view hint_for(std::string_view rule) {
    const auto* const found = std::ranges::find(kRuleHints, rule, &RuleHint::rule);
    return found == kRuleHints.end() ? std::string_view{} : found->hint;
}

}  // namespace

Failure failure(std::string_view kind, std::string_view message, json::object details,
                std::string_view hint) {
    domain::ToolError error{.kind = std::string(kind), .message = base::to_utf8(message)};
    error.details = std::move(details);
    if (!hint.empty()) error.recovery_hint = base::to_utf8(hint);
    return Failure(std::move(error));
}

Failure syntax_failure(std::string_view rule, std::string_view message, At at) {
    json::object details{{"rule", rule}};
    if (!at.path.empty()) details["path"] = base::to_utf8(at.path);
    if (at.line > 0) details["line"] = at.line;
    return failure("invalid_patch_syntax", message, std::move(details), hint_for(rule));
}

Failure unsupported_feature(std::string_view line) {
    return failure("unsupported_git_patch_feature",
                   "The patch uses a git feature that is not supported here.",
                   {{"line", preview(line)}},
                   "Send a text diff only: binary files, copies, links and submodules have to be "
                   "changed with commands.");
}

json::string preview(std::string_view bytes) {
    // Cut before conversion as well: a line may be as long as the file.
    const std::string text = base::to_utf8(bytes.substr(0, kPreviewCharsMax * 4 + 4));
    return json::string(base::ellipsize(text, kPreviewCharsMax));
}

}  // namespace patch
