#include "exec/results/images.h"

#include <array>

#include <fmt/format.h>

namespace results {
namespace {

constexpr std::string_view kPngMagic("\x89PNG\r\n\x1a\n", 8);

// Big-endian and little-endian numbers at `at`; 0 beyond the end.
std::uint32_t byte_at(std::string_view bytes, std::size_t at) {
    return at < bytes.size() ? static_cast<unsigned char>(bytes[at]) : 0;
}
std::uint32_t be16(std::string_view bytes, std::size_t at) {
    return byte_at(bytes, at) << 8 | byte_at(bytes, at + 1);
}
std::uint32_t be32(std::string_view bytes, std::size_t at) {
    return be16(bytes, at) << 16 | be16(bytes, at + 2);
}
std::uint32_t le16(std::string_view bytes, std::size_t at) {
    return byte_at(bytes, at) | byte_at(bytes, at + 1) << 8;
}
std::uint32_t le24(std::string_view bytes, std::size_t at) {
    return le16(bytes, at) | byte_at(bytes, at + 2) << 16;
}

std::optional<ImageFacts> sized(ImageFacts facts, std::uint32_t width, std::uint32_t height) {
    if (width == 0 || height == 0) return std::nullopt;
    facts.width = width;
    facts.height = height;
    return facts;
}

std::optional<ImageFacts> png(std::string_view bytes) {
    constexpr std::size_t kHeaderEnd = 24;  // Of the part of the header that has the size.
    if (!bytes.starts_with(kPngMagic) || bytes.size() < kHeaderEnd || bytes.substr(12, 4) != "IHDR")
        return std::nullopt;
    return sized({"image/png", "png"}, be32(bytes, 16), be32(bytes, 20));
}

std::optional<ImageFacts> gif(std::string_view bytes) {
    if (!bytes.starts_with("GIF87a") && !bytes.starts_with("GIF89a")) return std::nullopt;
    return sized({"image/gif", "gif"}, le16(bytes, 6), le16(bytes, 8));
}

// The size is in the frame header (SOF), behind segments of any kind.
std::optional<ImageFacts> jpeg(std::string_view bytes) {
    if (!bytes.starts_with("\xff\xd8\xff")) return std::nullopt;
    std::size_t at = 2;
    while (at + 9 <= bytes.size() && byte_at(bytes, at) == 0xff) {
        const auto marker = byte_at(bytes, at + 1);
        const bool is_fill = marker == 0xff;
        const bool is_alone = marker == 0x01 || (marker >= 0xd0 && marker <= 0xd7);
        if (is_fill || is_alone) {
            at += is_fill ? 1 : 2;
            continue;
        }
        // C4, C8 and CC are tables and an extension; the others from C0 to CF begin a frame.
        const bool is_frame =
            marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc;
        if (is_frame) return sized({"image/jpeg", "jpg"}, be16(bytes, at + 7), be16(bytes, at + 5));
        const auto length = be16(bytes, at + 2);
        if (marker == 0xda || marker == 0xd9 || length < 2) return std::nullopt;
        at += 2 + length;
    }
    return std::nullopt;
}

std::optional<ImageFacts> webp(std::string_view bytes) {
    constexpr std::size_t kHeaderEnd = 30;
    if (!bytes.starts_with("RIFF") || bytes.size() < kHeaderEnd || bytes.substr(8, 4) != "WEBP")
        return std::nullopt;
    const ImageFacts facts{"image/webp", "webp"};
    const std::string_view form = bytes.substr(12, 4);
    if (form == "VP8X") return sized(facts, le24(bytes, 24) + 1, le24(bytes, 27) + 1);
    if (form == "VP8 " && bytes.substr(23, 3) == "\x9d\x01\x2a")
        return sized(facts, le16(bytes, 26) & 0x3fff, le16(bytes, 28) & 0x3fff);
    if (form == "VP8L" && byte_at(bytes, 20) == 0x2f) {
        const auto bits = le24(bytes, 21) | byte_at(bytes, 24) << 24;
        return sized(facts, (bits & 0x3fff) + 1, (bits >> 14 & 0x3fff) + 1);
    }
    return std::nullopt;
}

}  // namespace

std::optional<ImageFacts> image_facts(std::string_view bytes) {
    for (const auto reader : std::array{png, jpeg, gif, webp})
        if (auto facts = reader(bytes)) return facts;
    return std::nullopt;
}

std::optional<std::string> image_refusal(const ImageFacts& facts, std::size_t bytes,
                                         const std::vector<domain::Media>& before) {
    if (facts.width > kImageSideMax || facts.height > kImageSideMax)
        return fmt::format("it has {} x {} pixels, at most {} x {} are shown", facts.width,
                           facts.height, kImageSideMax, kImageSideMax);
    if (bytes > kImageBytesMax)
        return fmt::format("at most {} bytes of an image are shown", kImageBytesMax);
    if (before.size() >= kResultImagesMax)
        return fmt::format("at most {} images of one result are shown", kResultImagesMax);
    auto sum = static_cast<std::int64_t>(bytes);
    for (const auto& other : before) sum += other.bytes;
    if (sum > kResultImageBytesMax)
        return fmt::format("the images of one result are shown up to {} bytes together",
                           kResultImageBytesMax);
    return std::nullopt;
}

}  // namespace results
