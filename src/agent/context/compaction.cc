#include "agent/context/compaction.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "agent/context/conversation.h"
#include "agent/context/digest.h"
#include "base/text.h"

namespace context {
namespace {

using domain::TranscriptKind;
using provider::ToolResultsTurn;

// The calls of a round by the provider's names for them.
using CallKey = std::tuple<std::string, std::int64_t, std::string>;
using Calls = std::map<CallKey, const domain::ToolExecution*>;

Calls calls_of(const std::vector<domain::ToolExecution>& executions) {
    Calls calls;
    for (const auto& execution : executions)
        calls[{execution.call.run_id.value, execution.round, execution.tool_use_id}] = &execution;
    return calls;
}

// The index of the first piece that must stay as it is.
std::size_t exact_from(const std::vector<Piece>& pieces, std::int64_t exact_rounds) {
    std::int64_t rounds = 0;
    for (std::size_t i = pieces.size(); i-- > 0;)
        if (pieces[i].kind == TranscriptKind::AssistantRound && ++rounds == exact_rounds) return i;
    return 0;
}

std::vector<Piece> copies_of(const Pieces& pieces) {
    std::vector<Piece> list;
    for (const auto& piece : pieces) list.push_back(*piece);
    return list;
}

// Where the border may be: before a message or a round, so that a call stays with its result.
bool is_border(const Piece& piece) {
    return piece.kind == TranscriptKind::AssistantRound ||
           piece.kind == TranscriptKind::IncomingMessage;
}

class Compactor {
public:
    explicit Compactor(const CompactInput& input)
        : input_(input),
          calls_(calls_of(input.executions)),
          files_{last_changes(input.executions), input.files_now},
          pieces_(copies_of(input.past.pieces)),
          exact_(exact_from(pieces_, input.exact_rounds)) {
        if (input.past.compaction) out_ = *input.past.compaction;
        out_.epoch = input.past.compaction ? input.past.compaction->epoch + 1 : 1;
        out_.covers_through = input.past.after_seq;
        out_.entries = 0;
        out_.anchor = input.anchor;
        out_.at = input.now;
        out_.tokens_before = input.fixed_tokens + pieces_tokens();
        if (input.past.compaction) out_.tokens_before += text_tokens();
        trusted_[out_.message_id] = out_.is_message_trusted;
        rounds_[out_.message_id] = out_.message_rounds;
        trusted_[input.message] = input.is_message_trusted;
    }

    Compaction run() {
        shorten_results();
        if (input_.fixed_tokens + said() > input_.target_tokens * kShortenPercent / 100) cover();
        out_.tokens_after = input_.fixed_tokens + said();
        return std::move(out_);
    }

private:
    // Estimated tokens of the conversation as it would be now.
    std::int64_t said() const { return pieces_tokens() + text_tokens(); }

    std::int64_t pieces_tokens() const {
        std::int64_t tokens = 0;
        for (std::size_t i = covered_; i < pieces_.size(); ++i) tokens += pieces_[i].tokens;
        return tokens;
    }

    std::int64_t text_tokens() const {
        return static_cast<std::int64_t>(
            base::estimate_tokens(compaction_text(out_, input_.message)));
    }

    const domain::ToolExecution* call_of(const Piece& piece, const std::string& tool_use_id) const {
        const auto found = calls_.find({piece.run_id.value, piece.round, tool_use_id});
        return found == calls_.end() ? nullptr : found->second;
    }

    void shorten_results() {
        for (std::size_t i = 0; i < exact_; ++i) {
            auto* results =
                pieces_[i].turn ? std::get_if<ToolResultsTurn>(&*pieces_[i].turn) : nullptr;
            if (!results) continue;
            ShortResults receipts{.seq = pieces_[i].seq};
            bool is_changed = false;
            for (auto& result : results->results) {
                // The content of the result still names the files of its images.
                is_changed = is_changed || result.media.has_value();
                result.media.reset();
                const auto* call = call_of(pieces_[i], result.tool_use_id);
                is_changed |= call && shorten(result.content, *call);
                receipts.contents.push_back(result.content);
            }
            if (!is_changed) continue;
            pieces_[i].tokens = tokens_of(*pieces_[i].turn);
            std::erase_if(out_.receipts,
                          [&](const auto& known) { return known.seq == receipts.seq; });
            out_.receipts.push_back(std::move(receipts));
        }
    }

    // A receipt of an earlier compaction is written again: what it says of files may be over.
    bool shorten(std::string& content, const domain::ToolExecution& call) const {
        auto text = result_receipt(call, files_);
        const bool is_receipt = content.ends_with(handle_of(call));
        if (text == content || (!is_receipt && text.size() >= content.size())) return false;
        content = std::move(text);
        return true;
    }

    // Covers as little as brings the prompt down to a part of its target, and never an exact round.
    // The first exact piece begins a round, so the border is always before a message or a round.
    void cover() {
        const std::int64_t target = input_.target_tokens * kCoverPercent / 100;
        std::int64_t left = 0;
        for (const auto& piece : pieces_) left += piece.tokens;
        for (std::size_t border = 1; border <= exact_; ++border) {
            add(pieces_[border - 1]);
            left -= pieces_[border - 1].tokens;
            if (!is_border(pieces_[border])) continue;
            covered_ = border;
            if (input_.fixed_tokens + left > target) continue;
            bound();
            if (input_.fixed_tokens + said() <= target) break;
        }
        if (covered_ == 0) return;
        bound();
        out_.entries = static_cast<std::int64_t>(covered_);
        note_border(pieces_[covered_]);
        std::erase_if(out_.receipts,
                      [&](const auto& receipt) { return receipt.seq <= out_.covers_through; });
    }

    void bound() {
        bound_digest(out_, input_.message,
                     {.words = std::min(kOperatorTokensMax, input_.words_tokens_max),
                      .lines = std::min(kDigestTokensMax, input_.target_tokens / 4)});
    }

    // What is known of the turn that the border goes through.
    void note_border(const Piece& first) {
        out_.covers_through = first.seq - 1;
        const bool is_split = first.kind != TranscriptKind::IncomingMessage;
        out_.message_id = is_split ? first.message_id : domain::MessageId{};
        out_.is_message_trusted = is_split && trusted_[first.message_id];
        out_.message_rounds = is_split ? rounds_[first.message_id] : 0;
    }

    void add(const Piece& piece) {
        if (piece.message) trusted_[piece.message_id] = is_trusted(*piece.message);
        if (piece.kind == TranscriptKind::AssistantRound) {
            ++rounds_[piece.message_id];
            ++out_.rounds;
        }
        // Of a turn that untrusted input asked for, later turns see the digest of conversation.h
        // alone; once that is covered, too, nothing of it is left but its record.
        std::optional<domain::MessageId> only_for;
        if (!trusted_[piece.message_id]) {
            if (piece.message_id != input_.message) return;
            only_for = piece.message_id;
        }
        add_to_digest(out_, piece, only_for,
                      [&](const std::string& id) { return call_of(piece, id); });
    }

    const CompactInput& input_;
    Calls calls_;
    FileFacts files_;
    std::vector<Piece> pieces_;
    std::size_t exact_;
    std::size_t covered_{0};
    std::map<domain::MessageId, bool> trusted_;
    std::map<domain::MessageId, std::int64_t> rounds_;  // Covered ones.
    Compaction out_;
};

}  // namespace

Compaction compact(const CompactInput& input) {
    return Compactor(input).run();
}

bool has_failed(const Compaction& compaction) {
    return (compaction.tokens_before - compaction.tokens_after) * 100 <
           compaction.tokens_before * kFreedPercentMin;
}

json::object compaction_data(const Compaction& compaction, const domain::MessageId& message) {
    return {{"text", compaction_text(compaction, message)},
            {"reason", kCompactionReason},
            {"compaction", base::to_json(compaction)}};
}

base::Result<std::optional<Compaction>> read_compaction(const domain::TranscriptEntry& entry) {
    if (entry.kind != TranscriptKind::ContinuationPrompt ||
        base::string_at(entry.data, "reason") != kCompactionReason)
        return std::nullopt;
    const auto* data = base::find(entry.data, "compaction");
    if (!data)
        return base::fail(base::ErrorCode::Corrupt,
                          "transcript entry {} is a compaction without "
                          "its record",
                          entry.id);
    return TRY(base::from_json<Compaction>(*data));
}

}  // namespace context
