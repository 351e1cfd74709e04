// What is inside packed or differently encoded bytes: UTF-16 text, gzip and zlib streams, zip
// files.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace gate {

// Bytes that come out of one container, with all that is inside it.
inline constexpr std::size_t kUnpackedBytesMax = std::size_t{16} << 20;
inline constexpr std::size_t kZipEntriesMax = 1000;
// Containers inside containers that are opened.
inline constexpr int kUnpackDepthMax = 3;

// Whether it is text in UTF-16, by its mark or by the zero bytes in every other place.
bool is_utf16(std::string_view bytes);
// UTF-8 of UTF-16 text; what is no character becomes U+FFFD.
std::string utf16_to_utf8(std::string_view bytes);

bool is_gzip(std::string_view bytes);
bool is_zip(std::string_view bytes);

// `via` says how it was packed: "gzip", "zip, gzip".
using VisitUnpacked = std::function<void(std::string_view inside, const std::string& via)>;

// Visits what is inside `bytes` and, within the bounds, inside that. Damaged containers are read as
// far as possible. Nothing for plain bytes.
void visit_unpacked(std::string_view bytes, const VisitUnpacked& visit);

}  // namespace gate
