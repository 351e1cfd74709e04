// What a value must satisfy beyond its shape.
#pragma once

#include <string_view>

namespace scan {

using Check = bool (*)(std::string_view value);

// By its name in the rules, or null:
//   has_digit       there is a digit in it
//   not_placeholder see is_placeholder()
//   random          letters and digits drawn at random; see assign/randomness.h
//   wordless        no words in it; digits are not required
//   luhn            the check digit of payment cards
//   jwt             the header is a JSON object and names an algorithm
//   basic_auth      base64 of name:password
//   base58_check    the checksum of Bitcoin keys and addresses
//   mixed           letters and digits, unlike the words of a sentence or an identifier
Check find_check(std::string_view name);

// True for what people write where a secret would go: "changeme", "your-token-here", "xxxx…".
bool is_placeholder(std::string_view value);
// True when it holds the alphabet or the figures in their order: "abcdefgh", "1234567890".
bool is_counting(std::string_view value);

}  // namespace scan
