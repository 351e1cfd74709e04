// What of a record is searched. Pure.
#pragma once

#include <optional>
#include <string>

#include "domain/record.h"
#include "domain/search/record_search.h"
#include "store/fts/index.h"

namespace search {

inline constexpr std::string_view kTranscriptKind = "transcript";
inline constexpr std::string_view kBriefKind = "brief";
inline constexpr std::string_view kEventKind = "event";

// Of a record with more text, the rest is not searched.
inline constexpr std::size_t kRecordBytesMax = 64 * 1024;

// The texts in a value, one a line, without ids, digests, times and other marks for programs.
std::string texts_in(const json::value& value);

fts::Document document_of(const domain::TranscriptEntry& entry, std::int64_t seq);
fts::Document document_of(const domain::Brief& brief, std::int64_t seq);
// Nothing for an event that another record already says in full.
std::optional<fts::Document> document_of(const domain::AgentId& agent, const domain::Event& event);

domain::RecordHit hit_of(const fts::Hit& hit);

}  // namespace search
