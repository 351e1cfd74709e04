// The file-mutation family's result.
#pragma once

#include "base/typed.h"
#include "exec/results/project.h"
#include "exec/tools/patch/patch.h"

namespace builtin {

// More changed files or diagnostics than these are counted, not listed; more metadata is left out.
inline constexpr std::size_t kChangedFilesShown = 200;
inline constexpr std::size_t kIgnoredMetadataShown = 50;
inline constexpr std::size_t kMetadataCharsMax = 200;
inline constexpr std::size_t kDiagnosticsShown = 8;
inline constexpr std::size_t kDiagnosticCharsMax = 700;

struct ChangedFile {
    std::string action;  // add, modify, delete, move
    std::string path;
    std::optional<std::string> from_path{};
};
BOOST_DESCRIBE_STRUCT(ChangedFile, (), (action, path, from_path))
struct PatchNote {
    std::string path;
    std::string kind;
    std::optional<std::string> value{};
    std::optional<std::string> message{};
};
BOOST_DESCRIBE_STRUCT(PatchNote, (), (path, kind, value, message))
struct PatchResult {
    std::vector<ChangedFile> changed_files;
    std::vector<std::string> changed_paths;
    std::int64_t changed_file_count{0};
    std::optional<std::int64_t> omitted_file_count{};
    std::optional<std::vector<PatchNote>> ignored_metadata{};
    std::optional<std::vector<PatchNote>> diagnostics{};
    std::optional<std::int64_t> diagnostic_count{};
    std::optional<patch::Undo> undo{};  // For the operator; models are not shown it.
};
BOOST_DESCRIBE_STRUCT(PatchResult, (),
                      (changed_files, changed_paths, changed_file_count, omitted_file_count,
                       ignored_metadata, diagnostics, diagnostic_count, undo))

struct PatchOutput final : results::Output {
    patch::Applied applied;
    base::Result<results::Canonical> project(results::ArtifactSink& sink,
                                             const results::OutputPolicy& policy) const override;
};

std::string render_patch(const results::Envelope& envelope);

}  // namespace builtin
