// Messages and their durable order.
#pragma once

#include "domain/message.h"
#include "store/records/types.h"

namespace store {

struct Appended {
    std::int64_t seq{0};  // Arrival order over all messages of the agent.
};
struct AlreadyHave {
    MessageId message_id;  // The message that came first with this id or dedupe key.
};
using AppendOutcome = std::variant<Appended, AlreadyHave>;

struct QueuedMessage {
    domain::Message message;
    domain::QueueEntry entry;
};

class MessageRecords {
public:
    virtual ~MessageRecords() = default;

    // Stores the message and queues it behind all others of its agent and priority. A message id or
    // dedupe key that is already stored changes nothing; the outcome names the first message.
    virtual Result<AppendOutcome> append_message(const domain::Message& message,
                                                 const std::optional<std::string>& dedupe_key) = 0;
    // The message that append_message() would name as AlreadyHave, or nothing.
    virtual Result<std::optional<MessageId>> known_message(
        const domain::Message& message, const std::optional<std::string>& dedupe_key) = 0;
    // The message with its entry as it is now, in any status.
    virtual Result<std::optional<QueuedMessage>> message(const MessageId& id) = 0;
    // One page by arrival, whatever the status and the priority.
    virtual Result<std::vector<Numbered<QueuedMessage>>> messages(const AgentId& agent,
                                                                  const Page& page) = 0;
    // The message to run next: highest priority, then oldest. Interrupted ones come before queued
    // ones of the same priority, because they were there first.
    virtual Result<std::optional<QueuedMessage>> next_message(const AgentId& agent) = 0;
    // Moves an entry; which moves make sense is for the queue to decide. Claiming counts a try.
    // NotFound when there is no such message.
    virtual Status set_queue_status(const MessageId& id, domain::QueueStatus status,
                                    const std::optional<std::string>& reason, base::Time now) = 0;
    // Records that no turn could be opened for the message; returns how often that has happened.
    // NotFound when there is no such message.
    virtual Result<std::int64_t> count_failure(const MessageId& id, const std::string& reason,
                                               base::Time now) = 0;
    // Number of messages that are queued or interrupted.
    virtual Result<std::int64_t> pending_count(const AgentId& agent) = 0;
    // Those of them from one external sender; see domain::external_sender.
    virtual Result<std::int64_t> pending_count_of(const AgentId& agent,
                                                  const std::string& sender) = 0;
    // Those of them with the priority Interject, oldest first.
    virtual Result<std::vector<QueuedMessage>> pending_interjections(const AgentId& agent,
                                                                     std::int64_t limit) = 0;
    // Agents with a pending message, by id, after `after`.
    virtual Result<std::vector<AgentId>> agents_with_pending(const AgentId& after,
                                                             std::int64_t limit) = 0;
};

}  // namespace store
