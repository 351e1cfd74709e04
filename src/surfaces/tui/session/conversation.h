// What the operator reads of one agent: its events and what it is doing right now become blocks.
// Pure; one thread.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "domain/events/tools.h"
#include "domain/record.h"
#include "service/service.h"
#include "service/views/presentation.h"
#include "surfaces/show/line.h"

namespace tui {

inline constexpr std::size_t kStreamBytesMax = 256 * 1024;  // Of a text that is being written.
inline constexpr std::size_t kRememberedIds = 512;
inline constexpr std::size_t kPendingMax = 64;

enum class BlockKind {
    Operator,  // What the operator wrote.
    Result,    // Briefs: an answer,
    Failure,   // a failure,
    Asks,      // something that needs the operator.
    Progress,  // What the model said on its way.
    Done,      // A call that succeeded,
    Failed,    // and one that did not.
    Diff,      // What a patch changed.
    Note,      // Anything else, in one line.
    Warning,
};

// One finished piece of the conversation.
struct Block {
    BlockKind kind{BlockKind::Note};
    base::Time at{};
    std::string text;       // Of briefs and progress Markdown, else plain.
    std::string outcome{};  // "→ exit 2 1.2s", kept when the text is cut.
    friend bool operator==(const Block&, const Block&) = default;
};

// Of the patches that the round asked for, the one with this index; empty when it is not there.
std::string patch_of(const std::vector<domain::TranscriptEntry>& entries, const domain::RunId& run,
                     std::int64_t round, std::size_t index);

// The block in lines of at most `columns`, with a blank line above it where it is a paragraph.
std::vector<show::Line> lines_of(const Block& block, std::size_t columns);

// A message of the operator that no turn has begun to read.
struct Pending {
    enum class State { Sending, Queued, Failed };
    std::int64_t local_id{0};  // Of those sent here; 0: another client sent it.
    std::string message_id{};  // Once the runtime has it.
    std::string text;
    State state{State::Sending};
    friend bool operator==(const Pending&, const Pending&) = default;
};

struct Activity {
    std::string what{};                 // "thinking", "$ make test"; empty: nothing.
    std::string output{};               // The newest line of the running call.
    std::optional<base::Time> until{};  // A wait that is known to end.
    base::Time since{};
    friend bool operator==(const Activity&, const Activity&) = default;
};

class Conversation {
public:
    void set_mode(views::DisplayMode mode) { mode_ = mode; }
    views::DisplayMode mode() const { return mode_; }

    // What came so far is history. The agent may be in a turn that began in it.
    void begin_here(bool is_in_turn, base::Time now);
    // The next event, in order; one that was seen already changes nothing. Returns what is finished
    // with it.
    std::vector<Block> on_event(const domain::Event& event);
    void on_delta(const service::Delta& delta, base::Time now);
    // The connection is gone: what was streamed is not complete any more.
    void forget_stream();

    // What the operator sends, until it is read by a turn.
    void sending(std::int64_t local_id, std::string text);
    void sent(std::int64_t local_id, const std::string& message_id);
    void failed(std::int64_t local_id);

    std::int64_t newest_seq() const { return newest_seq_; }
    bool is_in_turn() const { return is_in_turn_; }
    const Activity& activity() const { return activity_; }
    const std::string& streamed() const { return streamed_; }
    const std::deque<Pending>& pending() const { return pending_; }
    // Of the rounds since figures_known(), which says that the agent's totals have been read.
    std::int64_t tokens() const { return tokens_; }
    void figures_known() { tokens_ = 0; }
    // Of the rounds since begin_here(), where prices are known.
    double cost_usd() const { return cost_usd_; }

private:
    void begin(std::string what, base::Time now);
    void end_turn();
    bool was_read(const std::string& message_id) const;
    Block read_message(const std::string& message_id, base::Time at, std::string text);
    void queue(const std::string& message_id, const std::string& text);
    void track(const domain::Event& event);
    std::optional<Block> operator_block(const domain::Event& event);
    std::optional<Block> shown_block(const domain::Event& event) const;

    views::DisplayMode mode_{views::DisplayMode::Info};
    std::int64_t newest_seq_{0};
    bool is_in_turn_{false};
    Activity activity_{};
    std::string streamed_{};
    std::deque<Pending> pending_{};
    std::deque<std::string> read_ids_{};  // Messages that have their block.
    std::int64_t tokens_{0};
    double cost_usd_{0};
};

}  // namespace tui
