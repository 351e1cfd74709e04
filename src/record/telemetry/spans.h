// Turns, rounds, tool calls and tasks as spans of a trace.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "record/events/events.h"

namespace telemetry {

using Attribute = std::variant<std::string, std::int64_t, bool>;

// A finished piece of work. Ids are lower-case hex: 32 digits for a trace, 16 for a span.
struct Span {
    std::string trace_id;
    std::string span_id;
    std::string parent_span_id{};  // Empty at the top.
    std::string name;
    domain::Time start{};
    domain::Time end{};
    bool failed{false};
    std::string failure{};  // A kind, never a message: messages may quote content.
    std::vector<std::pair<std::string, Attribute>> attributes{};
    friend bool operator==(const Span&, const Span&) = default;
};

// The spans that this event ends, at most one today. An event that cannot be read ends none.
// Pure: the same event has the same ids, in every process.
std::vector<Span> spans_of(const events::Committed& committed);

}  // namespace telemetry
