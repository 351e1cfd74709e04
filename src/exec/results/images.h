// Images in the results of tools: which of them a model may be shown. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "domain/media/media.h"

namespace results {

// What every model API with images takes. A server that refuses one image refuses the request.
inline constexpr std::size_t kImageBytesMax = 3'750'000;  // 5 MB in base64.
inline constexpr std::int64_t kImageSideMax = 8'000;      // In pixels.
inline constexpr std::size_t kResultImagesMax = 8;
inline constexpr std::int64_t kResultImageBytesMax = 4'000'000;

// What the bytes of an image say of themselves.
struct ImageFacts {
    std::string_view mime_type;  // image/png, image/jpeg, image/gif or image/webp.
    std::string_view suffix;     // png, jpg, gif or webp.
    std::int64_t width{0};
    std::int64_t height{0};
};

// Nothing for bytes that are none of the four, or whose size in pixels cannot be read.
std::optional<ImageFacts> image_facts(std::string_view bytes);

// Why a model is not shown an image: "it has 9000 x 10 pixels, at most 8000 x 8000 are shown".
// Nothing when it is shown next to the images in `before`, those of the same result.
std::optional<std::string> image_refusal(const ImageFacts& facts, std::size_t bytes,
                                         const std::vector<domain::Media>& before);

}  // namespace results
