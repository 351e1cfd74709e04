// Credentials in text that programs encode more than once, pack, or print byte by byte.
#pragma once

#include <string>
#include <string_view>

#include "base/scan/finder.h"

namespace scan {

// `text` with each run of base64 or of hex digits replaced by `mark` that decodes to something with
// a credential in it: base64 of base64, of hex or of a gzip stream, hex digits with blanks, colons
// or line breaks between them. A gzip stream with one is replaced to the end of the text. Bounded:
// of a run 64 KiB are decoded, of a stream 1 MiB. Time is linear in the text. Any thread.
std::string without_hidden(std::string text, const Finder& finder, std::string_view mark);

}  // namespace scan
