#include "base/scan/engine/checks.h"

#include <openssl/sha.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>

#include "base/json.h"
#include "base/scan/engine/encodings.h"

namespace scan {
namespace {

constexpr std::size_t kDecodedBytesMax = 4096;

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}
bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool crc32_base62_6(std::string_view value) {
    constexpr std::string_view kDigits =
        "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    constexpr std::size_t kSumChars = 6;
    const std::size_t prefix = value.find('_') + 1;
    if (prefix == 0 || value.size() < prefix + kSumChars) return false;
    const auto body = value.substr(prefix, value.size() - prefix - kSumChars);
    auto sum = static_cast<std::uint64_t>(
        ::crc32(0, reinterpret_cast<const Bytef*>(body.data()), static_cast<uInt>(body.size())));
    std::string expected(kSumChars, '0');
    for (std::size_t i = kSumChars; i-- > 0; sum /= 62) expected[i] = kDigits[sum % 62];
    return value.ends_with(expected);
}

// Ten characters behind the prefix are 50 bits, of which 40 are the account number. Keys from
// before 2019 start with I or J there and are numbered otherwise.
bool aws_key_id(std::string_view value) {
    constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    constexpr std::uint64_t kAccountMax = 999'999'999'999;
    if (value.size() < 20) return false;
    if (value[4] == 'I' || value[4] == 'J') return true;
    std::uint64_t bits = 0;
    for (const char c : value.substr(4, 10)) {
        const auto digit = kDigits.find(c);
        if (digit == kDigits.npos) return false;
        bits = bits << 5 | digit;
    }
    return ((bits >> 2 & 0x7fff'ffff'ff80) >> 7) <= kAccountMax;
}

bool luhn(std::string_view value) {
    int sum = 0;
    bool is_doubled = false;
    for (auto c = value.rbegin(); c != value.rend(); ++c, is_doubled = !is_doubled) {
        if (!is_digit(*c)) return false;
        const int digit = (*c - '0') * (is_doubled ? 2 : 1);
        sum += digit > 9 ? digit - 9 : digit;
    }
    return sum % 10 == 0;
}

bool jwt(std::string_view value) {
    const auto first = value.find('.');
    const auto second = value.find('.', first + 1);
    if (first == value.npos || second == value.npos) return false;
    const auto part = [](std::string_view text) {
        return base::parse_json(decode_base64(text, kDecodedBytesMax));
    };
    const auto header = part(value.substr(0, first));
    const auto payload = part(value.substr(first + 1, second - first - 1));
    return header && payload && payload->is_object() && base::find(*header, "alg") != nullptr;
}

bool basic_auth(std::string_view value) {
    const std::string pair = decode_base64(value, kDecodedBytesMax);
    const auto colon = pair.find(':');
    return colon != pair.npos && colon > 0 && colon + 1 < pair.size() &&
           std::ranges::all_of(pair, [](char c) { return c >= ' ' && c < 127; });
}

bool base58_check(std::string_view value) {
    constexpr std::string_view kDigits =
        "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
    std::string bytes;  // Least significant first.
    for (const char c : value) {
        auto carry = kDigits.find(c);
        if (carry == kDigits.npos) return false;
        for (char& byte : bytes) {
            carry += static_cast<std::size_t>(static_cast<unsigned char>(byte)) * 58;
            byte = static_cast<char>(carry & 255);
            carry >>= 8;
        }
        for (; carry > 0; carry >>= 8) bytes += static_cast<char>(carry & 255);
    }
    std::ranges::reverse(bytes);
    constexpr std::size_t kSumBytes = 4;
    if (bytes.size() <= kSumBytes) return false;
    std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
    SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size() - kSumBytes,
           digest.data());
    digest = [&] {
        std::array<unsigned char, SHA256_DIGEST_LENGTH> twice{};
        SHA256(digest.data(), digest.size(), twice.data());
        return twice;
    }();
    return std::equal(
        digest.begin(), digest.begin() + kSumBytes,
        reinterpret_cast<const unsigned char*>(bytes.data()) + bytes.size() - kSumBytes);
}

bool mixed(std::string_view value) {
    const auto digits = std::ranges::count_if(value, is_digit);
    const auto letters = std::ranges::count_if(value, is_letter);
    const auto signs = std::ranges::count_if(
        value, [](char c) { return c == '_' || c == '-' || c == '/' || c == '.'; });
    // Identifiers and paths are words between signs; a random value has few of them.
    return digits >= 2 && letters >= 2 && signs * 6 <= std::ssize(value);
}

constexpr std::pair<std::string_view, Check> kChecks[] = {{"crc32_base62_6", crc32_base62_6},
                                                          {"aws_key_id", aws_key_id},
                                                          {"luhn", luhn},
                                                          {"jwt", jwt},
                                                          {"basic_auth", basic_auth},
                                                          {"base58_check", base58_check},
                                                          {"mixed", mixed}};

}  // namespace

Check find_check(std::string_view name) {
    for (const auto& [known, check] : kChecks)
        if (known == name) return check;
    return nullptr;
}

bool is_placeholder(std::string_view value) {
    std::string lower;
    for (const char c : value) lower += c >= 'A' && c <= 'Z' ? static_cast<char>(c | 32) : c;
    constexpr std::string_view kParts[] = {
        "example",  "placeholder", "changeme", "change_me",  "change-me",   "your_",
        "your-",    "yourtoken",   "xxxxx",    "redacted",   "dummy",       "insert_",
        "replace_", "1234567890",  "abcdefgh", "0000000000", "process.env", "os.environ"};
    for (const auto part : kParts)
        if (lower.find(part) != lower.npos) return true;
    constexpr std::string_view kWhole[] = {"password", "passw0rd", "password1", "password123",
                                           "secret",   "hunter2",  "required",  "undefined"};
    return std::ranges::find(kWhole, lower) != std::end(kWhole);
}

}  // namespace scan
