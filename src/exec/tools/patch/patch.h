// The engine behind the tool ApplyPatch: a text that describes changes becomes changed files.
//
// All or nothing. Everything is parsed, located and computed before the first byte is written, and
// when a write fails, what was already done is undone: old bytes, modes and existence. No file
// outside the root is read or written, whatever links lie on the way.
#pragma once

#include <expected>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "domain/tool.h"
#include "exec/tools/patch/undo.h"

namespace patch {

inline constexpr std::size_t kPatchBytesMax = std::size_t{4} * 1024 * 1024;
inline constexpr std::size_t kPatchFilesMax = 500;
inline constexpr std::size_t kFileBytesMax = std::size_t{64} * 1024 * 1024;

enum class Format { UnifiedDiff, Freeform };  // Freeform is the `*** Begin Patch` grammar.
enum class Action { Add, Modify, Delete, Move };

// One file of a patch, with its paths as the patch writes them (a/ and b/ dropped).
struct FileChange {
    Action action{Action::Modify};
    std::string path;
    std::optional<std::string> from_path{};  // Set for a move.
    friend bool operator==(const FileChange&, const FileChange&) = default;
};

// A header line that was understood and had no effect: {"a.txt", "index", "1a2b..3c4d"}.
struct IgnoredMetadata {
    std::string path;
    std::string kind;
    std::string value;
    friend bool operator==(const IgnoredMetadata&, const IgnoredMetadata&) = default;
};

// A fault of the patch that was corrected. `path` is empty when it concerns them all.
struct Diagnostic {
    std::string path;
    std::string kind;
    std::string message;
    friend bool operator==(const Diagnostic&, const Diagnostic&) = default;
};

struct Applied {
    std::vector<FileChange> changed_files{};   // In the order of the patch.
    std::vector<std::string> changed_paths{};  // Absolute and sorted; removed ones included.
    std::vector<IgnoredMetadata> ignored_metadata{};
    std::vector<Diagnostic> diagnostics{};
    // With absolute paths. A file whose bytes stayed the same is not listed as modified.
    domain::Effects effects{};
    Undo undo{};  // Empty when nothing was kept.
    friend bool operator==(const Applied&, const Applied&) = default;
};

// Relative paths of a patch start at `cwd`; every path has to lie in `root`. Both are absolute.
struct Place {
    std::filesystem::path root;
    std::filesystem::path cwd;
};

// Applies `text`, read as `expected`, or as the other format when it is plainly written in that
// one. Any thread may call. If another process changes the same files meanwhile, this is detected
// and its change wins. An error means that no file has changed, unless its details name
// `not_restored`. With `keep`, the bytes of changed files are kept before anything changes.
std::expected<Applied, domain::ToolError> apply(std::string_view text, Format expected,
                                                const Place& place, const Keep& keep = nullptr);

}  // namespace patch
