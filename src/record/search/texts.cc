#include "record/search/texts.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "domain/events/memory.h"
#include "domain/events/messages.h"
#include "domain/events/scheduler.h"
#include "domain/events/turn.h"

namespace search {
namespace {

constexpr std::int64_t kTranscriptWeight = 100;
constexpr std::int64_t kBriefWeight = 110;
constexpr std::int64_t kEventWeight = 50;

constexpr std::array<std::string_view, 12> kMarks{
    "id",    "kind",     "type",   "hash",       "status",     "signature", "encrypted_content",
    "trust", "priority", "origin", "projection", "stop_reason"};
constexpr std::array<std::string_view, 6> kMarkEndings{"_id",          "_at",    "_key",
                                                       "_fingerprint", "_class", "_surface"};

bool is_mark(std::string_view key) {
    return std::ranges::find(kMarks, key) != kMarks.end() ||
           std::ranges::any_of(kMarkEndings,
                               [&](std::string_view end) { return key.ends_with(end); });
}

void collect(std::string& out, const json::value& value) {
    if (out.size() >= kRecordBytesMax) return;
    if (const auto* text = value.if_string()) {
        if (!out.empty() && !text->empty()) out += '\n';
        out += std::string_view(*text).substr(
            0, kRecordBytesMax - std::min(out.size(), kRecordBytesMax));
    } else if (const auto* array = value.if_array()) {
        for (const auto& item : *array) collect(out, item);
    } else if (const auto* object = value.if_object()) {
        for (const auto& member : *object)
            if (!is_mark(member.key())) collect(out, member.value());
    }
}

std::string words_of(std::string_view name) {
    std::string words(name);
    std::ranges::replace(words, '_', ' ');
    return words;
}

std::string ref_of(const domain::AgentId& agent, std::string_view kind, std::string_view id) {
    return fmt::format("{}/{}/{}", agent, kind, id);
}

}  // namespace

std::string texts_in(const json::value& value) {
    std::string out;
    collect(out, value);
    return out;
}

fts::Document document_of(const domain::TranscriptEntry& entry, std::int64_t seq) {
    return {.source_ref = ref_of(entry.agent_id, kTranscriptKind, entry.id),
            .kind = std::string(kTranscriptKind),
            .scope = entry.agent_id.value,
            .title = words_of(base::enum_name(entry.kind)),
            .body = texts_in(entry.data),
            .updated_at = entry.created_at,
            .sequence = seq,
            .weight = kTranscriptWeight};
}

fts::Document document_of(const domain::Brief& brief, std::int64_t seq) {
    return {.source_ref = ref_of(brief.agent_id, kBriefKind, brief.id.value),
            .kind = std::string(kBriefKind),
            .scope = brief.agent_id.value,
            .title = "brief " + std::string(base::enum_name(brief.kind)),
            .body = brief.text.substr(0, kRecordBytesMax),
            .updated_at = brief.created_at,
            .sequence = seq,
            .weight = kBriefWeight};
}

std::optional<fts::Document> document_of(const domain::AgentId& agent, const domain::Event& event) {
    namespace events = domain::events;
    // They repeat what the transcript, the briefs and other events have.
    if (events::is_any<events::BriefCreated, events::AssistantRoundRecorded, events::TurnTerminal,
                       events::AgentStateChanged, events::SessionStateChanged,
                       events::WorkingMemoryUpdated>(event))
        return std::nullopt;
    auto text = texts_in(event.data);
    return fts::Document{.source_ref = ref_of(agent, kEventKind, std::to_string(event.event_seq)),
                         .kind = std::string(kEventKind),
                         .scope = agent.value,
                         .title = words_of(event.kind),
                         .body = std::move(text),
                         .updated_at = event.created_at,
                         .sequence = event.event_seq,
                         .weight = kEventWeight};
}

domain::RecordHit hit_of(const fts::Hit& hit) {
    const auto& document = hit.document;
    const auto prefix = document.scope.size() + document.kind.size() + 2;
    return {.agent_id = document.scope,
            .kind = document.kind,
            .id = document.source_ref.substr(std::min(prefix, document.source_ref.size())),
            .title = document.title,
            .snippet = hit.snippet,
            .score = -hit.score,
            .created_at = document.updated_at};
}

}  // namespace search
