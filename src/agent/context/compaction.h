// Compaction: what a conversation becomes when it no longer fits the window of its model.
//
// A compaction is an entry of the transcript. It says which entries it covers (`covers_through`)
// and holds what the model reads in their place: a digest, made from the canonical records of the
// calls, never from receipts; and shorter forms of results that stay. Nothing of the transcript is
// removed. The next compaction takes the digest of the one before it over, so one record is enough.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/typed.h"
#include "domain/ids.h"
#include "domain/record.h"
#include "domain/tool.h"

namespace context {

// The operator's words are kept to the letter up to this bound: the first, then the newest ones.
inline constexpr std::int64_t kOperatorTokensMax = 20'000;
// What else a digest may hold, and how large one line of it may be.
inline constexpr std::int64_t kDigestTokensMax = 8'000;
inline constexpr std::size_t kDigestLineChars = 240;
// Of that, what the model said, and calls that succeeded.
inline constexpr std::int64_t kSaidTokensMax = 200;
inline constexpr std::int64_t kCallTokensMax = 800;
// Shorter results are enough when they bring the prompt to so much of its target, in percent; where
// the oldest part is covered, so much is aimed at. What is rewritten is not in the provider's
// cache, so it should be little, and not soon again.
inline constexpr std::int64_t kShortenPercent = 75;
inline constexpr std::int64_t kCoverPercent = 50;
// The newest rounds stay as they are.
inline constexpr std::int64_t kExactRounds = 4;
// A compaction that frees less of the prompt, in percent, has failed.
inline constexpr std::int64_t kFreedPercentMin = 20;

inline constexpr std::string_view kCompactionReason = "compaction";  // Of its transcript entry.

struct ShortResults {
    std::int64_t seq{0};  // Of the entry with the results.
    std::vector<std::string> contents{};
    friend bool operator==(const ShortResults&, const ShortResults&) = default;
};
BOOST_DESCRIBE_STRUCT(ShortResults, (), (seq, contents))

struct OperatorWords {
    domain::MessageId message_id;
    base::Time at{};
    std::string text;
    friend bool operator==(const OperatorWords&, const OperatorWords&) = default;
};
BOOST_DESCRIBE_STRUCT(OperatorWords, (), (message_id, at, text))

enum class DigestKind { File, Call, Failure, Decision, Question, Said };
BOOST_DESCRIBE_ENUM(DigestKind, File, Call, Failure, Decision, Question, Said)

struct DigestLine {
    DigestKind kind{DigestKind::Call};
    std::string text;
    // Set when untrusted input asked for the turn: no other turn is shown the line.
    std::optional<domain::MessageId> only_for{};
    friend bool operator==(const DigestLine&, const DigestLine&) = default;
};
BOOST_DESCRIBE_STRUCT(DigestLine, (), (kind, text, only_for))

// What a model wrote of the conversation; see summary/summary.h.
struct Summary {
    std::string goal;
    std::vector<std::string> done{};
    std::vector<std::string> files{};
    std::vector<std::string> decisions{};
    std::vector<std::string> failed{};
    std::vector<std::string> open{};
    std::string next;
    friend bool operator==(const Summary&, const Summary&) = default;
};
BOOST_DESCRIBE_STRUCT(Summary, (), (goal, done, files, decisions, failed, open, next))

struct Compaction {
    std::int64_t covers_through{0};  // The last covered entry of the transcript; 0: none.
    std::int64_t epoch{1};           // How many compactions the agent has had, with this one.
    // The turn that the border goes through: what is known of its message, which is covered.
    domain::MessageId message_id;
    bool is_message_trusted{false};
    std::int64_t message_rounds{0};  // Its covered rounds.
    std::vector<ShortResults> receipts{};
    std::vector<OperatorWords> operator_words{};
    std::vector<DigestLine> lines{};
    std::int64_t rounds{0};   // All that are covered.
    std::int64_t entries{0};  // Entries that this compaction took out of the prompt.
    std::int64_t lines_dropped{0};
    std::string anchor;  // The state of things when it was made: focus, tasks, waits.
    base::Time at{};
    std::int64_t tokens_before{0};  // Estimates, of the whole prompt.
    std::int64_t tokens_after{0};
    std::optional<Summary> summary{};
    friend bool operator==(const Compaction&, const Compaction&) = default;
};
BOOST_DESCRIBE_STRUCT(Compaction, (),
                      (covers_through, epoch, message_id, is_message_trusted, message_rounds,
                       receipts, operator_words, lines, rounds, entries, lines_dropped, anchor, at,
                       tokens_before, tokens_after, summary))

// Files as they were found just before a compaction, by their absolute path: the hash of the
// content, or nothing where there is no file. One that is not listed is not known.
using FilesNow = std::map<std::string, std::optional<std::string>>;
// How many files a compaction compares with what is recorded of them, the newest calls first.
inline constexpr std::size_t kFilesComparedMax = 64;

struct Past;

struct CompactInput {
    const Past& past;
    domain::MessageId message;  // Of the open turn.
    bool is_message_trusted{true};
    // The calls of the rounds in `past`, in any order.
    std::vector<domain::ToolExecution> executions{};
    FilesNow files_now{};
    std::string anchor{};
    std::int64_t fixed_tokens{0};   // What the prompt holds besides the conversation.
    std::int64_t target_tokens{0};  // For the whole prompt, as an estimate.
    std::int64_t exact_rounds{kExactRounds};
    std::int64_t words_tokens_max{kOperatorTokensMax};  // Of the operator's words.
    base::Time now{};
};

// Shortens old results; where that is not enough, covers the oldest part by a digest. Pure.
Compaction compact(const CompactInput& input);
bool has_failed(const Compaction& compaction);

// What the model reads in a turn for `message`.
std::string compaction_text(const Compaction& compaction, const domain::MessageId& message);

// The outcome of a call as one line: summary, error, task, and where the whole output is.
std::string short_receipt(const domain::ToolExecution& execution);

// The entry that a compaction is, and back; nothing for any other entry.
json::object compaction_data(const Compaction& compaction, const domain::MessageId& message);
base::Result<std::optional<Compaction>> read_compaction(const domain::TranscriptEntry& entry);

}  // namespace context
