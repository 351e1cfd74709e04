#include "exec/gate/text/outline.h"

#include <algorithm>
#include <bit>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace gate {
namespace {

constexpr std::size_t kBlockBytes = Outline::kBlockBytes;
constexpr std::size_t kWordBytes = sizeof(std::uint64_t);
static_assert(kBlockBytes == 8 * kWordBytes, "one bit of a word stands for a byte of a block");

// The bytes of one block that are of a kind, the first in the lowest bit.
struct Bytes {
    std::uint64_t digits{0};
    std::uint64_t quotes{0};
};

constexpr bool is_quote(char c) {
    return c == '"' || c == '\'' || c == '`' || c == '\\' || c == '<';
}

Bytes bytes_of(const char* block, std::size_t size) {
    Bytes bytes;
    for (std::size_t i = 0; i < size; ++i) {
        bytes.digits |= std::uint64_t{is_encoding_digit(block[i])} << i;
        bytes.quotes |= std::uint64_t{is_quote(block[i])} << i;
    }
    return bytes;
}

}  // namespace

// Marks one block after the other.
class OutlineMarker {
public:
    Outline::Block mark(const Bytes& bytes) {
        constexpr std::uint64_t kHigh = 0x8080'8080'8080'8080;
        // The highest bit of each byte that has all bits: a word of digits.
        const std::uint64_t words =
            ((bytes.digits & ~kHigh) + (kHigh >> 7U)) & bytes.digits & kHigh;
        const std::uint64_t pairs = words & (words << 8U | last_);
        last_ = words >> (kBlockBytes - 8U);
        // The product has the eight bits next to each other, in its highest byte.
        constexpr std::uint64_t kGather = 0x0102'0408'1020'4080;
        return {.has_quote = bytes.quotes != 0,
                .words = static_cast<std::uint8_t>((pairs >> 7U) * kGather >> 56U)};
    }

    static void slowly(std::string_view text, std::vector<Outline::Block>& blocks) {
        OutlineMarker marker;
        for (std::size_t at = 0; at < text.size(); at += kBlockBytes)
            blocks[at / kBlockBytes] =
                marker.mark(bytes_of(text.data() + at, std::min(kBlockBytes, text.size() - at)));
    }
    static void fast(std::string_view text, std::vector<Outline::Block>& blocks);

private:
    std::uint64_t last_{0};  // The word before the block, where the first one of it would be.
};

#if defined(__x86_64__)
namespace {

// A byte is of a kind when the tables for its upper and its lower half have a bit in common. Kinds
// of digits: + - / and 0-9 and A-O, a-o and P-Z _ and p-z. Of quotes: " ' and \ < and `.
struct HalfTables {
    std::array<std::uint8_t, 16> lower{}, upper{};
};
constexpr std::uint8_t kDigitKinds = 0x1f;
constexpr HalfTables kHalves = [] {
    HalfTables tables;
    const auto add = [&](std::uint8_t kind, std::string_view bytes) {
        for (const char c : bytes) {
            tables.lower[static_cast<unsigned char>(c) & 15U] |= kind;
            tables.upper[static_cast<unsigned char>(c) >> 4U] |= kind;
        }
    };
    add(0x01, "+-/");
    add(0x02, "0123456789");
    add(0x04, "ABCDEFGHIJKLMNOabcdefghijklmno");
    add(0x08, "PQRSTUVWXYZ_");
    add(0x10, "pqrstuvwxyz");
    add(0x20, "\"'");
    add(0x40, "\\<");
    add(0x80, "`");
    return tables;
}();
static_assert([] {
    for (int c = 0; c < 128; ++c) {
        const auto kinds = kHalves.lower[c & 15] & kHalves.upper[c >> 4];
        const auto byte = static_cast<char>(c);
        if (((kinds & kDigitKinds) != 0) != is_encoding_digit(byte)) return false;
        if (((kinds & ~kDigitKinds) != 0) != is_quote(byte)) return false;
    }
    return true;
}());

}  // namespace

[[gnu::target("avx2")]] void OutlineMarker::fast(std::string_view text,
                                                 std::vector<Outline::Block>& blocks) {
    const auto table = [](const std::array<std::uint8_t, 16>& half)
                           __attribute__((target("avx2"))) {
                               return _mm256_broadcastsi128_si256(
                                   _mm_loadu_si128(reinterpret_cast<const __m128i*>(half.data())));
                           };
    const __m256i lower = table(kHalves.lower), upper = table(kHalves.upper);
    const __m256i half = _mm256_set1_epi8(15), zero = _mm256_setzero_si256();
    const __m256i digit_kinds = _mm256_set1_epi8(kDigitKinds);
    OutlineMarker marker;
    std::size_t at = 0;
    for (; at + kBlockBytes <= text.size(); at += kBlockBytes) {
        std::uint64_t no_digits = 0, nothing = 0;
        for (unsigned part = 0; part < kBlockBytes; part += sizeof(__m256i)) {
            const __m256i bytes =
                _mm256_loadu_si256(reinterpret_cast<const __m256i*>(text.data() + at + part));
            // A byte beyond ASCII has no kind: its lower half is looked up as nothing.
            const __m256i kinds = _mm256_and_si256(
                _mm256_shuffle_epi8(lower, bytes),
                _mm256_shuffle_epi8(upper, _mm256_and_si256(_mm256_srli_epi16(bytes, 4), half)));
            const auto bits = [&](__m256i which) __attribute__((target("avx2"))) {
                return std::uint64_t{static_cast<std::uint32_t>(
                           _mm256_movemask_epi8(_mm256_cmpeq_epi8(which, zero)))}
                       << part;
            };
            no_digits |= bits(_mm256_and_si256(kinds, digit_kinds));
            nothing |= bits(_mm256_andnot_si256(digit_kinds, kinds));
        }
        blocks[at / kBlockBytes] = marker.mark({.digits = ~no_digits, .quotes = ~nothing});
    }
    if (at < text.size()) blocks.back() = marker.mark(bytes_of(text.data() + at, text.size() - at));
}
#endif

Outline::Outline(std::string_view text)
    : size_(text.size()), blocks_((text.size() + kBlockBytes - 1) / kBlockBytes) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) {
        OutlineMarker::fast(text, blocks_);
        return;
    }
#endif
    OutlineMarker::slowly(text, blocks_);
}

std::size_t Outline::next_quote(std::size_t at) const {
    std::size_t block = at / kBlockBytes;
    while (block < blocks_.size() && !blocks_[block].has_quote) ++block;
    return block < blocks_.size() ? std::max(at, block * kBlockBytes) : size_;
}

std::size_t Outline::next_run(std::size_t at) const {
    const std::size_t word = (at + kWordBytes - 1) / kWordBytes;
    unsigned wanted = 0xffU << word % 8 & 0xffU;
    for (std::size_t block = word / 8; block < blocks_.size(); ++block, wanted = 0xff)
        if (const unsigned found = blocks_[block].words & wanted)
            return block * kBlockBytes +
                   static_cast<std::size_t>(std::countr_zero(found)) * kWordBytes;
    return size_;
}

}  // namespace gate
