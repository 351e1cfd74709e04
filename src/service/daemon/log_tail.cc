#include "service/daemon/log_tail.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

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

}  // namespace service
