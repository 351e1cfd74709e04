// Where the time of a turn went, out of committed events alone. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "domain/record.h"

namespace cli {

struct RoundLatency {
    std::int64_t round{0};
    std::optional<std::int64_t> ms{};
    std::string model;
    std::int64_t input_tokens{0};
    std::int64_t output_tokens{0};
    friend bool operator==(const RoundLatency&, const RoundLatency&) = default;
};
struct ToolLatency {
    std::string tool;
    std::int64_t ms{0};
    std::string summary;
    friend bool operator==(const ToolLatency&, const ToolLatency&) = default;
};
// An absent value has not happened yet, or lies before the first given event.
struct TurnLatency {
    std::int64_t turn_index{0};
    std::string run_id;
    std::string kind{"open"};
    std::optional<std::int64_t> runtime_total_ms{};
    std::optional<std::int64_t> queue_wait_ms{};  // From admission to the start of processing.
    std::optional<std::int64_t> context_build_ms{};
    std::vector<RoundLatency> rounds{};
    std::vector<ToolLatency> tools{};
    friend bool operator==(const TurnLatency&, const TurnLatency&) = default;

    std::int64_t tool_ms() const;
    // The time of the turn itself without rounds and tools. Waiting in the queue and planning the
    // prompt come before the turn's own time, so they are not taken from it.
    std::optional<std::int64_t> cleanup_ms() const;
};

// The turns in `events`, which are in order; the newest first, at most `limit`.
std::vector<TurnLatency> latency_of(const std::vector<domain::Event>& events, std::size_t limit);

std::string latency_text(const TurnLatency& turn);

}  // namespace cli
