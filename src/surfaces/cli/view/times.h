// Times as people read them: of their own time zone, with its offset.
#pragma once

#include <string>

#include "base/time.h"

namespace cli {

// "2026-11-16 14:03:59+01:00", in the zone of TZ or of the machine.
std::string local_time(base::Time time);
// "14:03:59+01:00"
std::string local_clock(base::Time time);
// "2026-11-16"
std::string local_day(base::Time time);

}  // namespace cli
