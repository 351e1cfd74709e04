#include "base/json.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <utility>
#include <vector>

#include <fmt/compile.h>

namespace base {
namespace {

struct Layout {
    bool sorted{false};
    int indent{0};  // 0: compact.
};

void newline(std::string& out, const Layout& layout, int depth) {
    if (layout.indent == 0) return;
    out += '\n';
    out.append(static_cast<std::size_t>(depth) * static_cast<std::size_t>(layout.indent), ' ');
}

// Whether any of eight bytes is written in another way inside a JSON string: a control character,
// a quotation mark or a backslash.
bool has_escape(std::uint64_t word) {
    constexpr std::uint64_t kOnes = 0x0101010101010101U, kHighs = kOnes * 0x80;
    const auto has_zero = [](std::uint64_t bytes) { return (bytes - kOnes) & ~bytes & kHighs; };
    return ((((word - kOnes * 0x20) & ~word & kHighs) | has_zero(word ^ (kOnes * '"')) |
             has_zero(word ^ (kOnes * '\\'))) != 0);
}

bool is_escaped(char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\';
}

// How many bytes at the start of `text` are written as they are.
std::size_t plain_length(std::string_view text) {
    std::size_t at = 0;
    for (std::uint64_t word = 0; at + sizeof word <= text.size(); at += sizeof word) {
        std::memcpy(&word, text.data() + at, sizeof word);
        if (has_escape(word)) break;
    }
    while (at < text.size() && !is_escaped(text[at])) ++at;
    return at;
}

void write_escaped(std::string& out, char c) {
    constexpr std::string_view kNamed = "\"\\\b\f\n\r\t", kNames = "\"\\bfnrt";
    out += '\\';
    if (const auto at = kNamed.find(c); at != std::string_view::npos) {
        out += kNames[at];
        return;
    }
    constexpr std::string_view kDigits = "0123456789abcdef";
    const auto code = static_cast<unsigned char>(c);
    out += "u00";
    out += kDigits[code >> 4];
    out += kDigits[code & 15];
}

void write(std::string& out, const json::value& value, const Layout& layout, int depth);

void write_object(std::string& out, const json::object& object, const Layout& layout, int depth) {
    char before = '{';
    const auto write_member = [&](const json::key_value_pair& member) {
        out += std::exchange(before, ',');
        newline(out, layout, depth + 1);
        append_json_string(out, std::string_view(member.key()));
        out += layout.indent == 0 ? ":" : ": ";
        write(out, member.value(), layout, depth + 1);
    };
    if (object.empty()) {
        out += "{}";
        return;
    }
    if (layout.sorted) {
        std::vector<const json::key_value_pair*> members;
        members.reserve(object.size());
        for (const auto& member : object) members.push_back(&member);
        std::ranges::sort(members, {}, [](auto* m) { return std::string_view(m->key()); });
        for (const auto* member : members) write_member(*member);
    } else {
        for (const auto& member : object) write_member(member);
    }
    newline(out, layout, depth);
    out += '}';
}

void write_array(std::string& out, const json::array& array, const Layout& layout, int depth) {
    if (array.empty()) {
        out += "[]";
        return;
    }
    char before = '[';
    for (const auto& item : array) {
        out += std::exchange(before, ',');
        newline(out, layout, depth + 1);
        write(out, item, layout, depth + 1);
    }
    newline(out, layout, depth);
    out += ']';
}

// The library's writer takes longer and writes 1.0 as 1E0.
void write(std::string& out, const json::value& value, const Layout& layout, int depth) {
    switch (value.kind()) {
        case json::kind::object:
            return write_object(out, value.get_object(), layout, depth);
        case json::kind::array:
            return write_array(out, value.get_array(), layout, depth);
        case json::kind::string:
            return append_json_string(out, value.get_string());
        case json::kind::double_:
            return append_json_double(out, value.get_double());
        case json::kind::int64:
            fmt::format_to(std::back_inserter(out), FMT_COMPILE("{}"), value.get_int64());
            return;
        case json::kind::uint64:
            fmt::format_to(std::back_inserter(out), FMT_COMPILE("{}"), value.get_uint64());
            return;
        case json::kind::bool_:
            out += value.get_bool() ? "true" : "false";
            return;
        case json::kind::null:
            out += "null";
            return;
    }
}

}  // namespace

Result<json::value> parse_json(std::string_view text) {
    json::parse_options options;
    options.max_depth = kJsonDepthMax;
    boost::system::error_code error;
    // Most documents fit, so that reading one allocates nothing but its value.
    std::array<unsigned char, 4096> room;
    json::parser parser({}, options, room.data(), room.size());
    const std::size_t read = parser.write_some(json::string_view(text.data(), text.size()), error);
    if (!error && read < text.size()) error = json::error::extra_data;
    if (!error) return parser.release();
    const std::string_view before = text.substr(0, read);
    const auto line = 1 + std::ranges::count(before, '\n');
    const auto column = before.size() - (before.rfind('\n') + 1) + 1;  // npos + 1 is 0.
    return fail(ErrorCode::InvalidInput, "not valid JSON at line {}, column {}: {}", line, column,
                error.message());
}

void append_json_string(std::string& out, std::string_view text) {
    out += '"';
    while (true) {
        const std::size_t plain = plain_length(text);
        out += text.substr(0, plain);
        if (plain == text.size()) break;
        write_escaped(out, text[plain]);
        text.remove_prefix(plain + 1);
    }
    out += '"';
}

void append_json_double(std::string& out, double number) {
    // Boost writes 1.0 as 1E0; people and other parsers expect 1.0.
    if (std::isfinite(number)) {
        std::string text = fmt::format("{}", number);
        if (text.find_first_of(".e") == std::string::npos) text += ".0";
        out += text;
    } else {
        out += "null";
    }
}

void append_json(std::string& out, const json::value& value) {
    write(out, value, {}, 0);
}

void append_json(std::string& out, const json::object& object) {
    write_object(out, object, {}, 0);
}

std::string json_text(const json::value& value) {
    std::string out;
    append_json(out, value);
    return out;
}

std::string canonical_json(const json::value& value) {
    std::string out;
    write(out, value, {.sorted = true}, 0);
    return out;
}

std::string pretty_json(const json::value& value) {
    std::string out;
    write(out, value, {.sorted = true, .indent = 2}, 0);
    return out;
}

const json::value* find(const json::object& object, std::string_view name) {
    return object.if_contains(json::string_view(name.data(), name.size()));
}

const json::value* find(const json::value& value, std::string_view name) {
    const auto* object = value.if_object();
    return object ? find(*object, name) : nullptr;
}

std::string string_at(const json::value& value, std::string_view name, std::string_view fallback) {
    const auto* member = find(value, name);
    if (!member || !member->is_string()) return std::string(fallback);
    return std::string(std::string_view(member->get_string()));
}

std::int64_t int_at(const json::value& value, std::string_view name, std::int64_t fallback) {
    const auto* member = find(value, name);
    if (!member) return fallback;
    if (member->is_int64()) return member->get_int64();
    // Large positive numbers are kept unsigned; those beyond int64 must not turn negative.
    if (member->is_uint64() && std::in_range<std::int64_t>(member->get_uint64()))
        return static_cast<std::int64_t>(member->get_uint64());
    return fallback;
}

bool bool_at(const json::value& value, std::string_view name, bool fallback) {
    const auto* member = find(value, name);
    return member && member->is_bool() ? member->get_bool() : fallback;
}

}  // namespace base
