// Which images of a conversation a request shows. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "provider/provider.h"

namespace provider {

// Of one request. Servers refuse more: 32 MB of JSON, and large images beyond the twentieth.
inline constexpr std::int64_t kRequestImagesMax = 20;
inline constexpr std::int64_t kRequestImageBytesMax = 8'000'000;

// Removes `media` from the oldest answers until the bounds hold. A conversation that grows keeps
// its images, so that a request begins with the bytes of the one before; when a bound is passed,
// the oldest images are removed down to half of it, so that this happens seldom.
void bound_media(Request& request);

// The answers of the conversation with images, oldest first.
std::vector<const ToolAnswer*> answers_with_media(const Request& request);

// An image of an answer as a codec writes it. Valid as long as the request.
struct ShownImage {
    std::string_view mime_type;
    std::string_view base64;
};
std::vector<ShownImage> shown_images(const Request& request, const ToolAnswer& answer);

// "data:image/png;base64,…"
std::string data_uri(const ShownImage& image);

}  // namespace provider
