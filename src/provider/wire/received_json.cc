#include "provider/wire/received_json.h"

#include <charconv>
#include <optional>

#include "base/text.h"

namespace provider {
namespace {

constexpr std::size_t kEscapeSize = 6;  // \uXXXX

// The code unit of the \uXXXX escape at the start of `text`.
std::optional<unsigned> escaped_unit(std::string_view text) {
    if (text.size() < kEscapeSize || !text.starts_with("\\u")) return std::nullopt;
    unsigned unit = 0;
    const char* const end = text.data() + kEscapeSize;
    const auto parsed = std::from_chars(text.data() + 2, end, unit, 16);
    if (parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
    return unit;
}

bool is_high(unsigned unit) {
    return unit >= 0xD800 && unit <= 0xDBFF;
}

bool is_low(unsigned unit) {
    return unit >= 0xDC00 && unit <= 0xDFFF;
}

// How much of the backslash sequence at the start of `text` belongs together, and whether it is
// half a surrogate pair.
struct Escape {
    std::size_t size;
    bool is_lone;
};

Escape read_escape(std::string_view text) {
    const auto unit = escaped_unit(text);
    if (!unit) return {std::min<std::size_t>(2, text.size()), false};
    if (is_high(*unit)) {
        const auto second = escaped_unit(text.substr(kEscapeSize));
        if (second && is_low(*second)) return {2 * kEscapeSize, false};
    }
    return {kEscapeSize, is_high(*unit) || is_low(*unit)};
}

}  // namespace

std::string repair_json_text(std::string_view bytes) {
    const std::string clean = base::to_utf8(bytes);
    std::string out;
    out.reserve(clean.size());
    std::string_view rest = clean;
    while (!rest.empty()) {
        const std::size_t plain = std::min(rest.find('\\'), rest.size());
        out += rest.substr(0, plain);
        rest.remove_prefix(plain);
        if (rest.empty()) break;
        const Escape escape = read_escape(rest);
        out += escape.is_lone ? "\\ufffd" : rest.substr(0, escape.size);
        rest.remove_prefix(escape.size);
    }
    return out;
}

base::Result<json::value> parse_received_json(std::string_view bytes) {
    auto parsed = base::parse_json(bytes);
    if (parsed) return parsed;
    const std::string repaired = repair_json_text(bytes);
    if (repaired == bytes) return parsed;
    return base::parse_json(repaired);
}

const json::value* usable_error(const json::value* error) {
    return error && (error->is_object() || error->is_string()) ? error : nullptr;
}

const json::value* error_in(const json::value& document, bool is_success) {
    const json::value& holder =
        document.is_array() && !document.get_array().empty() ? document.get_array()[0] : document;
    if (const auto* error = usable_error(base::find(holder, "error"))) return error;
    if (is_success) return nullptr;
    if (const auto* detail = base::find(holder, "detail")) {
        if (detail->is_array() && !detail->get_array().empty())
            return usable_error(&detail->get_array()[0]);
        return usable_error(detail);
    }
    return base::string_at(holder, "message").empty() ? nullptr : &holder;
}

std::string error_text(const json::value& error) {
    if (error.is_string()) return std::string(error.get_string());
    return base::string_at(error, "message", base::string_at(error, "msg"));
}

}  // namespace provider
