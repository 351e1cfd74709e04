// The file-mutation family's result.
#pragma once

#include "exec/results/project.h"
#include "exec/tools/patch/patch.h"

namespace builtin {

// More changed files or diagnostics than these are counted, not listed; more metadata is left out.
inline constexpr std::size_t kChangedFilesShown = 200;
inline constexpr std::size_t kIgnoredMetadataShown = 50;
inline constexpr std::size_t kMetadataCharsMax = 200;
inline constexpr std::size_t kDiagnosticsShown = 8;
inline constexpr std::size_t kDiagnosticCharsMax = 700;

struct PatchOutput final : results::Output {
    patch::Applied applied;
    base::Result<results::Canonical> project(results::ArtifactSink& sink,
                                             const results::OutputPolicy& policy) const override;
};

std::string render_patch(const results::Envelope& envelope);

}  // namespace builtin
