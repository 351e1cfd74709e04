// URLs as libcurl reads them, so that what is checked is what is requested. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace web_tools {

inline constexpr std::size_t kUrlBytesMax = 8 * 1024;

// An absolute http or https URL without user info and fragment.
struct Url {
    std::string text;    // Normalised; what is requested.
    std::string scheme;  // "http" or "https".
    std::string host;    // Lower case; an IPv6 address without brackets.
    int port{0};
    friend bool operator==(const Url&, const Url&) = default;
};

// Empty for anything else. Addresses in other notations (2130706433, 0x7f.1) become plain ones.
std::optional<Url> parse_url(std::string_view text);

// What a Location header or a link on the page `from` names.
std::optional<Url> join_url(const Url& from, std::string_view reference);

}  // namespace web_tools
