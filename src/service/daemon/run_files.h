// The daemon's files in <home>/run/, for operators and clients.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/os/files.h"
#include "base/time.h"
#include "base/typed.h"
#include "service/daemon/access/serve_options.h"

namespace service {

// daemon.json
struct DaemonMetadata {
    std::int64_t pid{0};
    std::string home_dir;
    std::string socket_path;
    std::string http_addr;
    base::Time started_at{};
    std::string config_fingerprint;
    std::optional<RecordedOptions> serve_options{};
    friend bool operator==(const DaemonMetadata&, const DaemonMetadata&) = delete;
};
BOOST_DESCRIBE_STRUCT(DaemonMetadata, (),
                      (pid, home_dir, socket_path, http_addr, started_at, config_fingerprint,
                       serve_options))

enum class FailurePhase { Startup, Shutdown, RuntimeTurn };
BOOST_DESCRIBE_ENUM(FailurePhase, Startup, Shutdown, RuntimeTurn)

struct FailureSummary {
    base::Time occurred_at{};
    std::string summary;
    FailurePhase phase{FailurePhase::Startup};
    std::optional<std::string> detail_hint{};
    std::optional<json::value> failure_artifact{};
};
BOOST_DESCRIBE_STRUCT(FailureSummary, (),
                      (occurred_at, summary, phase, detail_hint, failure_artifact))

struct RunFiles {
    std::filesystem::path folder;
    std::filesystem::path socket;

    std::filesystem::path pid() const { return folder / "holon.pid"; }
    std::filesystem::path metadata() const { return folder / "daemon.json"; }
    std::filesystem::path log() const { return folder / "daemon.log"; }
    std::filesystem::path last_failure() const { return folder / "last_failure.json"; }
    std::filesystem::path failure(FailurePhase phase) const;
    // The kernel knows the holder of these; their content means nothing.
    std::filesystem::path runtime_lock() const { return folder / "holon.lock"; }
    std::filesystem::path lifecycle_lock() const { return folder / "daemon.lock"; }

    // Those of pid, metadata and socket that are there.
    std::vector<std::filesystem::path> left_behind() const;
};

// The daemon of a home holds its lock for life. Conflict while another process does.
base::Result<base::Fd> lock_runtime(const RunFiles& files);
bool is_runtime_locked(const RunFiles& files);
// Does this process have the lock file open? Only its holder does for long. The daemon is not
// dumpable, so another process of its user learns it from the kernel's table of locks.
bool has_lock_open(const RunFiles& files, pid_t pid);
// Does a line of /proc/locks say that `pid` holds a lock on the file `inode`? Pure.
bool is_lock_holder(std::string_view locks, pid_t pid, std::uint64_t inode);
// Waits for other commands that start or stop the daemon of this home; each of them is bounded.
base::Result<base::Fd> lock_lifecycle(const RunFiles& files);

base::Status write_metadata(const RunFiles& files, const DaemonMetadata& metadata);
// Empty when it is missing or cannot be read: leftovers of a crash are no error.
std::optional<DaemonMetadata> read_metadata(const RunFiles& files);
std::optional<pid_t> read_pid(const RunFiles& files);

// Also kept as the last failure.
base::Status record_failure(const RunFiles& files, const FailureSummary& failure);
std::optional<FailureSummary> read_failure(const std::filesystem::path& file);
void clear_failures(const RunFiles& files);

// Removes pid, metadata and socket file. Only for a caller that knows that no process uses them.
void remove_state(const RunFiles& files);

}  // namespace service
