#include "base/log/log_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

namespace base {
namespace {

bool is_same_file(int a, int b) {
    struct stat first{}, second{};
    return fstat(a, &first) == 0 && fstat(b, &second) == 0 && first.st_dev == second.st_dev &&
           first.st_ino == second.st_ino;
}

std::filesystem::path numbered(const std::filesystem::path& path, int number) {
    return path.string() + fmt::format(".{}", number);
}

}  // namespace

Result<std::unique_ptr<LogFile>> LogFile::open(const std::filesystem::path& path,
                                               std::size_t bytes_max) {
    TRY(make_folders(path.parent_path(), 0700));
    std::unique_ptr<LogFile> log(new LogFile(path, bytes_max));
    TRY(log->open_locked());
    return log;
}

Status LogFile::open_locked() {
    Fd fd(::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
    if (!fd) return fail_errno("open " + path_.string());
    struct stat info{};
    bytes_ = fstat(fd.get(), &info) == 0 ? static_cast<std::size_t>(info.st_size) : 0;
    for (const int standard : {STDOUT_FILENO, STDERR_FILENO})
        if (fd_ && is_same_file(standard, fd_.get())) dup2(fd.get(), standard);
    fd_ = std::move(fd);
    return {};
}

void LogFile::write(std::string_view line) {
    const std::scoped_lock lock(mutex_);
    if (bytes_ > 0 && bytes_ + line.size() + 1 > bytes_max_) rotate();
    write_all(fd_.get(), std::string(line) + "\n");
    bytes_ += line.size() + 1;
}

void LogFile::rotate() {
    std::error_code ignored;
    for (int number = kOldLogsMax - 1; number >= 1; --number)
        std::filesystem::rename(numbered(path_, number), numbered(path_, number + 1), ignored);
    std::filesystem::rename(path_, numbered(path_, 1), ignored);
    // If no new file can be opened, logging continues in the old one, under its new name.
    if (!open_locked()) bytes_ = 0;
}

Status LogFile::reopen() {
    const std::scoped_lock lock(mutex_);
    return open_locked();
}

}  // namespace base
