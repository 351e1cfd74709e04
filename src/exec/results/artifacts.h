#pragma once

#include "base/ids.h"
#include "exec/results/project.h"

namespace results {

// Artifacts of one agent: files of mode 0600 in one folder, never overwritten.
// `prefix` starts each name: "exec-command" gives exec-command-<32 hex>-stdout.log. A role with a
// suffix of its own keeps it: "image.png".
class FileArtifacts final : public ArtifactSink {
public:
    FileArtifacts(std::filesystem::path folder, std::string prefix, base::Ids& ids);
    base::Result<std::string> store(std::string_view role, std::string_view bytes) override;
    std::filesystem::path reserve(std::string_view role) override;

private:
    std::filesystem::path folder_;
    std::string prefix_;
    base::Ids& ids_;
};

}  // namespace results
