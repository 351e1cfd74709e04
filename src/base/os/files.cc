#include "base/os/files.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>

namespace base {
namespace {

bool is_folder(const std::filesystem::path& path) {
    struct stat info{};
    return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

Status fill_file(const Fd& file, std::string_view bytes, mode_t mode, const std::string& path) {
    if (!write_all(file.get(), bytes)) return fail_errno(fmt::format("write {}", path));
    if (::fchmod(file.get(), mode) != 0) return fail_errno(fmt::format("set the mode of {}", path));
    if (::fsync(file.get()) != 0) return fail_errno(fmt::format("flush {}", path));
    return {};
}

// A rename is durable only when the folder that lists the name is.
Status flush_folder(const std::filesystem::path& folder) {
    const Fd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!fd || ::fsync(fd.get()) != 0)
        return fail_errno(fmt::format("flush the folder {}", folder.string()));
    return {};
}

}  // namespace

void Fd::reset(int fd) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = fd;
}

Result<std::string> read_file(const std::filesystem::path& path, std::size_t bytes_max) {
    // Non-blocking, because opening a pipe that nobody writes to would wait for ever.
    const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    struct stat info{};
    if (!file || ::fstat(file.get(), &info) != 0)
        return fail_errno(fmt::format("open {}", path.string()));
    if (!S_ISREG(info.st_mode))
        return fail(ErrorCode::InvalidInput, "{} is not a regular file", path.string());
    std::string content;
    std::array<char, 64 * 1024> buffer;
    // The size in `info` is a hint at best: files grow, and those in /proc say 0.
    content.reserve(std::min<std::size_t>(static_cast<std::size_t>(info.st_size), bytes_max));
    while (true) {
        const ssize_t got = ::read(file.get(), buffer.data(), buffer.size());
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return fail_errno(fmt::format("read {}", path.string()));
        if (got == 0) return content;
        if (static_cast<std::size_t>(got) > bytes_max - content.size())
            return fail(ErrorCode::InvalidInput, "{} is larger than {} bytes", path.string(),
                        bytes_max);
        content.append(buffer.data(), static_cast<std::size_t>(got));
    }
}

bool write_all(int fd, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t written = ::write(fd, bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return false;
        bytes.remove_prefix(static_cast<std::size_t>(written));
    }
    return true;
}

Result<Fd> memory_file(std::string_view bytes) {
    Fd file(::memfd_create("holon", MFD_CLOEXEC));
    if (!file || !write_all(file.get(), bytes) || ::lseek(file.get(), 0, SEEK_SET) != 0)
        return fail_errno("make a file in memory");
    return file;
}

Status write_file_atomic(const std::filesystem::path& path, std::string_view bytes, mode_t mode) {
    const auto folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
    // Not named after `path`: that name may already be as long as names can be.
    std::string temporary = (folder / ".write-XXXXXX").string();
    const Fd file(::mkostemp(temporary.data(), O_CLOEXEC));
    if (!file) return fail_errno(fmt::format("create a file in {}", folder.string()));
    auto written = fill_file(file, bytes, mode, path.string());
    if (written && ::rename(temporary.c_str(), path.c_str()) != 0)
        written = fail_errno(fmt::format("replace {}", path.string()));
    if (!written) {
        ::unlink(temporary.c_str());
        return written;
    }
    return flush_folder(folder);
}

Status make_folders(const std::filesystem::path& path, mode_t mode) {
    if (path.empty()) return fail(ErrorCode::InvalidInput, "the name of the folder is empty");
    std::filesystem::path made;
    for (const auto& part : path) {
        made /= part;
        if (is_folder(made) || ::mkdir(made.c_str(), mode) == 0) continue;
        if (errno != EEXIST) return fail_errno(fmt::format("create the folder {}", made.string()));
        // Another process may have created it since our check.
        if (!is_folder(made))
            return fail(ErrorCode::Conflict, "{} exists and is not a folder", made.string());
    }
    return {};
}

}  // namespace base
