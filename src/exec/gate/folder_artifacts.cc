#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "base/os/files.h"
#include "exec/gate/validator.h"

namespace gate {

using base::ErrorCode;
using base::fail;

namespace {

class FileSource final : public ByteSource {
public:
    explicit FileSource(base::Fd file) : file_(std::move(file)) {}
    base::Result<std::uint64_t> size() override {
        struct stat info{};
        if (::fstat(file_.get(), &info) != 0) return base::fail_errno("measure an artifact");
        return static_cast<std::uint64_t>(info.st_size);
    }
    base::Result<std::size_t> read(char* into, std::size_t bytes) override {
        std::size_t filled = 0;
        while (filled < bytes) {
            const ssize_t got = ::read(file_.get(), into + filled, bytes - filled);
            if (got < 0 && errno == EINTR) continue;
            if (got < 0) return base::fail_errno("read an artifact");
            if (got == 0) break;
            filled += static_cast<std::size_t>(got);
        }
        return filled;
    }

private:
    base::Fd file_;
};

int open_beneath(int folder, const std::string& path) {
    open_how how{};
    how.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
    how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
    return static_cast<int>(::syscall(SYS_openat2, folder, path.c_str(), &how, sizeof how));
}

}  // namespace

base::Result<std::unique_ptr<ByteSource>> FolderArtifacts::open(const std::string& path) {
    const base::Fd folder(::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
    if (!folder) return fail(ErrorCode::NotFound, "there are no artifacts");
    base::Fd file(open_beneath(folder.get(), path));
    if (!file &&
        (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == EIO || errno == ENOSYS))
        return base::fail_errno("open an artifact");
    struct stat info{};
    if (!file || ::fstat(file.get(), &info) != 0)
        return fail(ErrorCode::NotFound, "the artifact is not there, or is reached by a link");
    if (!S_ISREG(info.st_mode))
        return fail(ErrorCode::InvalidInput, "the artifact is not a regular file");
    // Under its other name it could be changed once it is accepted.
    if (info.st_nlink > 1)
        return fail(ErrorCode::InvalidInput, "the artifact is a hard link to another file");
    return std::make_unique<FileSource>(std::move(file));
}

base::Result<std::vector<std::string>> FolderArtifacts::list(std::size_t paths_max) {
    namespace fs = std::filesystem;
    std::vector<std::string> paths;
    std::error_code failed;
    fs::recursive_directory_iterator walk(folder_, fs::directory_options::none, failed);
    if (failed == std::errc::no_such_file_or_directory) return paths;
    const fs::path root(folder_);
    for (; !failed && walk != fs::recursive_directory_iterator(); walk.increment(failed)) {
        if (walk->is_directory(failed) && !walk->is_symlink(failed)) continue;
        paths.push_back(walk->path().lexically_relative(root).string());
        if (paths.size() > paths_max) break;
    }
    if (failed) return fail(ErrorCode::Io, "the artifacts cannot be listed: {}", failed.message());
    return paths;
}

}  // namespace gate
