// The record for people and other programs: events, transcript, briefs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/typed.h"
#include "domain/ids.h"
#include "domain/message.h"

namespace domain {

// One line of an agent's history. event_seq starts at 1 and has no gaps.
struct Event {
    EventId id;
    std::int64_t event_seq{0};
    Time created_at{};
    std::string kind;
    json::value data;
    friend bool operator==(const Event&, const Event&) = default;
};
BOOST_DESCRIBE_STRUCT(Event, (), (id, event_seq, created_at, kind, data))

enum class TranscriptKind {
    IncomingMessage,
    AssistantRound,
    ToolResults,
    RuntimeFailure,
    ContinuationPrompt
};
BOOST_DESCRIBE_ENUM(TranscriptKind, IncomingMessage, AssistantRound, ToolResults, RuntimeFailure,
                    ContinuationPrompt)

struct TranscriptEntry {
    std::string id;
    AgentId agent_id;
    RunId run_id;
    Time created_at{};
    TranscriptKind kind{TranscriptKind::IncomingMessage};
    std::optional<std::int64_t> round{};
    std::optional<MessageId> related_message_id{};
    std::optional<std::string> stop_reason{};
    std::optional<std::int64_t> input_tokens{};
    std::optional<std::int64_t> output_tokens{};
    json::value data;
    friend bool operator==(const TranscriptEntry&, const TranscriptEntry&) = default;
};
BOOST_DESCRIBE_STRUCT(TranscriptEntry, (),
                      (id, agent_id, run_id, created_at, kind, round, related_message_id,
                       stop_reason, input_tokens, output_tokens, data))
constexpr auto describe_fields(const TranscriptEntry*) {
    return std::to_array<base::FieldDoc>({{.field = "round", .null_when_absent = true},
                                          {.field = "related_message_id", .null_when_absent = true},
                                          {.field = "stop_reason", .null_when_absent = true},
                                          {.field = "input_tokens", .null_when_absent = true},
                                          {.field = "output_tokens", .null_when_absent = true}});
}

enum class BriefKind { Ack, Result, Failure };
BOOST_DESCRIBE_ENUM(BriefKind, Ack, Result, Failure)
// What it means to the operator: an answer is needed, work is done, or a turn has ended.
enum class BriefVisibility { ActionRequired, WorkDone, TurnResult };
BOOST_DESCRIBE_ENUM(BriefVisibility, ActionRequired, WorkDone, TurnResult)

// A message of the agent to its operator. Never reasoning, never tool output.
struct Brief {
    BriefId id;
    AgentId agent_id;
    std::string workspace_id;
    std::optional<WorkItemId> work_item_id{};
    BriefKind kind{BriefKind::Result};
    std::optional<BriefVisibility> visibility{};  // Absent for an acknowledgement.
    Time created_at{};
    std::string text;
    std::optional<std::vector<BriefAttachment>> attachments{};
    std::optional<MessageId> related_message_id{};
    std::optional<TaskId> related_task_id{};
    friend bool operator==(const Brief&, const Brief&) = default;
};
BOOST_DESCRIBE_STRUCT(Brief, (),
                      (id, agent_id, workspace_id, work_item_id, kind, visibility, created_at, text,
                       attachments, related_message_id, related_task_id))
constexpr auto describe_fields(const Brief*) {
    return std::to_array<base::FieldDoc>({{.field = "attachments", .null_when_absent = true},
                                          {.field = "related_message_id", .null_when_absent = true},
                                          {.field = "related_task_id", .null_when_absent = true}});
}

}  // namespace domain
