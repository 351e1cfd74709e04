// Times as people name them: lengths, times of day, and cron expressions, in a time zone.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace calendar {

// "90s", "1h30m", "2d", "500ms" in milliseconds. Units: ms, s, m, h, d, w, each once and the larger
// first. InvalidInput, with what is allowed, for anything else.
base::Result<std::int64_t> parse_duration_ms(std::string_view text);

// The name of the machine's time zone, or that in TZ: "Europe/Berlin"; "UTC" when it is not known.
std::string local_zone();
// InvalidInput for a zone that the system does not know.
base::Status check_zone(const std::string& zone);

// The first time after `now` that a clock in the zone shows `when`: "09:00", "09:00:30", or with a
// day "2026-12-24 18:00". InvalidInput for any other text, and for a day that has passed. A time
// that summer time skips is the moment after the gap; of one that comes twice it is the first.
base::Result<base::Time> next_local(std::string_view when, const std::string& zone, base::Time now);

// The first time after `after` that the cron expression fits in the zone. It has five fields:
// minute, hour, day of the month, month, day of the week (0 and 7 are Sunday), each *, a number, a
// name (jan, mon), a range, a step or a list of these. When both days are given, one is enough.
// InvalidInput for another expression, and for one that fits no day of the next kYearsMax years.
inline constexpr int kYearsMax = 8;
base::Result<base::Time> next_cron(std::string_view expression, const std::string& zone,
                                   base::Time after);

}  // namespace calendar
