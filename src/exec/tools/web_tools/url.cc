#include "exec/tools/web_tools/url.h"

#include <charconv>
#include <memory>

#include <curl/curl.h>

#include "base/text.h"

namespace web_tools {
namespace {

using Handle = std::unique_ptr<CURLU, decltype(&curl_url_cleanup)>;

std::optional<std::string> part(CURLU* handle, CURLUPart which, unsigned flags = 0) {
    char* text = nullptr;
    if (curl_url_get(handle, which, &text, flags) != CURLUE_OK) return std::nullopt;
    std::string copy(text);
    curl_free(text);
    return copy;
}

std::string lower_case(std::string text) {
    for (char& c : text)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
    return text;
}

bool is_clean(std::string_view text) {
    return !text.empty() && text.size() <= kUrlBytesMax &&
           text.find_first_of(std::string_view("\0\r\n\t", 4)) == text.npos;
}

bool set_url(CURLU* handle, std::string_view text) {
    return curl_url_set(handle, CURLUPART_URL, std::string(text).c_str(),
                        CURLU_DISALLOW_USER | CURLU_URLENCODE) == CURLUE_OK;
}

std::optional<Url> read(CURLU* handle) {
    curl_url_set(handle, CURLUPART_FRAGMENT, nullptr, 0);
    const auto scheme = part(handle, CURLUPART_SCHEME);
    auto host = part(handle, CURLUPART_HOST);
    const auto port = part(handle, CURLUPART_PORT, CURLU_DEFAULT_PORT);
    const auto text = part(handle, CURLUPART_URL);
    if (!scheme || !host || host->empty() || !port || !text || text->size() > kUrlBytesMax)
        return std::nullopt;
    Url url{.text = *text, .scheme = lower_case(*scheme), .host = lower_case(*host)};
    if (url.scheme != "http" && url.scheme != "https") return std::nullopt;
    if (url.host.starts_with('[') && url.host.ends_with(']'))
        url.host = url.host.substr(1, url.host.size() - 2);
    // "example.com." is the same host.
    if (url.host.ends_with('.')) url.host.pop_back();
    std::from_chars(port->data(), port->data() + port->size(), url.port);
    if (url.host.empty() || url.port < 1) return std::nullopt;
    return url;
}

}  // namespace

std::optional<Url> parse_url(std::string_view text) {
    text = base::trim(text);
    const Handle handle(curl_url(), curl_url_cleanup);
    if (!handle || !is_clean(text) || !text.contains("://") || !set_url(handle.get(), text))
        return std::nullopt;
    return read(handle.get());
}

std::optional<Url> join_url(const Url& from, std::string_view reference) {
    reference = base::trim(reference);
    const Handle handle(curl_url(), curl_url_cleanup);
    if (!handle || !is_clean(reference) || !set_url(handle.get(), from.text) ||
        !set_url(handle.get(), reference))
        return std::nullopt;
    return read(handle.get());
}

}  // namespace web_tools
