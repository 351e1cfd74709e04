// Boost.JSON with our limits, and the few spellings of JSON text that we write.
#pragma once

#include <string>
#include <string_view>

#include <boost/json.hpp>

#include "base/result.h"

namespace json = boost::json;

namespace base {

inline constexpr std::size_t kJsonDepthMax = 96;

// Parses one document. Nesting beyond kJsonDepthMax, trailing text and invalid UTF-8 are errors.
Result<json::value> parse_json(std::string_view text);

// Compact text; members in the order they were inserted. Numbers that are whole are written whole.
std::string json_text(const json::value& value);

// The same behind what `out` has already; also of a text or a number that is no value yet.
void append_json(std::string& out, const json::value& value);
void append_json(std::string& out, const json::object& object);
void append_json_string(std::string& out, std::string_view text);
void append_json_double(std::string& out, double number);

// Compact text with members sorted at every level: equal values give equal bytes.
std::string canonical_json(const json::value& value);

// Two-space indent, members sorted, no trailing newline: what people and scripts read.
std::string pretty_json(const json::value& value);

// The member `name` when `value` is an object that has it, else null.
const json::value* find(const json::value& value, std::string_view name);
const json::value* find(const json::object& object, std::string_view name);
// An object passed as a value would be copied, and the answer would point into the copy.
const json::value* find(json::value&&, std::string_view) = delete;

// The member as text, integer or truth, or the fallback when it is absent or of another type.
std::string string_at(const json::value& value, std::string_view name,
                      std::string_view fallback = "");
std::int64_t int_at(const json::value& value, std::string_view name, std::int64_t fallback = 0);
bool bool_at(const json::value& value, std::string_view name, bool fallback = false);

}  // namespace base
