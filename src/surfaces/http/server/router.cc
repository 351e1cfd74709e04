#include "surfaces/http/server/router.h"

#include "base/log/log.h"
#include "base/text.h"
#include "surfaces/http/server/errors.h"

namespace http_surface {
namespace {

constexpr std::size_t kSegmentsMax = 8;

int hex_value(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

// Cuts the first segment off `path`, which starts with '/'.
std::string_view take_segment(std::string_view& path) {
    const auto end = path.find('/', 1);
    const std::string_view segment = path.substr(1, end == std::string_view::npos ? end : end - 1);
    path = end == std::string_view::npos ? std::string_view() : path.substr(end);
    return segment;
}

bool is_parameter(std::string_view segment) {
    return segment.starts_with('{') && segment.ends_with('}');
}

bool fits(std::string_view pattern, std::string_view path) {
    while (!pattern.empty() && !path.empty()) {
        const auto wanted = take_segment(pattern);
        const auto got = take_segment(path);
        if (is_parameter(wanted) ? got.empty() : wanted != got) return false;
    }
    return pattern.empty() && path.empty();
}

// False when a parameter cannot be decoded; such a path leads nowhere.
bool bind(std::string_view pattern, std::string_view path, Matched& matched) {
    while (!pattern.empty()) {
        const auto wanted = take_segment(pattern);
        const auto got = take_segment(path);
        if (!is_parameter(wanted)) continue;
        auto value = decode_percent(got, false);
        if (!value) return false;
        matched.params.emplace(wanted.substr(1, wanted.size() - 2), std::move(*value));
    }
    return true;
}

bool takes(const Route& route, Method method) {
    return route.method == method || (route.method == Method::Get && method == Method::Head);
}

}  // namespace

base::Result<std::string> decode_percent(std::string_view text, bool plus_is_space) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '+' && plus_is_space) {
            out += ' ';
        } else if (text[i] != '%') {
            out += text[i];
        } else {
            const int high = i + 2 < text.size() ? hex_value(text[i + 1]) : -1;
            const int low = i + 2 < text.size() ? hex_value(text[i + 2]) : -1;
            if (high < 0 || low < 0)
                return base::fail(base::ErrorCode::InvalidInput, "a percent escape is broken");
            out += static_cast<char>(high * 16 + low);
            i += 2;
        }
    }
    if (out.find('\0') != std::string::npos || !base::is_utf8(out))
        return base::fail(base::ErrorCode::InvalidInput, "escaped bytes are not valid UTF-8 text");
    return out;
}

std::string unknown_key(const Route& route, const Query& query) {
    if (route.guard == Guard::Capability) return "";
    for (const auto& [key, value] : query)
        if (std::ranges::find(route.query, key, &QueryDoc::name) == route.query.end()) return key;
    return "";
}

base::Result<Query> parse_query(std::string_view query) {
    Query out;
    while (!query.empty()) {
        const auto end = query.find('&');
        const std::string_view pair = query.substr(0, end);
        query = end == std::string_view::npos ? std::string_view() : query.substr(end + 1);
        if (pair.empty()) continue;
        const auto equals = pair.find('=');
        auto key = TRY(decode_percent(pair.substr(0, equals), true));
        auto value = equals == std::string_view::npos
                         ? std::string()
                         : TRY(decode_percent(pair.substr(equals + 1), true));
        if (out.size() >= kQueryKeysMax)
            return base::fail(base::ErrorCode::InvalidInput, "the query has more than {} keys",
                              kQueryKeysMax);
        if (!out.emplace(key, std::move(value)).second)
            return base::fail(base::ErrorCode::InvalidInput, "the query repeats '{}'",
                              base::printable(base::ellipsize(key, 40)));
    }
    return out;
}

Match match(std::span<const Route> routes, Method method, std::string_view path) {
    if (!path.starts_with('/') ||
        static_cast<std::size_t>(std::ranges::count(path, '/')) > kSegmentsMax)
        return NoRoute{};
    std::string allow;
    for (const auto& route : routes) {
        if (!fits(route.pattern, path)) continue;
        if (takes(route, method)) {
            Matched matched{.route = &route};
            if (!bind(route.pattern, path, matched)) return NoRoute{};
            return matched;
        }
        allow += (allow.empty() ? "" : ", ") +
                 std::string(route.method == Method::Get ? "GET, HEAD" : "POST");
    }
    if (allow.empty()) return NoRoute{};
    return WrongMethod{std::move(allow)};
}

Response answer(const Context& context, const Route& route, const Request& request) {
    try {
        auto response = route.handle(context, request);
        if (response) return std::move(*response);
        Response failure = error_response(response.error());
        if (failure.status == 500)
            base::log_error("{} failed: {}", route.pattern, response.error().message);
        return failure;
    } catch (const std::exception& failure) {
        base::log_error("{} failed: {}", route.pattern, failure.what());
        return refusal(500, "internal", "an internal error happened; the log says more");
    }
}

}  // namespace http_surface
