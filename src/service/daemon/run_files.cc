#include "service/daemon/run_files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <fstream>
#include <iterator>
#include <sstream>

#include "base/text.h"

namespace service {
namespace {

constexpr std::size_t kFileBytesMax = 256 * 1024;

base::Result<base::Fd> open_lock(const std::filesystem::path& file) {
    TRY(base::make_folders(file.parent_path(), 0700));
    base::Fd fd(open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (!fd) return base::fail_errno("open " + file.string());
    return fd;
}

std::optional<json::value> read_json(const std::filesystem::path& file) {
    const auto text = base::read_file(file, kFileBytesMax);
    if (!text) return std::nullopt;
    auto parsed = base::parse_json(*text);
    return parsed ? std::optional(std::move(*parsed)) : std::nullopt;
}

base::Status write_json(const std::filesystem::path& file, const json::value& value) {
    TRY(base::make_folders(file.parent_path(), 0700));
    return base::write_file_atomic(file, base::pretty_json(value) + "\n", 0600);
}

}  // namespace

std::filesystem::path RunFiles::failure(FailurePhase phase) const {
    switch (phase) {
        case FailurePhase::Startup:
            return folder / "startup_failure.json";
        case FailurePhase::Shutdown:
            return folder / "shutdown_failure.json";
        case FailurePhase::RuntimeTurn:
            return last_failure();
    }
    return last_failure();
}

std::vector<std::filesystem::path> RunFiles::left_behind() const {
    std::vector<std::filesystem::path> list;
    for (const auto& file : {pid(), metadata(), socket})
        if (std::error_code failed; std::filesystem::exists(symlink_status(file, failed)))
            list.push_back(file);
    return list;
}

base::Result<base::Fd> lock_runtime(const RunFiles& files) {
    base::Fd fd = TRY(open_lock(files.runtime_lock()));
    if (flock(fd.get(), LOCK_EX | LOCK_NB) == 0) return fd;
    const auto pid = read_pid(files);
    return base::fail(
        base::ErrorCode::Conflict, "another daemon{} runs on {}; see holon daemon status",
        pid ? fmt::format(" (pid {})", *pid) : "", files.folder.parent_path().string());
}

bool is_runtime_locked(const RunFiles& files) {
    const base::Fd fd(open(files.runtime_lock().c_str(), O_RDONLY | O_CLOEXEC));
    return fd && flock(fd.get(), LOCK_SH | LOCK_NB) != 0;
}

bool has_lock_open(const RunFiles& files, pid_t pid) {
    struct stat lock{};
    if (stat(files.runtime_lock().c_str(), &lock) != 0) return false;
    // Files of /proc have no size.
    std::ifstream table("/proc/locks");
    const std::string locks{std::istreambuf_iterator<char>(table), {}};
    if (is_lock_holder(locks, pid, lock.st_ino)) return true;
    std::error_code failed;
    const std::filesystem::path folder = fmt::format("/proc/{}/fd", pid);
    for (std::filesystem::directory_iterator entry(folder, failed), end; !failed && entry != end;
         entry.increment(failed)) {
        struct stat open{};
        if (stat(entry->path().c_str(), &open) == 0 && open.st_dev == lock.st_dev &&
            open.st_ino == lock.st_ino)
            return true;
    }
    return false;
}

bool is_lock_holder(std::string_view locks, pid_t pid, std::uint64_t inode) {
    // "12: FLOCK  ADVISORY  WRITE 4711 08:01:131 0 EOF"; "->" after the number marks a waiter. The
    // device is left out: some file systems show another one here than stat() does.
    for (const auto line : base::split_lines(locks)) {
        std::istringstream words{std::string(line)};
        std::string number, kind, mode, access, file;
        long holder = 0;
        if (!(words >> number >> kind >> mode >> access >> holder >> file) || kind != "FLOCK")
            continue;
        if (holder == pid && file.ends_with(fmt::format(":{}", inode))) return true;
    }
    return false;
}

base::Result<base::Fd> lock_lifecycle(const RunFiles& files) {
    base::Fd fd = TRY(open_lock(files.lifecycle_lock()));
    while (flock(fd.get(), LOCK_EX) != 0)
        if (errno != EINTR) return base::fail_errno("lock " + files.lifecycle_lock().string());
    return fd;
}

base::Status write_metadata(const RunFiles& files, const DaemonMetadata& metadata) {
    TRY(base::write_file_atomic(files.pid(), fmt::format("{}\n", metadata.pid), 0600));
    return write_json(files.metadata(), base::to_json(metadata));
}

std::optional<DaemonMetadata> read_metadata(const RunFiles& files) {
    const auto value = read_json(files.metadata());
    if (!value) return std::nullopt;
    auto metadata = base::from_json<DaemonMetadata>(*value);
    return metadata ? std::optional(std::move(*metadata)) : std::nullopt;
}

std::optional<pid_t> read_pid(const RunFiles& files) {
    const auto text = base::read_file(files.pid(), kFileBytesMax);
    if (!text) return std::nullopt;
    const auto digits = base::trim(*text);
    pid_t pid = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), pid);
    if (error != std::errc{} || end != digits.data() + digits.size() || pid <= 0)
        return std::nullopt;
    return pid;
}

base::Status record_failure(const RunFiles& files, const FailureSummary& failure) {
    TRY(write_json(files.failure(failure.phase), base::to_json(failure)));
    return write_json(files.last_failure(), base::to_json(failure));
}

std::optional<FailureSummary> read_failure(const std::filesystem::path& file) {
    const auto value = read_json(file);
    if (!value) return std::nullopt;
    auto failure = base::from_json<FailureSummary>(*value);
    return failure ? std::optional(std::move(*failure)) : std::nullopt;
}

void clear_failures(const RunFiles& files) {
    std::error_code ignored;
    for (const auto phase : {FailurePhase::Startup, FailurePhase::Shutdown})
        std::filesystem::remove(files.failure(phase), ignored);
    std::filesystem::remove(files.last_failure(), ignored);
}

void remove_state(const RunFiles& files) {
    std::error_code ignored;
    for (const auto& file : files.left_behind()) std::filesystem::remove(file, ignored);
}

}  // namespace service
