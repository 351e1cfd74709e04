#include "exec/results/images.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace results {
namespace {

using testing::HasSubstr;

std::string bytes(std::initializer_list<int> values) {
    std::string out;
    for (const int value : values) out += static_cast<char>(value);
    return out;
}

std::string png(int width, int height) {
    return bytes({0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n', 0, 0, 0, 13, 'I', 'H', 'D', 'R'}) +
           bytes({width >> 24, width >> 16, width >> 8, width}) +
           bytes({height >> 24, height >> 16, height >> 8, height});
}
// A comment segment, a table, then the frame of 5 x 3 pixels.
const std::string kJpeg =
    bytes({0xff, 0xd8, 0xff, 0xfe, 0, 4, 'h', 'i', 0xff, 0xff, 0xc4, 0,    3, 0,
           0xff, 0xc2, 0,    11,   8, 0, 3,   0,   5,    1,    1,    0x11, 0});
const std::string kGif = "GIF89a" + bytes({5, 0, 3, 0});
const std::string kWebp = "RIFF" + bytes({0, 0, 0, 0}) + "WEBP";
const std::string kLossy =
    kWebp + "VP8 " + bytes({0, 0, 0, 0, 0, 0, 0, 0x9d, 0x01, 0x2a, 5, 0, 3, 0});
const std::string kLossless =
    kWebp + "VP8L" + bytes({0, 0, 0, 0, 0x2f, 4, 0x80, 0, 0, 0, 0, 0, 0, 0});
const std::string kExtended = kWebp + "VP8X" + bytes({10, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 2, 0, 0});

TEST(ImageFacts, TypeAndSizeComeFromTheBytes) {
    const std::vector<std::pair<std::string, std::string>> rows{
        {png(5, 3), "image/png"}, {kJpeg, "image/jpeg"},     {kGif, "image/gif"},
        {kLossy, "image/webp"},   {kLossless, "image/webp"}, {kExtended, "image/webp"}};
    for (const auto& [image, type] : rows) {
        const auto facts = image_facts(image);
        ASSERT_TRUE(facts) << type;
        EXPECT_EQ(facts->mime_type, type);
        EXPECT_EQ(facts->width, 5) << type;
        EXPECT_EQ(facts->height, 3) << type;
    }
}

TEST(ImageFacts, WhatIsCutOffOrNoImageHasNone) {
    for (const auto& image : {png(5, 3), kJpeg, kGif, kLossy, kLossless, kExtended})
        for (std::size_t length = 0; length < image.size(); ++length)
            if (const auto facts = image_facts(image.substr(0, length))) {
                // A frame header of a JPEG has the size before it ends.
                EXPECT_EQ(facts->width, 5) << length;
                EXPECT_EQ(facts->height, 3) << length;
            }
    for (const std::string other :
         {"", "<html><body>hi</body></html>", "\x89PNG picture", "%PDF-1.7", "<svg></svg>", "RIFF"})
        EXPECT_FALSE(image_facts(other)) << other;
    EXPECT_FALSE(image_facts(png(0, 3)));
    // Segments that lead nowhere end.
    EXPECT_FALSE(image_facts(bytes({0xff, 0xd8, 0xff, 0xe0, 0, 0, 0, 0, 0, 0, 0, 0})));
    EXPECT_FALSE(image_facts(bytes({0xff, 0xd8}) + std::string(100'000, '\xff')));
}

TEST(ImageRefusal, BoundsAreThoseOfTheModelApis) {
    const auto facts = [](int width, int height) { return *image_facts(png(width, height)); };
    EXPECT_FALSE(image_refusal(facts(8'000, 8'000), kImageBytesMax, {}));
    EXPECT_THAT(image_refusal(facts(8'001, 1), 10, {}).value_or(""), HasSubstr("8001 x 1 pixels"));
    EXPECT_THAT(image_refusal(facts(1, 1), kImageBytesMax + 1, {}).value_or(""),
                HasSubstr("3750000 bytes"));
    const std::vector<domain::Media> many(kResultImagesMax, domain::Media{.bytes = 1});
    EXPECT_THAT(image_refusal(facts(1, 1), 10, many).value_or(""), HasSubstr("at most 8 images"));
    EXPECT_THAT(image_refusal(facts(1, 1), kImageBytesMax, {{.bytes = 300'000}}).value_or(""),
                HasSubstr("4000000 bytes together"));
}

}  // namespace
}  // namespace results
