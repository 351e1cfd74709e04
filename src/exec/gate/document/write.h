// Writes the result document of a finished request, and its artifacts next to it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/os/files.h"
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

// A folder of the outbox that is being written. It is locked, so that another process can tell it
// from one that a crash left; unless publish() named it, it is removed at the end.
class WritingFolder {
public:
    // Conflict when another process writes the result of this id just now.
    static base::Result<WritingFolder> make(const std::filesystem::path& outbox,
                                            const std::string& result_id);
    ~WritingFolder();
    WritingFolder(WritingFolder&&) noexcept = default;
    WritingFolder& operator=(WritingFolder&&) = delete;

    const std::filesystem::path& path() const { return path_; }
    // Gives it its final name, on disk. Conflict when there is a folder of this name.
    base::Status publish();

private:
    WritingFolder(std::filesystem::path path, std::filesystem::path target, base::Fd lock)
        : path_(std::move(path)), target_(std::move(target)), lock_(std::move(lock)) {}

    std::filesystem::path path_;  // Empty once it is named.
    std::filesystem::path target_;
    base::Fd lock_;
};

// Whether a process writes the result of this id into `outbox` just now.
bool is_being_written(const std::filesystem::path& outbox, const std::string& result_id);

// Removes the folders that processes were writing when they died, and returns how many. What a
// living process writes stays.
base::Result<std::size_t> remove_abandoned(const std::filesystem::path& outbox);

// Makes `outbox`/<result_id>/ with <result_id>.md and artifacts/ in it, and returns the id. The
// folder appears whole or not at all, and is on disk then. Conflict when it is there already;
// InvalidInput when the request cannot be put into a document. Reads and copies in pieces: memory
// does not grow with the output.
base::Result<std::string> write_result(const FinishedRequest& request,
                                       const std::filesystem::path& outbox,
                                       std::int64_t stream_lines_max = kStreamLinesDefault);
// The same with a folder that the caller has made; it is published on success.
base::Result<std::string> write_result(const FinishedRequest& request, WritingFolder& folder,
                                       std::int64_t stream_lines_max = kStreamLinesDefault);

}  // namespace gate
