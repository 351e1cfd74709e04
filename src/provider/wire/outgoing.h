// Text, names and inputs as every model API takes them. Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"

namespace provider {

inline constexpr std::size_t kNameCharsMax = 64;

// Valid UTF-8 in which control characters other than tab, newline and carriage return are written
// visibly (\x1b): a model cannot read them, and some servers refuse them.
json::string wire_text(std::string_view text);

// Whether there is nothing in it but white space, which some servers refuse as a text.
bool is_blank(std::string_view text);

// A tool's name in a conversation. The models call tools that do not exist, under names that the
// servers then refuse; a name of the registry stays as it is.
std::string wire_name(std::string_view name);

// The input of a call as an object: anything else, such as arguments that could not be read, is
// its member `input`.
json::object wire_input(const json::value& input);
// The text of that, for APIs that take it as one.
std::string wire_arguments(const json::value& input);

}  // namespace provider
