// Times as people read them: of their own time zone, with its offset.
#pragma once

#include <string>

#include "base/time.h"

namespace show {

// "2026-11-16 14:03:59+01:00", in the zone of TZ or of the machine.
std::string local_time(base::Time time);
// "14:03:59+01:00"
std::string local_clock(base::Time time);
// "2026-11-16"
std::string local_day(base::Time time);
// "0.4s", "12s", "3m 04s"
std::string duration_text(std::int64_t milliseconds);
// "just now", "5m ago", "3d ago"
std::string age_text(std::int64_t seconds);

}  // namespace show
