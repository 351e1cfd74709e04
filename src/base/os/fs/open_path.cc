#include "base/os/fs/open_path.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace base {
namespace {

namespace fs = std::filesystem;

std::unexpected<Error> refused(const fs::path& path) {
    return fail(ErrorCode::Refused,
                "{} is a symbolic link, leads through one, or leaves its folder; it is not opened",
                path.string());
}

std::unexpected<Error> open_failed(const fs::path& path) {
    if (errno == ELOOP || errno == EXDEV) return refused(path);
    if (errno == ENOENT || errno == ENOTDIR)
        return fail(ErrorCode::NotFound, "{} does not exist", path.string());
    return fail_errno("open " + path.string());
}

// One component after the other, for kernels and sandboxes without openat2.
int walk(int root, const fs::path& relative, int flags, mode_t mode) {
    Fd folder(::fcntl(root, F_DUPFD_CLOEXEC, 0));
    fs::path next;
    for (const auto& part : relative) {
        if (!next.empty()) {
            folder.reset(::openat(folder.get(), next.c_str(),
                                  O_PATH | O_NOFOLLOW | O_DIRECTORY | O_CLOEXEC));
            if (!folder) {
                if (errno == ENOTDIR) errno = ELOOP;
                return -1;
            }
        }
        next = part.empty() ? fs::path(".") : part;
    }
    const int opened = ::openat(folder.get(), next.empty() ? "." : next.c_str(),
                                flags | O_NOFOLLOW | O_CLOEXEC, mode);
    if (opened < 0) return -1;
    struct stat info{};  // With O_PATH, the link itself would be opened.
    if (::fstat(opened, &info) == 0 && S_ISLNK(info.st_mode)) {
        ::close(opened);
        errno = ELOOP;
        return -1;
    }
    return opened;
}

Result<Fd> open_in(int root, const fs::path& relative, const fs::path& shown, int flags,
                   mode_t mode, Links links = Links::Refuse) {
    if (std::ranges::find(relative, "..") != relative.end() || relative.native().contains('\0') ||
        relative.is_absolute())
        return refused(shown);
    const fs::path name = relative.empty() ? fs::path(".") : relative;
    open_how how{};
    how.flags = static_cast<std::uint64_t>(flags | O_CLOEXEC);
    how.mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? mode : 0;
    how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
    if (links == Links::Refuse) how.resolve |= RESOLVE_NO_SYMLINKS;
    long opened = ::syscall(SYS_openat2, root, name.c_str(), &how, sizeof how);
    if (opened < 0 && (errno == ENOSYS || errno == EPERM)) opened = walk(root, name, flags, mode);
    if (opened < 0) return open_failed(shown);
    return Fd(static_cast<int>(opened));
}

// False where it cannot be found out, too.
bool has_no_links(const fs::path& path) {
    open_how how{};
    how.flags = O_PATH | O_CLOEXEC;
    how.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
    const Fd opened(
        static_cast<int>(::syscall(SYS_openat2, AT_FDCWD, path.c_str(), &how, sizeof how)));
    return static_cast<bool>(opened);
}

}  // namespace

Result<FileId> file_id(int fd) {
    struct stat info{};
    if (::fstat(fd, &info) != 0) return fail_errno("identify a file");
    return FileId{info.st_dev, info.st_ino};
}

Result<Fd> open_without_links(const fs::path& path, int flags, mode_t mode) {
    if (!path.is_absolute())
        return fail(ErrorCode::InvalidInput, "{} is not an absolute path", path.string());
    const Fd top(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!top) return fail_errno("open /");
    return open_in(top.get(), path.relative_path(), path, flags, mode);
}

Result<Fd> open_beneath(int root, const fs::path& path, int flags, mode_t mode) {
    return open_in(root, path, path, flags, mode);
}

fs::path real_path(const fs::path& path, std::error_code& failed) {
    const bool is_plain =
        path.is_absolute() && path.has_filename() && path == path.lexically_normal();
    if (!is_plain || !has_no_links(path)) return fs::weakly_canonical(path, failed);
    failed.clear();
    return path;
}

Result<Fd> open_file_beneath(const fs::path& root, const fs::path& path, Links links) {
    const Fd folder(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!folder) return open_failed(root);
    Fd file = TRY(open_in(folder.get(), path, root / path, O_RDONLY | O_NONBLOCK, 0, links));
    struct stat info{};
    if (::fstat(file.get(), &info) != 0) return fail_errno("read " + path.string());
    if (!S_ISREG(info.st_mode))
        return fail(ErrorCode::InvalidInput, "{} is not a regular file", (root / path).string());
    return file;
}

Result<std::string> read_file_beneath(const fs::path& root, const fs::path& path,
                                      std::size_t bytes_max, Links links) {
    const Fd file = TRY(open_file_beneath(root, path, links));
    std::string bytes;
    char piece[16 * 1024];
    for (;;) {
        const ssize_t got = ::read(file.get(), piece, sizeof piece);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return fail_errno("read " + path.string());
        if (got == 0) return bytes;
        bytes.append(piece, static_cast<std::size_t>(got));
        if (bytes.size() > bytes_max)
            return fail(ErrorCode::InvalidInput, "{} is larger than {} bytes",
                        (root / path).string(), bytes_max);
    }
}

}  // namespace base
