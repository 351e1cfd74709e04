#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "exec/gate/document/write.h"

namespace gate {

using base::ErrorCode;
using base::fail;
namespace fs = std::filesystem;

namespace {

constexpr int kMakeAttemptsMax = 8;

base::Fd open_folder(const fs::path& path) {
    return base::Fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
}

// Whether `path` still names the folder behind `fd`: it may have been removed, and made anew,
// between making it and locking it.
bool is_at(const base::Fd& fd, const fs::path& path) {
    struct stat own{}, named{};
    return ::fstat(fd.get(), &own) == 0 && ::lstat(path.c_str(), &named) == 0 &&
           own.st_dev == named.st_dev && own.st_ino == named.st_ino;
}

bool lock_now(const base::Fd& fd) {
    return ::flock(fd.get(), LOCK_EX | LOCK_NB) == 0;
}

fs::path writing_path(const fs::path& outbox, const std::string& result_id) {
    return outbox / (std::string(kWritingPrefix) + result_id);
}

// True when nobody wrote it any more, so that it is gone now.
bool remove_if_abandoned(const fs::path& path) {
    const base::Fd fd = open_folder(path);
    if (fd && (!lock_now(fd) || !is_at(fd, path))) return false;
    std::error_code failed;
    return fs::remove_all(path, failed) > 0 && !failed;
}

}  // namespace

base::Result<WritingFolder> WritingFolder::make(const fs::path& outbox,
                                                const std::string& result_id) {
    TRY(base::make_folders(outbox, 0700));
    const fs::path path = writing_path(outbox, result_id);
    for (int attempt = 0; attempt < kMakeAttemptsMax; ++attempt) {
        if (::mkdir(path.c_str(), 0700) != 0) {
            if (errno != EEXIST)
                return base::fail_errno(fmt::format("create a folder in {}", outbox.string()));
            if (!remove_if_abandoned(path)) break;
            continue;
        }
        base::Fd lock = open_folder(path);
        // Another process that holds it believes it abandoned, and removes or releases it soon.
        if (lock && ::flock(lock.get(), LOCK_EX) == 0 && is_at(lock, path))
            return WritingFolder(path, outbox / result_id, std::move(lock));
    }
    return fail(ErrorCode::Conflict, "the result {} is being written by another process",
                result_id);
}

WritingFolder::~WritingFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
}

base::Status WritingFolder::publish() {
    if (::rename(path_.c_str(), target_.c_str()) != 0) {
        if (errno == ENOTEMPTY || errno == EEXIST)
            return fail(ErrorCode::Conflict, "the result {} is there already",
                        target_.filename().string());
        return base::fail_errno("name a result");
    }
    path_.clear();
    const base::Fd outbox = open_folder(target_.parent_path());
    if (!outbox || ::fsync(outbox.get()) != 0)
        return base::fail_errno(fmt::format("flush {}", target_.parent_path().string()));
    return {};
}

bool is_being_written(const fs::path& outbox, const std::string& result_id) {
    const base::Fd fd = open_folder(writing_path(outbox, result_id));
    return fd && !lock_now(fd);
}

base::Result<std::size_t> remove_abandoned(const fs::path& outbox) {
    std::vector<fs::path> found;
    std::error_code failed;
    fs::directory_iterator entry(outbox, failed);
    if (failed == std::errc::no_such_file_or_directory) return 0;
    for (; !failed && entry != fs::directory_iterator(); entry.increment(failed))
        if (entry->path().filename().string().starts_with(kWritingPrefix))
            found.push_back(entry->path());
    if (failed)
        return fail(ErrorCode::Io, "the folder {} cannot be read: {}", outbox.string(),
                    failed.message());
    std::size_t removed = 0;
    for (const auto& path : found) removed += remove_if_abandoned(path) ? 1 : 0;
    return removed;
}

}  // namespace gate
