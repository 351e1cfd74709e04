// What happened: events, transcript and briefs, append-only.
#pragma once

#include "domain/record.h"
#include "store/records/types.h"

namespace store {

class HistoryRecords {
public:
    virtual ~HistoryRecords() = default;

    // Appends to the agent's history and returns the event's number: the last one plus one.
    virtual Result<std::int64_t> append_event(const AgentId& agent, const domain::Event& event) = 0;
    virtual Result<std::vector<domain::Event>> events(const AgentId& agent, const Page& page) = 0;
    // 0 for an agent without events.
    virtual Result<std::int64_t> last_event_seq(const AgentId& agent) = 0;
    virtual Status append_transcript(const domain::TranscriptEntry& entry) = 0;
    virtual Result<std::vector<Numbered<domain::TranscriptEntry>>> transcript(const AgentId& agent,
                                                                              const Page& page) = 0;
    // All entries about one message, over every attempt at it, oldest first.
    virtual Result<std::vector<domain::TranscriptEntry>> transcript_of(
        const MessageId& message) = 0;
    virtual Status append_brief(const domain::Brief& brief) = 0;
    virtual Result<std::vector<Numbered<domain::Brief>>> briefs(const AgentId& agent,
                                                                const Page& page) = 0;
};

}  // namespace store
