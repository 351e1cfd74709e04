// Points in time as the record keeps them: UTC, microseconds, RFC 3339 in text.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "base/result.h"

namespace base {

using Time = std::chrono::sys_time<std::chrono::microseconds>;
using namespace std::chrono_literals;

// "2031-01-02T03:04:05.678901Z"; always UTC, always six decimals, so text order is time order.
std::string to_text(Time time);

// Accepts RFC 3339 with any number of decimals and any offset.
Result<Time> parse_time(std::string_view text);

inline std::int64_t to_micros(Time time) {
    return time.time_since_epoch().count();
}
inline Time from_micros(std::int64_t micros) {
    return Time(std::chrono::microseconds(micros));
}
inline std::int64_t millis_between(Time from, Time to) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(to - from).count();
}

// Passed in wherever time matters, never read from the air.
class Clock {
public:
    virtual ~Clock() = default;
    virtual Time now() = 0;
};

class SystemClock final : public Clock {
public:
    Time now() override;
};

}  // namespace base
