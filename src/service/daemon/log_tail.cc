#include "service/daemon/log_tail.h"

#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>

#include "base/os/files.h"
#include "base/text.h"

namespace service {

std::vector<std::string> last_lines(std::string_view text, std::int64_t lines, bool is_cut) {
    auto all = base::split_lines(text);
    // The first of a cut text has lost its beginning.
    if (is_cut && !all.empty()) all.erase(all.begin());
    const auto wanted = static_cast<std::size_t>(std::max<std::int64_t>(lines, 0));
    std::vector<std::string> out;
    for (std::size_t i = all.size() > wanted ? all.size() - wanted : 0; i < all.size(); ++i) {
        const std::string line = base::to_utf8(all[i]);
        const bool is_long = base::char_count(line) > kTailLineChars;
        out.push_back(is_long ? "..." + std::string(base::last_chars(line, kTailLineChars)) : line);
    }
    return out;
}

base::Result<std::vector<std::string>> log_tail(const std::filesystem::path& file,
                                                std::int64_t lines) {
    const base::Fd fd(open(file.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd && errno == ENOENT) return std::vector<std::string>{};
    if (!fd) return base::fail_errno("open " + file.string());
    struct stat info{};
    if (fstat(fd.get(), &info) != 0) return base::fail_errno("read " + file.string());
    const auto size = static_cast<std::size_t>(std::max<off_t>(info.st_size, 0));
    const std::size_t start = size > kTailBytesMax ? size - kTailBytesMax : 0;
    std::string text(size - start, '\0');
    std::size_t have = 0;
    while (have < text.size()) {
        const ssize_t got = pread(fd.get(), text.data() + have, text.size() - have,
                                  static_cast<off_t>(start + have));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return base::fail_errno("read " + file.string());
        if (got == 0) break;
        have += static_cast<std::size_t>(got);
    }
    text.resize(have);
    return last_lines(text, lines, start > 0);
}

namespace {

// A log that is being written, from some place on.
class GrowingLog {
public:
    explicit GrowingLog(std::filesystem::path file) : file_(std::move(file)) {}

    void go_to_end() {
        reopen();
        struct stat info{};
        if (fd_ && fstat(fd_.get(), &info) == 0) offset_ = info.st_size;
    }
    // Shows what was added. False when `show` wants no more.
    bool show_new(const std::function<bool(const std::string&)>& show) {
        do {
            if (!show_rest(show)) return false;
        } while (reopen());
        return true;
    }

private:
    // True when another file has the name now.
    bool reopen() {
        base::Fd fresh(open(file_.c_str(), O_RDONLY | O_CLOEXEC));
        struct stat info{};
        if (!fresh || fstat(fresh.get(), &info) != 0) return false;
        if (fd_ && info.st_ino == inode_ && info.st_size >= offset_) return false;
        fd_ = std::move(fresh);
        inode_ = info.st_ino;
        offset_ = 0;
        return true;
    }
    bool show_rest(const std::function<bool(const std::string&)>& show) {
        std::array<char, 16 * 1024> buffer{};
        while (fd_) {
            const ssize_t got = pread(fd_.get(), buffer.data(), buffer.size(), offset_);
            if (got <= 0) return true;
            offset_ += got;
            partial_.append(buffer.data(), static_cast<std::size_t>(got));
            for (auto end = partial_.find('\n'); end != std::string::npos;
                 end = partial_.find('\n')) {
                if (!show(base::to_utf8(partial_.substr(0, end)))) return false;
                partial_.erase(0, end + 1);
            }
            if (partial_.size() > kTailBytesMax) partial_.clear();
        }
        return true;
    }

    std::filesystem::path file_;
    base::Fd fd_;
    ino_t inode_{0};
    off_t offset_{0};
    std::string partial_;
};

}  // namespace

base::Status follow_log(const std::filesystem::path& file,
                        const std::function<bool(const std::string& line)>& show) {
    const base::Fd changes(inotify_init1(IN_CLOEXEC));
    if (!changes) return base::fail_errno("watch " + file.string());
    if (inotify_add_watch(changes.get(), file.parent_path().c_str(),
                          IN_MODIFY | IN_CREATE | IN_MOVED_TO) < 0)
        return base::fail_errno("watch " + file.parent_path().string());
    GrowingLog log(file);
    log.go_to_end();
    std::array<char, 4096> news{};
    while (log.show_new(show)) {
        const ssize_t got = read(changes.get(), news.data(), news.size());
        if (got < 0 && errno != EINTR) return base::fail_errno("watch " + file.string());
    }
    return {};
}

}  // namespace service
