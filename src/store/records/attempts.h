// Turn attempts, their prompt frames, their tool calls, and the effects they are waiting for.
#pragma once

#include "base/json.h"
#include "domain/tool.h"
#include "domain/turn.h"
#include "store/records/types.h"

namespace store {

class AttemptRecords {
public:
    virtual ~AttemptRecords() = default;

    // Conflict when the agent already has an open attempt, or the attempt exists.
    virtual Status open_attempt(const domain::Attempt& attempt) = 0;
    // Replaces an attempt. NotFound unless it was opened before.
    virtual Status put_attempt(const domain::Attempt& attempt) = 0;
    // Open or closed.
    virtual Result<std::optional<domain::Attempt>> attempt(const RunId& id) = 0;
    // The one attempt of the agent that is not closed; empty when it executes nothing.
    virtual Result<std::optional<domain::Attempt>> open_attempt_of(const AgentId& agent) = 0;
    // Of all agents, by the agent's id.
    virtual Result<std::vector<domain::Attempt>> open_attempts(std::int64_t limit) = 0;
    // Agents with an open attempt, by id, after `after`.
    virtual Result<std::vector<AgentId>> agents_with_open_attempt(const AgentId& after,
                                                                  std::int64_t limit) = 0;
    // Inserts or replaces the prompt frame of an attempt that was opened before. It is stored
    // apart, because it is large and does not change when the attempt does.
    virtual Status put_frame(const RunId& id, json::value frame) = 0;
    // The frame as it was put; empty when there is none. One that is a text comes back as the value
    // that the text is, if it is one: earlier versions stored frames so.
    virtual Result<std::optional<json::value>> frame(const RunId& id) = 0;

    // Inserts or replaces a call, by its id: first as it was requested, later with its result.
    virtual Status put_tool_execution(const domain::ToolExecution& execution) = 0;
    // Of any attempt.
    virtual Result<std::optional<domain::ToolExecution>> tool_execution(const ToolCallId& id) = 0;
    // The calls of one attempt in the order they were requested; of one round when `round` is
    // given.
    virtual Result<std::vector<domain::ToolExecution>> tool_executions(
        const RunId& run, std::optional<std::int64_t> round) = 0;
};

// An effect that a commit asked for and whose outcome has not been committed yet.
struct OutboxEntry {
    std::string effect_id;  // Stable: the same effect has the same id after a restart.
    AgentId agent_id;
    std::string kind;
    json::value payload;
    base::Time created_at{};
    friend bool operator==(const OutboxEntry&, const OutboxEntry&) = default;
};

class OutboxRecords {
public:
    virtual ~OutboxRecords() = default;

    // Adding the same effect_id again changes nothing.
    virtual Status put_outbox(const OutboxEntry& entry) = 0;
    // An unknown effect is no error.
    virtual Status erase_outbox(const std::string& effect_id) = 0;
    // The agent's effects, oldest first.
    virtual Result<std::vector<OutboxEntry>> outbox(const AgentId& agent) = 0;
};

}  // namespace store
