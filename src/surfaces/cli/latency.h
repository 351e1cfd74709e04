// Where turns spent their time, out of their events. Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "domain/record.h"

namespace cli {

// One paragraph a turn, the newest first, at most `limit`; empty when no turn is among the events.
std::vector<std::string> latency_texts(std::span<const domain::Event> events, std::int64_t limit);

// "84ms", "1.2s"; "unknown" for a negative number.
std::string latency_duration(std::int64_t milliseconds);

}  // namespace cli
