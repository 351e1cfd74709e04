// What a value must satisfy beyond its shape.
#pragma once

#include <string_view>

namespace scan {

using Check = bool (*)(std::string_view value);

// By its name in the rules, or null:
//   crc32_base62_6  the last six characters are the CRC-32 of what is between the prefix and them
//   aws_key_id      the account number inside is one that AWS gives out
//   luhn            the check digit of payment cards
//   jwt             header and payload are JSON objects, the header names an algorithm
//   basic_auth      base64 of name:password
//   base58_check    the checksum of Bitcoin keys and addresses
//   mixed           letters and digits, unlike the words of a sentence or an identifier
Check find_check(std::string_view name);

// True for what people write where a secret would go: "changeme", "your-token-here", "xxxx…".
bool is_placeholder(std::string_view value);

}  // namespace scan
