#include "base/json.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

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

void write_double(std::string& out, double number) {
    // Boost writes 1.0 as 1E0; people and other parsers expect 1.0.
    if (std::isfinite(number)) {
        std::string text = fmt::format("{}", number);
        if (text.find_first_of(".e") == std::string::npos) text += ".0";
        out += text;
    } else {
        out += "null";
    }
}

bool has_double(const json::value& value) {
    if (const auto* array = value.if_array()) return std::ranges::any_of(*array, has_double);
    if (const auto* object = value.if_object())
        return std::ranges::any_of(*object,
                                   [](const auto& member) { return has_double(member.value()); });
    return value.is_double();
}

void write(std::string& out, const json::value& value, const Layout& layout, int depth);

void write_members(std::string& out, const json::object& object, const Layout& layout, int depth) {
    std::vector<const json::key_value_pair*> members;
    members.reserve(object.size());
    for (const auto& member : object) members.push_back(&member);
    if (layout.sorted)
        std::ranges::sort(members, {}, [](auto* m) { return std::string_view(m->key()); });
    bool first = true;
    for (const auto* member : members) {
        if (!first) out += ',';
        first = false;
        newline(out, layout, depth + 1);
        out += json::serialize(json::string_view(member->key()));
        out += layout.indent == 0 ? ":" : ": ";
        write(out, member->value(), layout, depth + 1);
    }
}

void write(std::string& out, const json::value& value, const Layout& layout, int depth) {
    if (value.is_object()) {
        out += '{';
        write_members(out, value.get_object(), layout, depth);
        if (!value.get_object().empty()) newline(out, layout, depth);
        out += '}';
    } else if (value.is_array()) {
        out += '[';
        bool first = true;
        for (const auto& item : value.get_array()) {
            if (!first) out += ',';
            first = false;
            newline(out, layout, depth + 1);
            write(out, item, layout, depth + 1);
        }
        if (!value.get_array().empty()) newline(out, layout, depth);
        out += ']';
    } else if (value.is_double()) {
        write_double(out, value.get_double());
    } else {
        out += json::serialize(value);
    }
}

}  // namespace

Result<json::value> parse_json(std::string_view text) {
    json::parse_options options;
    options.max_depth = kJsonDepthMax;
    boost::system::error_code error;
    json::parser parser({}, options);
    const std::size_t read = parser.write_some(json::string_view(text.data(), text.size()), error);
    if (!error && read < text.size()) error = json::error::extra_data;
    if (!error) return parser.release();
    const std::string_view before = text.substr(0, read);
    const auto line = 1 + std::ranges::count(before, '\n');
    const auto column = before.size() - (before.rfind('\n') + 1) + 1;  // npos + 1 is 0.
    return fail(ErrorCode::InvalidInput, "not valid JSON at line {}, column {}: {}", line, column,
                error.message());
}

std::string json_text(const json::value& value) {
    // The library writes the same text several times as fast, but for doubles.
    if (!has_double(value)) return json::serialize(value);
    std::string out;
    write(out, value, {}, 0);
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
