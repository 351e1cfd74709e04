#include "provider/http/sse.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace provider {
namespace {

constexpr std::size_t kEventIdBytesMax = 1024;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// Where the first line ends. One search for either byte would check each byte on its own.
std::size_t end_of_line(std::string_view text) {
    const std::size_t newline = std::min(text.find('\n'), text.size());
    return std::min(text.substr(0, newline).find('\r'), newline);
}

}  // namespace

void SseReader::add(std::string_view chunk, const Handler& on_event) {
    while (!chunk.empty()) {
        if (std::exchange(after_cr_, false) && chunk.front() == '\n') {
            chunk.remove_prefix(1);
            continue;
        }
        const std::string_view line = chunk.substr(0, end_of_line(chunk));
        chunk.remove_prefix(line.size());
        if (chunk.empty()) {
            line_ += line;
            return;
        }
        after_cr_ = chunk.front() == '\r';
        chunk.remove_prefix(1);
        if (line_.empty())
            take_line(line, on_event);
        else
            take_line(std::exchange(line_, {}).append(line), on_event);
    }
}

void SseReader::finish(const Handler& on_event) {
    if (!line_.empty()) take_line(std::exchange(line_, {}), on_event);
    end_event(on_event);
}

void SseReader::take_line(std::string_view line, const Handler& on_event) {
    if (std::exchange(at_start_, false) && line.starts_with(kByteOrderMark))
        line.remove_prefix(kByteOrderMark.size());
    if (line.empty()) return end_event(on_event);
    const std::size_t colon = std::min(line.find(':'), line.size());
    const std::string_view field = line.substr(0, colon);
    line.remove_prefix(std::min(colon + 1, line.size()));
    if (line.starts_with(' ')) line.remove_prefix(1);
    if (field == "id" && line.size() <= kEventIdBytesMax && !line.contains('\0')) id_ = line;
    if (field == "retry") {
        std::int64_t wait = 0;
        const auto [end, failed] = std::from_chars(line.data(), line.data() + line.size(), wait);
        if (failed == std::errc() && end == line.data() + line.size() && wait >= 0)
            retry_ = std::chrono::milliseconds(wait);
    }
    if (field != "data") return;
    if (has_data_) data_ += '\n';
    data_ += line;
    has_data_ = true;
}

void SseReader::end_event(const Handler& on_event) {
    if (!id_.empty()) last_id_ = id_;
    if (!std::exchange(has_data_, false)) return;
    std::string data = std::exchange(data_, {});
    on_event(data);
    if (data_.empty()) std::swap(data_, data);  // Its room is used again.
    data_.clear();
}

}  // namespace provider
