// What a search over the records of all agents takes and gives, for operators.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/typed.h"
#include "domain/ids.h"

namespace domain {

struct RecordQuery {
    std::string query;
    std::optional<std::string> agent{};  // Only this one; absent: all.
    std::optional<Time> since{};
    std::int64_t limit{20};  // 1 to 200.
    friend bool operator==(const RecordQuery&, const RecordQuery&) = default;
};

struct RecordHit {
    std::string agent_id;
    std::string kind;     // transcript, brief, event
    std::string id;       // Of the entry or the brief; the number of the event.
    std::string title;    // What of its kind: tool results, Brief Result, turn started
    std::string snippet;  // The part that matches best.
    double score{0};      // Lower is better.
    Time created_at{};
    friend bool operator==(const RecordHit&, const RecordHit&) = default;
};
BOOST_DESCRIBE_STRUCT(RecordHit, (), (agent_id, kind, id, title, snippet, score, created_at))

struct RecordHits {
    std::string query;
    std::vector<RecordHit> results{};
    // Some records are not in the index yet. The same search again continues to add them.
    bool is_partial{false};
    friend bool operator==(const RecordHits&, const RecordHits&) = default;
};
BOOST_DESCRIBE_STRUCT(RecordHits, (), (query, results, is_partial))

inline constexpr std::int64_t kRecordHitsMax = 200;

}  // namespace domain
