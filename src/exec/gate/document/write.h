// Writes the result document of a finished request, and its artifacts next to it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"
#include "exec/gate/document/document.h"

namespace gate {

// Bytes in a file, or at hand.
using Source = std::variant<std::filesystem::path, std::string>;

struct ProducedFile {
    Source source;
    std::string path;  // Its name as an artifact.
    std::string description;
};

// What an execution boundary knows when a request has ended.
struct FinishedRequest {
    std::string request_id;  // "TR-…"
    std::string command;     // Exactly as it ran.
    std::string executor;
    std::string backend;
    std::optional<std::string> backend_version{};
    std::vector<std::pair<std::string, std::string>> limits{};
    std::int64_t exit_code{0};
    double runtime_sec{0};
    NetworkUsed network_used{NetworkUsed::None};
    std::vector<std::string> network_destinations{};
    // Instead of the list of destinations, where that would not say what is known.
    std::optional<std::string> network_note{};
    Source stdout_file;  // The whole streams.
    Source stderr_file;
    std::vector<ProducedFile> files{};
    std::optional<std::string> unexpected_behavior{};
    base::Time created{};
};

// How the folders are called that are being written.
inline constexpr std::string_view kWritingPrefix = ".writing-";

// Makes `outbox`/<result_id>/ with <result_id>.md and artifacts/ in it, and returns the id. The
// folder appears whole or not at all, and is on disk then. Conflict when it is there already;
// InvalidInput when the request cannot be put into a document. Reads and copies in pieces: memory
// does not grow with the output.
base::Result<std::string> write_result(const FinishedRequest& request,
                                       const std::filesystem::path& outbox,
                                       std::int64_t stream_lines_max = kStreamLinesDefault);

}  // namespace gate
