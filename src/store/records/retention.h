// Rows that may be old enough to go, by agent and age, and how far their removal is.
#pragma once

#include "base/time.h"
#include "base/typed.h"
#include "store/records/types.h"

namespace store {

// What was, or would be, removed.
struct Removed {
    std::int64_t messages{0};  // Each with its attempts, prompts, tool calls and transcript.
    std::int64_t events{0};
    std::int64_t other_rows{0};  // Briefs, tasks, waits, timers, entries without a message.
    std::int64_t agents{0};      // Temporary agents whose run did not complete.
    std::int64_t files{0};
    std::int64_t file_bytes{0};
    friend bool operator==(const Removed&, const Removed&) = default;
};
BOOST_DESCRIBE_STRUCT(Removed, (), (messages, events, other_rows, agents, files, file_bytes))

// The state of retention in this database. All absent in a new one.
struct RetentionState {
    bool existed_before{false};                // An older program made the database.
    std::optional<base::Time> announced_at{};  // When its operator first got notice of what goes.
    std::optional<base::Time> deletes_from{};  // Nothing is removed unasked before this.
    std::optional<Removed> announced{};
    std::optional<base::Time> last_pass_at{};  // The end of the last pass over all agents.
    Removed last_pass{};
    Removed total{};             // Over all passes.
    std::int64_t file_bytes{0};  // Files of agents and plans, as the last pass found them.
    bool is_over_budget{false};  // After that pass: what may be removed was not enough.
    friend bool operator==(const RetentionState&, const RetentionState&) = default;
};
BOOST_DESCRIBE_STRUCT(RetentionState, (),
                      (existed_before, announced_at, deletes_from, announced, last_pass_at,
                       last_pass, total, file_bytes, is_over_budget))
constexpr auto describe_fields(const RetentionState*) {
    return std::to_array<base::FieldDoc>({{.field = "existed_before", .has_default = true},
                                          {.field = "last_pass", .has_default = true},
                                          {.field = "total", .has_default = true},
                                          {.field = "file_bytes", .has_default = true},
                                          {.field = "is_over_budget", .has_default = true}});
}

// Of the whole file, all agents together.
struct DatabaseSize {
    std::int64_t used_bytes{0};
    std::int64_t free_bytes{0};  // In the file, left by what was removed; used again by new rows.
    friend bool operator==(const DatabaseSize&, const DatabaseSize&) = default;
};

// One table as SQL names it.
struct TableRows {
    std::string table;
    std::int64_t rows{0};
    friend bool operator==(const TableRows&, const TableRows&) = default;
};
BOOST_DESCRIBE_STRUCT(TableRows, (), (table, rows))

// The numbered rows of an agent. Their order is the order in which they were first stored.
enum class Stream { Messages, Events, Transcript, Briefs, Tasks, Waits, Timers, Episodes };

// One row as a pass judges it: nothing of its content.
struct AgedRow {
    std::int64_t seq{0};
    std::string id{};                // Of a message, a task, a wait or a timer.
    std::optional<base::Time> at{};  // When it last changed; nothing when it cannot be read.
    // Still needed: input that is not handled, a task that is not over, a transcript entry whose
    // message is kept.
    bool is_needed{false};
    friend bool operator==(const AgedRow&, const AgedRow&) = default;
};

// What one call of erase_message() has removed. The caller removes the files that it names.
struct ErasedMessage {
    std::int64_t rows{0};
    bool is_gone{false};  // False: some of its rows are left for the next call.
    // Calls that were removed and that no task is left of: nothing names their logs any more.
    std::vector<std::string> calls{};
    std::vector<std::string> artifacts{};  // Names of files in the agent's tool-artifacts.
};

// The folder of an agent's home where complete outputs of tool calls are, by file.
inline constexpr std::string_view kArtifactsFolder = "tool-artifacts";

class RetentionRecords {
public:
    virtual ~RetentionRecords() = default;

    // As it was put last; all absent when it never was.
    virtual Result<RetentionState> retention() = 0;
    virtual Status put_retention(const RetentionState& state) = 0;  // Replaces it whole.
    // As this transaction sees it. What is removed becomes free_bytes, page by page; the file does
    // not shrink.
    virtual Result<DatabaseSize> database_size() = 0;
    // Of each table that grows. Reads an index of each of them: for an operator who asks.
    virtual Result<std::vector<TableRows>> row_counts() = 0;
    // The last number given out; 0 when there was none.
    virtual Result<std::int64_t> stream_head(const AgentId& agent, Stream stream) = 0;
    // How often entries of the agent's transcript were removed, by either of the two below.
    virtual Result<std::int64_t> erasures(const AgentId& agent) = 0;
    // Rows after `after_seq`, oldest first: waits and timers that are over, all of the others.
    virtual Result<std::vector<AgedRow>> oldest_rows(const AgentId& agent, Stream stream,
                                                     std::int64_t after_seq,
                                                     std::int64_t limit) = 0;
    // Removes the rows after `after_seq` up to `through_seq`; returns how many. Not for messages. A
    // task that is active, a wait that is open and a timer that is active stay.
    virtual Result<std::int64_t> erase_rows(const AgentId& agent, Stream stream,
                                            std::int64_t after_seq, std::int64_t through_seq) = 0;
    // Removes a message and all that its turns stored, at most about `rows_max` rows of it; the
    // message itself goes last. Refused, and nothing is changed, while it is not handled or one of
    // its attempts is open. An unknown message is gone.
    virtual Result<ErasedMessage> erase_message(const MessageId& id, std::int64_t rows_max) = 0;
    // Names of the artifacts that calls of the message's turns mention: of an attempt, those of its
    // first 16,384 calls.
    virtual Result<std::vector<std::string>> artifacts_of(const MessageId& id) = 0;
};

}  // namespace store
