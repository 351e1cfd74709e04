#include "base/scan/engine/checks.h"

#include <openssl/sha.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>

#include "base/json.h"
#include "base/scan/assign/randomness.h"
#include "base/scan/engine/characters.h"
#include "base/scan/engine/encodings.h"

namespace scan {
namespace {

constexpr std::size_t kDecodedBytesMax = 4096;

bool luhn(std::string_view value) {
    int sum = 0;
    bool is_doubled = false;
    for (auto c = value.rbegin(); c != value.rend(); ++c, is_doubled = !is_doubled) {
        if (!is_ascii_digit(*c)) return false;
        const int digit = (*c - '0') * (is_doubled ? 2 : 1);
        sum += digit > 9 ? digit - 9 : digit;
    }
    return sum % 10 == 0;
}

// Some are encrypted, so only the header can be read.
bool jwt(std::string_view value) {
    const auto header =
        base::parse_json(decode_base64(value.substr(0, value.find('.')), kDecodedBytesMax));
    return header &&
           (base::find(*header, "alg") != nullptr || base::find(*header, "enc") != nullptr);
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
    const auto digits = std::ranges::count_if(value, is_ascii_digit);
    const auto letters = std::ranges::count_if(value, is_ascii_letter);
    const auto signs = std::ranges::count_if(
        value, [](char c) { return c == '_' || c == '-' || c == '/' || c == '.'; });
    // Identifiers and paths are words between signs; a random value has few of them.
    return digits >= 2 && letters >= 2 && signs * 6 <= std::ssize(value);
}

bool has_digit(std::string_view value) {
    return std::ranges::any_of(value, is_ascii_digit);
}

bool is_no_placeholder(std::string_view value) {
    return !is_placeholder(value);
}

// "mypassword", "yourSecretKey2": only words for what a password is or whose it is.
bool is_named_after_itself(std::string_view value) {
    constexpr std::size_t kBytesMax = 40;
    constexpr std::string_view kWords[] = {
        "my",   "your", "the",    "some",   "a",   "test",  "user", "username", "admin", "root",
        "db",   "auth", "access", "redis",  "app", "login", "pass", "passwd",   "pwd",   "password",
        "word", "pw",   "secret", "string", "key", "token", "this", "is",       "super", "strong"};
    std::string letters;
    for (const char c : value.substr(0, kBytesMax + 1))
        if (is_ascii_letter(c)) letters += static_cast<char>(c | 32);
    if (letters.size() < 4 || value.size() > kBytesMax || value.size() > letters.size() + 4)
        return false;
    std::array<bool, kBytesMax + 1> is_reached{true};  // By words from the beginning.
    for (std::size_t at = 0; at < letters.size(); ++at)
        for (const auto word : kWords)
            if (is_reached[at] && std::string_view(letters).substr(at).starts_with(word))
                is_reached[at + word.size()] = true;
    return is_reached[letters.size()];
}

bool is_url_password(std::string_view value) {
    return !is_named_after_itself(value);
}

bool is_random(std::string_view value) {
    constexpr std::size_t kLengthMin = 20;
    return has_digit(value) && character_classes(value) >= 2 && looks_random(value, kLengthMin) &&
           word_share(value) <= 0.3;
}

bool is_wordless(std::string_view value) {
    constexpr std::size_t kLengthMin = 16;
    return looks_random(value, kLengthMin) && word_share(value) <= 0.3;
}

constexpr std::pair<std::string_view, Check> kChecks[] = {{"wordless", is_wordless},
                                                          {"url_password", is_url_password},
                                                          {"has_digit", has_digit},
                                                          {"not_placeholder", is_no_placeholder},
                                                          {"random", is_random},
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

namespace {

std::string lower_case(std::string_view value) {
    std::string lower;
    for (const char c : value) lower += c >= 'A' && c <= 'Z' ? static_cast<char>(c | 32) : c;
    return lower;
}

}  // namespace

bool is_placeholder(std::string_view value) {
    const std::string lower = lower_case(value);
    constexpr std::string_view kParts[] = {
        "example",  "placeholder", "changeme",    "change_me",   "change-me", "your_",
        "your-",    "yourtoken",   "xxxxx",       "redacted",    "dummy",     "insert_",
        "replace_", "0000000000",  "process.env", "os.environ",  "fake",      "*****",
        "<your",    "yourkey",     "my_secret",   "secret_here", "-here",     "..."};
    for (const auto part : kParts)
        if (lower.find(part) != lower.npos) return true;
    constexpr std::string_view kWhole[] = {"password", "passw0rd", "password1", "password123",
                                           "secret",   "hunter2",  "required",  "undefined",
                                           "p@ssword", "p@ssw0rd", "p@ssword1"};
    return std::ranges::find(kWhole, lower) != std::end(kWhole);
}

bool is_counting(std::string_view value) {
    const std::string lower = lower_case(value);
    for (const auto part : {"1234567890", "123456789", "abcdefgh", "0123456789", "deadbeefdead"})
        if (lower.find(part) != lower.npos) return true;
    return false;
}

}  // namespace scan
