#include "base/scan/engine/encodings.h"

#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

namespace scan {
namespace {

constexpr std::string_view kStandard =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::string_view kUrl =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

constexpr std::array<std::int8_t, 256> value_table(std::string_view first,
                                                   std::string_view second) {
    std::array<std::int8_t, 256> table{};
    table.fill(-1);
    for (const auto digits : {first, second})
        for (std::size_t i = 0; i < digits.size(); ++i)
            table[static_cast<unsigned char>(digits[i])] = static_cast<std::int8_t>(i);
    return table;
}
constexpr auto kBase64Values = value_table(kStandard, kUrl);
constexpr auto kHexValues = value_table("0123456789abcdef", "0123456789ABCDEF");

int base64_value(char c) {
    return kBase64Values[static_cast<unsigned char>(c)];
}
int hex_value(char c) {
    return kHexValues[static_cast<unsigned char>(c)];
}
bool is_space(char c) {
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

}  // namespace

std::string base64(std::string_view bytes, Alphabet alphabet) {
    const auto digits = alphabet == Alphabet::Standard ? kStandard : kUrl;
    std::string text;
    text.reserve((bytes.size() + 2) / 3 * 4);
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        std::uint32_t group = 0;
        for (std::size_t k = 0; k < 3; ++k)
            group =
                group << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0U);
        for (std::size_t k = 0; k < 4; ++k)
            text += i + k <= bytes.size() ? digits[group >> (18 - 6 * k) & 63] : '=';
    }
    return text;
}

std::string hex(std::string_view bytes) {
    std::string text;
    for (const char c : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(c));
    return text;
}

std::string json_escaped(std::string_view bytes) {
    std::string text;
    for (const char c : bytes) {
        if (c == '"' || c == '\\')
            text += {'\\', c};
        else if (c == '\n')
            text += "\\n";
        else if (c == '\r')
            text += "\\r";
        else if (c == '\t')
            text += "\\t";
        else if (static_cast<unsigned char>(c) < 0x20)
            text += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
        else
            text += c;
    }
    return text;
}

bool is_base64_digit(char c) {
    return base64_value(c) >= 0;
}
bool is_hex_digit(char c) {
    return hex_value(c) >= 0;
}

std::string decode_base64(std::string_view text, std::size_t bytes_max) {
    std::string bytes;
    const std::size_t size_max = std::min(bytes_max, text.size() * 3 / 4 + 1);
    bytes.resize_and_overwrite(size_max, [&](char* out, std::size_t) {
        std::size_t size = 0;
        std::uint32_t group = 0;
        int bits = 0;
        for (const char c : text) {
            if (is_space(c)) continue;
            const int value = base64_value(c);
            if (value < 0 || size >= size_max) break;
            group = group << 6 | static_cast<std::uint32_t>(value);
            bits += 6;
            if (bits < 8) continue;
            bits -= 8;
            out[size++] = static_cast<char>(group >> bits & 255);
        }
        return size;
    });
    return bytes;
}

std::string decode_hex(std::string_view text, std::size_t bytes_max) {
    std::string bytes;
    for (std::size_t i = 0; i + 1 < text.size() && bytes.size() < bytes_max;) {
        const auto pair = text.substr(i, 2);
        if (pair == "\\x" || pair == "0x" || pair == "0X") {
            i += 2;
        } else if (is_space(text[i]) || text[i] == ',' || text[i] == ':' || text[i] == '%') {
            ++i;
        } else if (hex_value(pair[0]) >= 0 && hex_value(pair[1]) >= 0) {
            bytes += static_cast<char>(hex_value(pair[0]) << 4 | hex_value(pair[1]));
            i += 2;
        } else {
            break;
        }
    }
    return bytes;
}

std::string inflate(std::string_view packed, std::size_t bytes_max) {
    constexpr int kEitherHeader = 15 + 32;
    z_stream stream{};
    std::string bytes(bytes_max, '\0');
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
    stream.avail_in = static_cast<uInt>(std::min<std::size_t>(packed.size(), UINT32_MAX));
    stream.next_out = reinterpret_cast<Bytef*>(bytes.data());
    stream.avail_out = static_cast<uInt>(bytes_max);
    if (inflateInit2(&stream, kEitherHeader) != Z_OK) return {};
    ::inflate(&stream, Z_SYNC_FLUSH);
    bytes.resize(bytes_max - stream.avail_out);
    inflateEnd(&stream);
    return bytes;
}

namespace {

// n times its logarithm, for the counts that values have.
double times_log2(std::size_t n) {
    static const auto kTable = [] {
        std::array<double, 64> table{};
        for (std::size_t i = 2; i < table.size(); ++i)
            table[i] = static_cast<double>(i) * std::log2(static_cast<double>(i));
        return table;
    }();
    return n < kTable.size() ? kTable[n]
                             : static_cast<double>(n) * std::log2(static_cast<double>(n));
}

}  // namespace

double entropy(std::string_view bytes) {
    // Values are short: to count each byte where it is first seen is faster than to walk a table.
    std::array<std::uint32_t, 256> counts{};
    for (const char c : bytes) ++counts[static_cast<unsigned char>(c)];
    double sum = 0;
    for (const char c : bytes) {
        sum += times_log2(std::exchange(counts[static_cast<unsigned char>(c)], 0));
    }
    const auto size = static_cast<double>(bytes.size());
    return bytes.empty() ? 0 : std::log2(size) - sum / size;
}

}  // namespace scan
