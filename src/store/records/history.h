// What happened: events, transcript and briefs, append-only. Nothing is changed once it is there;
// only retention removes, from the oldest on.
#pragma once

#include "domain/record.h"
#include "store/records/types.h"

namespace store {

class HistoryRecords {
public:
    virtual ~HistoryRecords() = default;

    // Appends to the agent's history and returns the event's number: the last one plus one. An
    // `event_seq` that the event already has is ignored.
    virtual Result<std::int64_t> append_event(const AgentId& agent, const domain::Event& event) = 0;
    // One page; each event has its number as `event_seq`.
    virtual Result<std::vector<domain::Event>> events(const AgentId& agent, const Page& page) = 0;
    // The number of the newest event, also when it was removed; 0 when there never was one.
    virtual Result<std::int64_t> last_event_seq(const AgentId& agent) = 0;
    // Adds an entry behind all others of its agent. Nothing compares ids: an entry that is appended
    // twice is there twice, so the caller appends it in the commit that makes it true.
    virtual Status append_transcript(const domain::TranscriptEntry& entry) = 0;
    // One page of the agent's transcript, over all its messages.
    virtual Result<std::vector<Numbered<domain::TranscriptEntry>>> transcript(const AgentId& agent,
                                                                              const Page& page) = 0;
    // All entries about one message, over every attempt at it, oldest first.
    virtual Result<std::vector<domain::TranscriptEntry>> transcript_of(
        const MessageId& message) = 0;
    // Adds a brief behind all others of its agent; as for the transcript, nothing compares ids.
    virtual Status append_brief(const domain::Brief& brief) = 0;
    // One page of the agent's briefs, whatever their kind and visibility.
    virtual Result<std::vector<Numbered<domain::Brief>>> briefs(const AgentId& agent,
                                                                const Page& page) = 0;
};

}  // namespace store
