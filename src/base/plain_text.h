// Text of untrusted origin, made safe to show to a model or a person.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace base {

// At most `chars` characters of valid UTF-8 without control characters, and without those that are
// invisible or turn the direction of text, by which instructions hide. Newlines are kept.
std::string plain_text(std::string_view bytes, std::size_t chars);

// Whether plain_text() would leave it as it is, on one line.
bool is_plain(std::string_view bytes, std::size_t chars);

}  // namespace base
