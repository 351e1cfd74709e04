#include "exec/tasks/supervisor/wire.h"

#include <algorithm>
#include <charconv>
#include <cstring>

namespace supervisor {
namespace {

using base::ErrorCode;

constexpr std::size_t kFrameHeadBytes = 5;
// The number of inherited files lies above the flags.
constexpr unsigned kFilesShift = 8;
constexpr std::size_t kFilesMax = 16;
// Input is the largest payload.
constexpr std::size_t kFrameBytesMax = kInputBytesMax;

void put_number(std::string& to, std::uint32_t number) {
    char bytes[sizeof number];
    std::memcpy(bytes, &number, sizeof number);
    to.append(bytes, sizeof number);
}

void put_text(std::string& to, std::string_view text) {
    put_number(to, static_cast<std::uint32_t>(text.size()));
    to += text;
}

// Takes pieces off the front; after a piece that is not there, everything is empty and bad.
class Taker {
public:
    explicit Taker(std::string_view bytes) : bytes_(bytes) {}

    std::uint32_t number() {
        std::uint32_t number = 0;
        const std::string_view piece = take(sizeof number);
        if (!bad_) std::memcpy(&number, piece.data(), sizeof number);
        return number;
    }
    std::string text() { return std::string(take(number())); }
    bool bad() const { return bad_; }
    bool done() const { return !bad_ && bytes_.empty(); }

private:
    std::string_view take(std::size_t size) {
        if (bad_ || size > bytes_.size()) {
            bad_ = true;
            return {};
        }
        const std::string_view piece = bytes_.substr(0, size);
        bytes_.remove_prefix(size);
        return piece;
    }

    std::string_view bytes_;
    bool bad_{false};
};

}  // namespace

bool operator==(const Request& a, const Request& b) {
    return encode(a) == encode(b);
}

std::string encode(const Request& request) {
    std::string bytes;
    put_number(bytes, kVersion);
    put_text(bytes, request.boot_id);
    put_number(bytes, (request.tty ? 1U : 0U) | (request.accepts_input ? 2U : 0U) |
                          static_cast<std::uint32_t>(request.process.files.size() << kFilesShift));
    put_text(bytes, request.log.string());
    put_text(bytes, std::to_string(request.log_bytes_max));
    put_text(bytes, request.process.cwd.string());
    put_number(bytes, static_cast<std::uint32_t>(request.process.argv.size()));
    for (const auto& argument : request.process.argv) put_text(bytes, argument);
    put_number(bytes, static_cast<std::uint32_t>(request.process.environment.size()));
    for (const auto& [name, value] : request.process.environment) {
        put_text(bytes, name);
        put_text(bytes, value);
    }
    return bytes;
}

base::Result<Request> decode(std::string_view bytes) {
    Taker taker(bytes);
    if (taker.number() != kVersion)
        return base::fail(ErrorCode::InvalidInput, "the request is of another version");
    Request request;
    request.boot_id = taker.text();
    const std::uint32_t flags = taker.number();
    request.tty = (flags & 1U) != 0;
    request.accepts_input = (flags & 2U) != 0;
    request.process.files.resize(std::min<std::size_t>(flags >> kFilesShift, kFilesMax));
    request.log = taker.text();
    const std::string bound = taker.text();
    std::from_chars(bound.data(), bound.data() + bound.size(), request.log_bytes_max);
    request.process.cwd = taker.text();
    for (std::uint32_t left = taker.number(); left > 0 && !taker.bad(); --left)
        request.process.argv.push_back(taker.text());
    for (std::uint32_t left = taker.number(); left > 0 && !taker.bad(); --left) {
        std::string name = taker.text();
        request.process.environment.emplace_back(std::move(name), taker.text());
    }
    if (!taker.done()) return base::fail(ErrorCode::InvalidInput, "the request is cut off");
    return request;
}

std::string encode(const Frame& frame) {
    std::string bytes(1, static_cast<char>(frame.kind));
    put_text(bytes, frame.payload);
    return bytes;
}

base::Result<std::optional<Frame>> FrameReader::next() {
    if (pending_.size() < kFrameHeadBytes) return std::nullopt;
    const std::uint32_t size = Taker(std::string_view(pending_).substr(1)).number();
    if (size > kFrameBytesMax || !std::string_view("icsar").contains(pending_[0]))
        return base::fail(ErrorCode::InvalidInput, "the peer sent no frame of version {}",
                          kVersion);
    if (pending_.size() < kFrameHeadBytes + size) return std::nullopt;
    Frame frame{static_cast<FrameKind>(pending_[0]), pending_.substr(kFrameHeadBytes, size)};
    pending_.erase(0, kFrameHeadBytes + size);
    return frame;
}

std::string encode(const std::vector<Segment>& segments) {
    std::string bytes;
    for (const auto& segment : segments) {
        bytes += segment.is_err ? 'e' : 'o';
        char number[sizeof segment.bytes];
        std::memcpy(number, &segment.bytes, sizeof number);
        bytes.append(number, sizeof number);
    }
    return bytes;
}

base::Result<std::vector<Segment>> decode_segments(std::string_view bytes) {
    if (bytes.size() % kSegmentBytes != 0)
        return base::fail(ErrorCode::Corrupt, "a list of segments is cut off");
    std::vector<Segment> segments;
    for (; !bytes.empty(); bytes.remove_prefix(kSegmentBytes)) {
        Segment segment{.is_err = bytes[0] == 'e'};
        std::memcpy(&segment.bytes, bytes.data() + 1, sizeof segment.bytes);
        segments.push_back(segment);
    }
    return segments;
}

}  // namespace supervisor
