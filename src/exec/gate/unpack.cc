#include "exec/gate/unpack.h"

#include <zlib.h>

#include <algorithm>
#include <cstdint>

namespace gate {
namespace {

constexpr std::size_t kSampleBytes = 512;

std::uint32_t number_at(std::string_view bytes, std::size_t at, std::size_t size) {
    std::uint32_t number = 0;
    for (std::size_t i = size; i-- > 0;)
        number = number << 8 | static_cast<unsigned char>(bytes[at + i]);
    return number;
}

enum class Header { GzipOrZlib, None };

struct Inflated {
    std::string bytes;
    std::size_t consumed{0};
};

Inflated inflate_some(std::string_view packed, std::size_t bytes_max, Header header) {
    constexpr std::size_t kStep = std::size_t{64} << 10;
    Inflated out;
    z_stream stream{};
    if (inflateInit2(&stream, header == Header::None ? -15 : 15 + 32) != Z_OK) return out;
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
    stream.avail_in = static_cast<uInt>(std::min<std::size_t>(packed.size(), UINT32_MAX));
    for (int state = Z_OK; state == Z_OK && out.bytes.size() < bytes_max;) {
        const std::size_t filled = out.bytes.size();
        out.bytes.resize(std::min(bytes_max, filled + kStep));
        stream.next_out = reinterpret_cast<Bytef*>(out.bytes.data() + filled);
        stream.avail_out = static_cast<uInt>(out.bytes.size() - filled);
        state = ::inflate(&stream, Z_NO_FLUSH);
        out.bytes.resize(out.bytes.size() - stream.avail_out);
        if (out.bytes.size() == filled) break;
    }
    out.consumed = packed.size() - stream.avail_in;
    inflateEnd(&stream);
    return out;
}

class Unpacker {
public:
    explicit Unpacker(const VisitUnpacked& visit) : visit_(visit) {}

    void open(std::string_view bytes, const std::string& via, int depth) {
        if (depth > kUnpackDepthMax || left_ == 0) return;
        const auto name = [&](std::string_view kind) {
            return via.empty() ? std::string(kind) : via + ", " + std::string(kind);
        };
        if (is_zip(bytes)) {
            open_zip(bytes, name("zip"), depth);
        } else if (is_gzip(bytes)) {
            show(inflate_some(bytes, left_, Header::GzipOrZlib).bytes, name("gzip"), depth);
        } else if (is_utf16(bytes)) {
            show(utf16_to_utf8(bytes.substr(0, left_)), name("UTF-16"), depth);
        }
    }

private:
    void show(const std::string& inside, const std::string& via, int depth) {
        left_ -= std::min(left_, inside.size());
        if (inside.empty()) return;
        visit_(inside, via);
        open(inside, via, depth + 1);
    }

    // By the headers in front of the entries: the directory at the end may be missing or lie.
    void open_zip(std::string_view bytes, const std::string& via, int depth) {
        constexpr std::size_t kHeaderBytes = 30;
        constexpr std::uint32_t kStored = 0, kDeflated = 8;
        std::size_t at = 0;
        for (std::size_t n = 0; n < kZipEntriesMax && left_ > 0; ++n) {
            at = bytes.find("PK\x03\x04", at);
            if (at == bytes.npos || at + kHeaderBytes > bytes.size()) return;
            const auto method = number_at(bytes, at + 8, 2);
            const std::size_t packed_size = number_at(bytes, at + 18, 4);
            const std::size_t begin =
                at + kHeaderBytes + number_at(bytes, at + 26, 2) + number_at(bytes, at + 28, 2);
            if (begin > bytes.size()) return;
            const auto rest = bytes.substr(begin);
            std::size_t used = 0;
            if (method == kStored) {
                used = std::min({packed_size, rest.size(), left_});
                show(std::string(rest.substr(0, used)), via, depth);
            } else if (method == kDeflated) {
                const auto inflated = inflate_some(rest, left_, Header::None);
                used = inflated.consumed;
                show(inflated.bytes, via, depth);
            }
            at = begin + used;
        }
    }

    const VisitUnpacked& visit_;
    std::size_t left_{kUnpackedBytesMax};
};

void append_utf8(std::string& text, std::uint32_t code) {
    if (code < 0x80) {
        text += static_cast<char>(code);
    } else if (code < 0x800) {
        text += static_cast<char>(0xc0 | code >> 6);
        text += static_cast<char>(0x80 | (code & 63));
    } else if (code < 0x10000) {
        text += static_cast<char>(0xe0 | code >> 12);
        text += static_cast<char>(0x80 | (code >> 6 & 63));
        text += static_cast<char>(0x80 | (code & 63));
    } else {
        text += static_cast<char>(0xf0 | code >> 18);
        text += static_cast<char>(0x80 | (code >> 12 & 63));
        text += static_cast<char>(0x80 | (code >> 6 & 63));
        text += static_cast<char>(0x80 | (code & 63));
    }
}

bool has_little_mark(std::string_view bytes) {
    return bytes.starts_with("\xff\xfe");
}
bool has_big_mark(std::string_view bytes) {
    return bytes.starts_with("\xfe\xff");
}

// Zero bytes at even and at odd places of the beginning.
std::pair<std::size_t, std::size_t> zeros_in(std::string_view bytes) {
    std::pair<std::size_t, std::size_t> counts{0, 0};
    const auto sample = bytes.substr(0, kSampleBytes);
    for (std::size_t i = 0; i < sample.size(); ++i)
        if (sample[i] == '\0') ++(i % 2 == 0 ? counts.first : counts.second);
    return counts;
}

}  // namespace

bool is_utf16(std::string_view bytes) {
    if (bytes.size() < 4) return false;
    if (has_little_mark(bytes) || has_big_mark(bytes)) return true;
    const auto [even, odd] = zeros_in(bytes);
    const std::size_t pairs = std::min(bytes.size(), kSampleBytes) / 2;
    // Text of western languages has nearly all of its zeros in one of the two places.
    return (odd * 10 >= pairs * 7 && even * 10 <= pairs) ||
           (even * 10 >= pairs * 7 && odd * 10 <= pairs);
}

std::string utf16_to_utf8(std::string_view bytes) {
    constexpr std::uint32_t kReplacement = 0xfffd;
    const auto [even, odd] = zeros_in(bytes);
    const bool is_big = has_big_mark(bytes) || (!has_little_mark(bytes) && even > odd);
    if (has_big_mark(bytes) || has_little_mark(bytes)) bytes.remove_prefix(2);
    const auto unit = [&](std::size_t at) {
        const auto first = static_cast<unsigned char>(bytes[at]);
        const auto second = static_cast<unsigned char>(bytes[at + 1]);
        return static_cast<std::uint32_t>(is_big ? first << 8 | second : second << 8 | first);
    };
    std::string text;
    text.reserve(bytes.size() / 2);
    for (std::size_t at = 0; at + 1 < bytes.size(); at += 2) {
        std::uint32_t code = unit(at);
        if (code >= 0xd800 && code < 0xdc00 && at + 3 < bytes.size()) {
            const std::uint32_t low = unit(at + 2);
            if (low >= 0xdc00 && low < 0xe000) {
                code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
                at += 2;
            }
        }
        append_utf8(text, code >= 0xd800 && code < 0xe000 ? kReplacement : code);
    }
    return text;
}

bool is_gzip(std::string_view bytes) {
    if (bytes.starts_with("\x1f\x8b\x08")) return true;
    // zlib: its two bytes are a multiple of 31.
    if (bytes.size() < 8 || bytes[0] != 0x78) return false;
    const auto second = static_cast<unsigned char>(bytes[1]);
    return second == 0x01 || second == 0x5e || second == 0x9c || second == 0xda;
}

bool is_zip(std::string_view bytes) {
    return bytes.starts_with("PK\x03\x04");
}

void visit_unpacked(std::string_view bytes, const VisitUnpacked& visit) {
    Unpacker(visit).open(bytes, "", 1);
}

}  // namespace gate
