#include "exec/tools/vault/root.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <set>
#include <thread>

#include "base/hash.h"
#include "base/os/fs/open_path.h"
#include "exec/tools/vault/changes/locks.h"
#include "exec/tools/vault/changes/overlay.h"
#include "exec/tools/vault/names.h"
#include "exec/tools/vault/walk.h"

namespace vault {
namespace {

// A rename elsewhere in the tree makes the kernel give up a ".." of a link with EAGAIN.
constexpr int kOpenTriesMax = 64;
constexpr std::size_t kReadBytes = 64 * 1024;
// A file that is written to is read so often, with pauses that double.
constexpr int kReadTriesMax = 10;
constexpr std::chrono::microseconds kReadPauseFirst{250};
// A file that changed within this time is checked for writers, or read twice; see is_whole(). One
// that a program has open for writing must not have changed for so long.
constexpr std::chrono::milliseconds kFreshMax{1'000};
constexpr std::chrono::milliseconds kAtRestMin{100};
// O_NONBLOCK: opening a pipe that nobody writes to would wait for ever.
constexpr int kReadFlags = O_RDONLY | O_NONBLOCK | O_NOCTTY;

Failure forbidden(std::string_view path) {
    return denied(path, "may not be touched by this run: its policy allows other paths",
                  "Do without it, or have the policy changed.");
}

// The vault's own place for what was deleted; what may be deleted may go there.
bool is_trash(std::string_view path) {
    return path == kTrash || path.starts_with(std::string(kTrash) + "/");
}

std::filesystem::path real_path(int fd) {
    std::error_code failed;
    return std::filesystem::read_symlink(fmt::format("/proc/self/fd/{}", fd), failed);
}

}  // namespace

Kind kind_of(const struct stat& status) {
    if (S_ISREG(status.st_mode)) return Kind::File;
    if (S_ISDIR(status.st_mode)) return Kind::Folder;
    return S_ISLNK(status.st_mode) ? Kind::Link : Kind::Special;
}

std::int64_t mtime_ms(const struct stat& status) {
    return std::int64_t{status.st_mtim.tv_sec} * 1000 + status.st_mtim.tv_nsec / 1'000'000;
}

std::string etag(std::string_view bytes) {
    return "sha256:" + base::sha256_hex(bytes);
}

Outcome<Root> Root::open(const std::filesystem::path& path, std::shared_ptr<const Permit> permit,
                         std::shared_ptr<const Overlay> overlay) {
    auto fd = base::open_without_links(path.lexically_normal(), O_RDONLY | O_DIRECTORY);
    if (fd) return Root(std::move(*fd), std::move(permit), std::move(overlay));
    const int why = fd.error().code == base::ErrorCode::Refused    ? ELOOP
                    : fd.error().code == base::ErrorCode::NotFound ? ENOENT
                                                                   : errno;
    return refused("Opening the vault", path.string(), why);
}

int Root::open_below(std::string_view path, int flags) const {
    const std::string name(path.empty() ? "." : path);
    // openat2 refuses flags that do not go together, so O_PATH must be alone with O_DIRECTORY.
    open_how how{.flags = static_cast<__u64>(flags | O_CLOEXEC),
                 .mode = 0,
                 .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS};
    for (int tries = 0;; ++tries) {
        const long fd = ::syscall(SYS_openat2, fd_->get(), name.c_str(), &how, sizeof how);
        if (fd >= 0) return static_cast<int>(fd);
        if ((errno != EAGAIN && errno != EINTR) || tries == kOpenTriesMax) return -1;
    }
}

Outcome<void> Root::check_opened(int fd, std::string_view path) const {
    if (!permit_) return {};
    const auto real = real_path(fd).lexically_relative(real_path(fd_->get())).string();
    if (real == "." || permit_->allows(real) || is_trash(real)) return {};
    return forbidden(path);
}

Outcome<base::Fd> Root::folder(std::string_view path) const {
    if (!path.empty() && !may_enter(path)) return forbidden(path);
    base::Fd fd(open_below(path, O_RDONLY | O_DIRECTORY));
    if (!fd) return refused("Opening the folder", path, errno);
    return fd;
}

Outcome<Spot> Root::spot(std::string_view path) const {
    if (!allows(path) && !is_trash(path)) return forbidden(path);
    const std::string_view above = folder_of(path);
    Spot spot{.folder = fd_, .name = std::string(name_of(path))};
    if (above.empty()) return spot;
    spot.folder = std::make_shared<const base::Fd>(TRY(folder(above)));
    // A link may have led there under another name.
    const auto way = real_path(spot.fd()).lexically_relative(real_path(fd_->get()));
    if (is_protected({way.begin(), way.end()}))
        return denied(path, "belongs to version control", "Leave .git to git.");
    if (permit_ && !permit_->allows((way / spot.name).string()) && !is_trash(way.string()))
        return forbidden(path);
    return spot;
}

Outcome<Seen> Root::look(std::string_view path) const {
    if (path.empty()) return Seen{.kind = Kind::Folder};
    if (!may_enter(path) && !is_trash(path)) return forbidden(path);
    if (!overlay_) return look_on_disk(path);
    const auto place = overlay_->at(path);
    if (const auto* disk = std::get_if<Overlay::OnDisk>(&place)) return look_on_disk(disk->path);
    Seen seen;
    if (const auto* file = std::get_if<Overlay::File>(&place)) {
        seen.kind = Kind::File;
        seen.status.st_mode = S_IFREG | 0644;
        seen.status.st_size = static_cast<off_t>(file->bytes.size());
    } else if (std::holds_alternative<Overlay::Folder>(place)) {
        seen.kind = Kind::Folder;
        seen.status.st_mode = S_IFDIR | 0755;
    }
    return seen;
}

Outcome<void> Root::is_folder(std::string_view path) const {
    if (!overlay_) {
        TRY(folder(path));
        return {};
    }
    if (!path.empty() && !may_enter(path)) return forbidden(path);
    const auto place = overlay_->at(path);
    if (const auto* disk = std::get_if<Overlay::OnDisk>(&place)) {
        const base::Fd fd(open_below(disk->path, O_RDONLY | O_DIRECTORY));
        if (!fd) return refused("Opening the folder", path, errno);
        return {};
    }
    if (std::holds_alternative<Overlay::Folder>(place)) return {};
    return refused("Opening the folder", path,
                   std::holds_alternative<Overlay::Gone>(place) ? ENOENT : ENOTDIR);
}

Outcome<std::vector<std::string>> Root::children(std::string_view path) const {
    std::optional<std::string> on_disk(path);
    if (overlay_ && !path.empty()) {
        const auto place = overlay_->at(path);
        const auto* disk = std::get_if<Overlay::OnDisk>(&place);
        on_disk = disk ? std::optional(disk->path) : std::nullopt;
    }
    std::set<std::string> names;
    if (on_disk) {
        const int fd = open_below(*on_disk, O_RDONLY | O_DIRECTORY);
        const std::unique_ptr<DIR, int (*)(DIR*)> dir(fd < 0 ? nullptr : ::fdopendir(fd),
                                                      ::closedir);
        if (!dir) return refused("Listing", path, errno);
        while (const dirent* entry = ::readdir(dir.get()))
            if (const std::string_view name = entry->d_name; name != "." && name != "..")
                names.emplace(name);
    }
    if (overlay_)
        for (const auto& [name, is_there] : overlay_->names_in(path)) {
            if (is_there)
                names.insert(name);
            else
                names.erase(name);
        }
    return std::vector<std::string>(names.begin(), names.end());
}

Outcome<Seen> Root::look_on_disk(std::string_view path) const {
    const std::string_view above = folder_of(path);
    base::Fd opened;
    if (!above.empty()) opened.reset(open_below(above, O_PATH | O_DIRECTORY));
    const int folder = above.empty() ? fd_->get() : opened.get();
    Seen seen;
    if (folder >= 0 && ::fstatat(folder, std::string(name_of(path)).c_str(), &seen.status,
                                 AT_SYMLINK_NOFOLLOW) == 0) {
        seen.kind = kind_of(seen.status);
        return seen;
    }
    // What no file system can name is not there either.
    if (errno == ENOENT || errno == ENAMETOOLONG) return Seen{};
    return refused("Looking at", path, errno);
}

Outcome<base::Fd> Root::file(std::string_view path) const {
    if (!allows(path) && !is_trash(path)) return forbidden(path);
    base::Fd file(open_below(path, kReadFlags | O_NOFOLLOW));
    if (!file) return refused("Opening", path, errno);
    TRY(check_opened(file.get(), path));
    return file;
}

Outcome<Content> Root::read(std::string_view path, std::size_t bytes_max, bool follow) const {
    if (!allows(path)) return forbidden(path);
    if (!overlay_) return read_on_disk(path, bytes_max, follow);
    auto place = overlay_->at(path);
    if (const auto* disk = std::get_if<Overlay::OnDisk>(&place))
        return read_on_disk(disk->path, bytes_max, follow);
    auto* file = std::get_if<Overlay::File>(&place);
    if (!file)
        return refused("Reading", path,
                       std::holds_alternative<Overlay::Gone>(place) ? ENOENT : EISDIR);
    if (file->bytes.size() > bytes_max)
        return unfit(path, fmt::format("has more than {} bytes", bytes_max),
                     "Read a smaller file, or only its beginning.");
    Content content{.bytes = std::move(file->bytes)};
    content.status.st_mode = S_IFREG | 0644;
    return content;
}

namespace {

// Everything that a write changes.
bool is_same_version(const struct stat& a, const struct stat& b) {
    const auto is_same = [](const timespec& one, const timespec& other) {
        return one.tv_sec == other.tv_sec && one.tv_nsec == other.tv_nsec;
    };
    return a.st_size == b.st_size && is_same(a.st_mtim, b.st_mtim) && is_same(a.st_ctim, b.st_ctim);
}

// How long ago the file was changed. Of one that was changed just now the times do not tell
// everything: a write sets them when it begins, and kernels before 6.13 and many file systems count
// in ticks.
std::chrono::nanoseconds age_of(const struct stat& status) {
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    return std::chrono::seconds(now.tv_sec - status.st_ctim.tv_sec) +
           std::chrono::nanoseconds(now.tv_nsec - status.st_ctim.tv_nsec);
}

Outcome<Content> read_once(int file, std::string_view path, std::size_t bytes_max) {
    Content content;
    if (::fstat(file, &content.status) != 0) return refused("Looking at", path, errno);
    if (S_ISDIR(content.status.st_mode)) return refused("Reading", path, EISDIR);
    if (!S_ISREG(content.status.st_mode)) return refused("Reading", path, ENXIO);
    std::array<char, kReadBytes> buffer;
    while (true) {
        const ssize_t got =
            ::pread(file, buffer.data(), buffer.size(), static_cast<off_t>(content.bytes.size()));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return broken("Reading", path, errno);
        if (got == 0) return content;
        if (static_cast<std::size_t>(got) > bytes_max - content.bytes.size())
            return unfit(path, fmt::format("has more than {} bytes", bytes_max),
                         "Read a smaller file, or only its beginning.");
        content.bytes.append(buffer.data(), static_cast<std::size_t>(got));
    }
}

// Are the bytes one version of the file? A program that has it open for writing may be kept from
// running in the middle of a write: half of a version is there, and does not change. So the file
// has to be at rest for a while first.
bool is_whole(int file, const Content& content, std::string_view path, std::size_t bytes_max,
              bool has_writer) {
    struct stat after{};
    if (::fstat(file, &after) != 0 || !is_same_version(content.status, after)) return false;
    if (age_of(after) >= kFreshMax) return true;
    if (has_writer && age_of(after) < kAtRestMin) return false;
    const auto again = read_once(file, path, bytes_max);
    return again && again->bytes == content.bytes && is_same_version(again->status, after);
}

// `asks`: whether another program has the file open for writing is found out by a lease, so the
// caller must not hold one itself.
Outcome<Content> read_whole(int file, std::string_view path, std::size_t bytes_max, bool asks) {
    auto pause = kReadPauseFirst;
    for (int tries = 1;; ++tries) {
        Content content = TRY(read_once(file, path, bytes_max));
        // A lease that is released at once, so that nobody waits for it.
        const bool has_writer =
            asks && age_of(content.status) < kFreshMax && WriteGuard(file).is_busy();
        if (is_whole(file, content, path, bytes_max, has_writer)) return content;
        if (tries == kReadTriesMax) break;
        std::this_thread::sleep_for(pause);
        pause *= 2;
    }
    auto failure = busy(path);
    failure.error().retryable = true;
    return failure;
}

}  // namespace

Outcome<Content> Root::read_on_disk(std::string_view path, std::size_t bytes_max,
                                    bool follow) const {
    const base::Fd file(open_below(path, kReadFlags | (follow ? 0 : O_NOFOLLOW)));
    if (!file) return refused("Opening", path, errno);
    TRY(check_opened(file.get(), path));
    return read_whole(file.get(), path, bytes_max, true);
}

Outcome<Content> read_open(int file, std::string_view path, std::size_t bytes_max) {
    return read_whole(file, path, bytes_max, false);
}

}  // namespace vault
