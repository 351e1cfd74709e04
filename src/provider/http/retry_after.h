// The Retry-After header. Pure.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

#include "base/time.h"

namespace provider {

// Seconds or an HTTP date, from `now` on; a time in the past is no wait. Empty for anything else.
std::optional<std::chrono::milliseconds> parse_retry_after(std::string_view value, base::Time now);

}  // namespace provider
