#include "provider/http/retry_after.h"

#include <algorithm>
#include <charconv>
#include <string>

#include <curl/curl.h>

#include "base/text.h"

namespace provider {

std::optional<std::chrono::milliseconds> parse_retry_after(std::string_view value, base::Time now) {
    constexpr std::chrono::seconds kLongest = std::chrono::hours(24 * 365);
    value = base::trim(value);
    if (value.empty()) return std::nullopt;
    if (std::ranges::all_of(value, [](char c) { return c >= '0' && c <= '9'; })) {
        std::int64_t seconds = 0;
        const auto parsed = std::from_chars(value.data(), value.data() + value.size(), seconds);
        if (parsed.ec != std::errc()) return kLongest;
        return std::min(std::chrono::seconds(seconds), kLongest);
    }
    const time_t at = curl_getdate(std::string(value).c_str(), nullptr);
    if (at == -1) return std::nullopt;
    const auto seconds = std::clamp<std::int64_t>(
        at - std::chrono::floor<std::chrono::seconds>(now).time_since_epoch().count(), 0,
        kLongest.count());
    return std::chrono::seconds(seconds);
}

}  // namespace provider
