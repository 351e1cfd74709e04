#include "exec/tasks/output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ranges>

#include "base/os/files.h"
#include "base/scan/secrets.h"
#include "base/text.h"

namespace tasks {
namespace {

constexpr std::int64_t kCharsPerToken = 4;
constexpr std::size_t kCharBytesMax = 4;  // Of one character in UTF-8.

base::Result<std::string> read_at(const base::Fd& file, off_t offset, std::size_t bytes,
                                  const std::string& name) {
    std::string piece(bytes, '\0');
    std::size_t have = 0;
    while (have < bytes) {
        const ssize_t got = ::pread(file.get(), piece.data() + have, bytes - have,
                                    offset + static_cast<off_t>(have));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return base::fail_errno(fmt::format("read {}", name));
        if (got == 0) break;
        have += static_cast<std::size_t>(got);
    }
    piece.resize(have);
    return piece;
}

}  // namespace

std::size_t output_chars(const std::optional<std::int64_t>& max_output_tokens) {
    if (!max_output_tokens || *max_output_tokens <= 0) return kOutputCharsMax;
    const auto asked = static_cast<std::uint64_t>(*max_output_tokens);
    return asked >= kOutputCharsMax / kCharsPerToken
               ? kOutputCharsMax
               : static_cast<std::size_t>(asked) * kCharsPerToken;
}

base::Result<base::CapturedStream> read_ends(const std::filesystem::path& path, std::size_t chars) {
    const base::Fd file(
        ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW));
    struct stat info{};
    if (!file || ::fstat(file.get(), &info) != 0)
        return base::fail_errno(fmt::format("open {}", path.string()));
    if (!S_ISREG(info.st_mode))
        return base::fail(base::ErrorCode::InvalidInput, "{} is not a regular file", path.string());
    const auto size = static_cast<std::size_t>(info.st_size);
    const std::size_t half = chars * kCharBytesMax;
    base::CapturedStream stream{.spilled = size > 2 * half, .bytes = size};
    stream.head = TRY(read_at(file, 0, stream.spilled ? half : size, path.string()));
    if (stream.spilled)
        stream.tail = TRY(read_at(file, static_cast<off_t>(size - half), half, path.string()));
    else
        stream.lines = static_cast<std::uint64_t>(std::ranges::count(stream.head, '\n')) +
                       (stream.head.empty() || stream.head.ends_with('\n') ? 0 : 1);
    return stream;
}

base::Result<std::string> last_line(const std::filesystem::path& file, std::size_t chars) {
    const auto ends = TRY(read_ends(file, chars));
    const auto lines = base::split_lines(ends.spilled ? ends.tail : ends.head);
    for (const auto line : lines | std::views::reverse) {
        const auto text = base::trim(line);
        if (text.empty()) continue;
        return base::ellipsize(
            base::to_utf8(scan::without_secrets(std::string(text), scan::Cut::AtStart)), chars);
    }
    return std::string();
}

Shown show_output(const domain::Task& task) {
    const auto detail = detail_of(task);
    if (detail.output_withheld) return {.text = *detail.output_withheld, .is_there = true};
    const std::size_t chars = output_chars(detail.max_output_tokens);
    if (detail.output_path)
        if (const auto ends = read_ends(*detail.output_path, chars)) {
            auto preview = results::preview(*ends, chars);
            return {std::move(preview.text), preview.truncated, true, true};
        }
    const auto& kept = detail.output_summary ? detail.output_summary : detail.initial_output;
    if (!kept) return {};
    return {*kept, detail.output_truncated.value_or(false), false, true};
}

}  // namespace tasks
