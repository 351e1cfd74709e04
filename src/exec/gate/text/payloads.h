// Programs and archives that hide in text: base64, base32, hexadecimal or ascii85, packed or not.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "exec/gate/text/outline.h"

namespace gate {

// Of an encoded run so much is decoded: enough to know what it is.
inline constexpr std::size_t kDecodedBytesMax = 64 * 1024;
// Encodings inside encodings that are followed.
inline constexpr int kEncodingDepthMax = 3;
// A shorter run of letters is a word, a digest or an id.
inline constexpr std::size_t kRunBytesMin = Outline::kRunBytes;

struct Payload {
    std::string_view rule;    // "encoded_program", "encoded_script" or "encoded_archive"
    std::string description;  // "an ELF program in base64, gzip"
    std::size_t begin{0};
    std::size_t end{0};
    friend bool operator==(const Payload&, const Payload&) = default;
};

// What the first bytes of a file say it is, for the kinds that must not be inline; empty for
// others.
struct FileKind {
    std::string_view rule;
    std::string_view name;
};
FileKind file_kind(std::string_view bytes);

// Text that was found behind an encoding, and the position of the run that contains it.
using VisitDecoded =
    std::function<void(std::string_view decoded, std::size_t begin, std::size_t end)>;

// Checks every encoded run of `text`, in time linear in its length. `decoded` is called with what
// is readable text behind an encoding, so that its content can be judged, too.
// `outline` is that of `text`.
std::vector<Payload> find_payloads(std::string_view text, const Outline& outline,
                                   const VisitDecoded& decoded);
std::vector<Payload> find_payloads(std::string_view text);

}  // namespace gate
