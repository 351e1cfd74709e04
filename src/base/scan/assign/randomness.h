// Whether a value was drawn at random or put together from words.
#pragma once

#include <string_view>

namespace scan {

// The part of `value`, from 0 to 1, that is made of words: runs of four letters or more, parted at
// digits, signs and changes of case, whose neighbouring letters are neighbours in English, too.
double word_share(std::string_view value);

// Letters, digits and signs that no person would choose: a token, not an identifier, a path, a
// version, a date or a sentence. `length_min` is the least number of bytes.
bool looks_random(std::string_view value, std::size_t length_min);

bool is_hex(std::string_view value);
// Hex digits in groups of 8, 4, 4, 4 and 12.
bool is_uuid(std::string_view value);

// How many of these are in it: lower case, upper case, digits, others.
int character_classes(std::string_view value);

}  // namespace scan
