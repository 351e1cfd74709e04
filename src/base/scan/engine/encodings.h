// The encodings that text is hidden in, by accident or not. Decoders take what is there and stop
// where it ends; none of them fails.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace scan {

enum class Alphabet { Standard, Url };

std::string base64(std::string_view bytes, Alphabet alphabet = Alphabet::Standard);  // With '='.
std::string hex(std::string_view bytes);
std::string json_escaped(std::string_view bytes);  // Without the quotes around it.

// Reads both alphabets and skips white space; stops at the first other byte, at '=' or when
// `bytes_max` are there.
std::string decode_base64(std::string_view text, std::size_t bytes_max);
// Reads pairs of digits, also behind \x, 0x or %, separated by white space, commas or colons.
std::string decode_hex(std::string_view text, std::size_t bytes_max);

bool is_base64_digit(char c);
bool is_hex_digit(char c);

// The first `bytes_max` bytes of a gzip or zlib stream; fewer when it is damaged.
std::string inflate(std::string_view packed, std::size_t bytes_max);

// Bits per byte.
double entropy(std::string_view bytes);

}  // namespace scan
