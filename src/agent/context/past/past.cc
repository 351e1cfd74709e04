#include "agent/context/past/past.h"

#include <algorithm>
#include <span>

#include "agent/context/conversation.h"
#include "agent/context/digest.h"
#include "agent/context/frame.h"
#include "agent/context/past/recent.h"
#include "base/scan/secrets.h"

namespace context {
namespace {

using domain::TranscriptKind;
using provider::AssistantTurn;
using provider::ConversationTurn;
using provider::Stability;
using provider::ToolResultsTurn;
using provider::UserTurn;

constexpr std::int64_t kPage = 256;

UserTurn user(std::string text) {
    return {{{Stability::TurnScoped, std::move(text)}}};
}

const json::value* member(const domain::TranscriptEntry& entry, std::string_view name) {
    return base::find(entry.data, name);
}

// The entry of a message holds the message without what the entry itself says.
base::Result<domain::Message> message_of(const domain::TranscriptEntry& entry) {
    json::object data;
    for (const auto& member : entry.data.as_object())
        if (member.key() != "prompt") data.emplace(member.key(), member.value());
    data["id"] = entry.related_message_id ? entry.related_message_id->value : "";
    data["agent_id"] = entry.agent_id.value;
    data["created_at"] = base::to_text(entry.created_at);
    return base::from_json<domain::Message>(data);
}

// The prompt as it was sent; of turns of older versions, which did not keep it, the input alone.
UserTurn prompt_of(const domain::TranscriptEntry& entry, const domain::Message& message) {
    const auto* prompt = member(entry, "prompt");
    if (!prompt || !prompt->is_array()) return user(current_input(message));
    UserTurn turn;
    for (const auto& block : prompt->get_array())
        if (block.is_string())
            turn.blocks.push_back({Stability::TurnScoped, std::string(block.get_string())});
    return turn;
}

base::Result<std::optional<ConversationTurn>> turn_of(const domain::TranscriptEntry& entry,
                                                      const Piece& piece) {
    using Turn = std::optional<ConversationTurn>;
    switch (entry.kind) {
        case TranscriptKind::IncomingMessage:
            return Turn(prompt_of(entry, *piece.message));
        case TranscriptKind::AssistantRound: {
            const auto* blocks = member(entry, "blocks");
            if (!blocks)
                return base::fail(base::ErrorCode::Corrupt, "transcript entry {} has no blocks",
                                  entry.id);
            return Turn(AssistantTurn{TRY(base::from_json<std::vector<domain::Block>>(*blocks))});
        }
        case TranscriptKind::ToolResults: {
            const auto* results = member(entry, "results");
            if (!results)
                return base::fail(base::ErrorCode::Corrupt, "transcript entry {} has no results",
                                  entry.id);
            return Turn(
                ToolResultsTurn{TRY(base::from_json<std::vector<provider::ToolAnswer>>(*results))});
        }
        case TranscriptKind::ContinuationPrompt:
            if (piece.reason == kCompactionReason) return Turn(std::nullopt);
            return Turn(user(base::string_at(entry.data, "text")));
        case TranscriptKind::RuntimeFailure:
            return Turn(std::nullopt);
    }
    return Turn(std::nullopt);
}

// Results that a compaction has shortened.
void shorten(Piece& piece, const Compaction& compaction) {
    const auto found = std::ranges::find(compaction.receipts, piece.seq, &ShortResults::seq);
    auto* turn = piece.turn ? std::get_if<ToolResultsTurn>(&*piece.turn) : nullptr;
    if (found == compaction.receipts.end() || !turn) return;
    for (std::size_t i = 0; i < std::min(turn->results.size(), found->contents.size()); ++i)
        turn->results[i].content = found->contents[i];
    for (auto& result : turn->results) result.media.reset();
    piece.tokens = context::tokens_of(*piece.turn);
}

}  // namespace

base::Result<Piece> piece_of(std::int64_t seq, const domain::TranscriptEntry& entry) {
    Piece piece{.seq = seq,
                .entry_id = entry.id,
                .kind = entry.kind,
                .message_id = entry.related_message_id.value_or(domain::MessageId{}),
                .run_id = entry.run_id,
                .round = entry.round.value_or(0),
                .at = entry.created_at};
    if (entry.kind == TranscriptKind::ContinuationPrompt)
        piece.reason = base::string_at(entry.data, "reason");
    if (entry.kind == TranscriptKind::RuntimeFailure)
        if (const auto* artifact = member(entry, "failure_artifact"))
            piece.reason = base::string_at(*artifact, "kind");
    if (entry.kind == TranscriptKind::IncomingMessage) {
        piece.message = TRY(message_of(entry));
        if (!is_trusted(*piece.message)) piece.digest_head = digest_head(*piece.message, piece.at);
    }
    piece.turn = TRY(turn_of(entry, piece));
    if (piece.turn) piece.tokens = tokens_of(*piece.turn);
    return piece;
}

namespace {

// An earlier attempt at the message may lie in what is not there any more.
base::Result<std::int64_t> rounds_left_out(store::Tx& tx, const Past& past,
                                           const domain::MessageId& message) {
    if (message.value.empty() || (!past.compaction && !past.is_cut)) return 0;
    const auto is_round = [](const auto& entry) {
        return entry.kind == TranscriptKind::AssistantRound;
    };
    const auto all = TRY(tx.transcript_of(message));
    return std::ranges::count_if(all, is_round) -
           std::ranges::count_if(past.pieces, [&](const auto& piece) {
               return piece->message_id == message && is_round(*piece);
           });
}

// It was cleaned when it was written, of the credentials known then.
base::Result<Piece> cleaned_piece(std::int64_t seq, domain::TranscriptEntry& entry) {
    scan::remove_secrets(entry.data);
    return piece_of(seq, entry);
}

std::int64_t cost_of(const Piece& piece) {
    return std::max<std::int64_t>(1, piece.tokens);
}

base::Result<Past> load_whole(store::Tx& tx, const domain::AgentId& agent, const PastInput& input) {
    Past past{.after_seq = input.after_seq,
              .head = TRY(tx.stream_head(agent, store::Stream::Transcript)),
              .erasures = TRY(tx.erasures(agent)),
              .scan_version = scan::version()};
    std::vector<Piece> pieces;  // Newest first.
    std::int64_t before = 0;
    bool is_whole = false;
    while (!is_whole && !past.is_cut) {
        auto page = TRY(tx.transcript(agent, {.after_seq = past.after_seq,
                                              .before_seq = before,
                                              .limit = kPage,
                                              .newest_first = true}));
        is_whole = std::ssize(page) < kPage;
        for (auto& [seq, entry] : page) {
            before = seq;
            if (seq <= past.after_seq) break;
            auto piece = TRY(cleaned_piece(seq, entry));
            if (!past.compaction) {
                past.compaction = TRY(read_compaction(entry));
                if (past.compaction)
                    past.after_seq = std::max(past.after_seq, past.compaction->covers_through);
            }
            past.tokens += cost_of(piece);
            past.is_cut = past.tokens > input.tokens_max;
            if (past.is_cut) break;
            pieces.push_back(std::move(piece));
        }
        if (before != 0 && before <= past.after_seq + 1) is_whole = true;
    }
    std::ranges::reverse(pieces);
    if (past.is_cut) {
        const auto first = std::ranges::find_if(
            pieces, [](const Piece& piece) { return piece.message.has_value(); });
        pieces.erase(pieces.begin(), first);
        past.after_seq = pieces.empty() ? past.head : pieces.front().seq - 1;
    }
    past.pieces.reserve(pieces.size());
    for (auto& piece : pieces) {
        if (past.compaction) shorten(piece, *past.compaction);
        past.pieces.push_back(std::make_shared<const Piece>(std::move(piece)));
    }
    return past;
}

// `known` and what was said since, if nothing else has changed: else nothing. An agent may have
// been removed and made again under its name, so the newest entry must be the one that it was.
base::Result<std::optional<Past>> load_newer(store::Tx& tx, const domain::AgentId& agent,
                                             const PastInput& input, Past known) {
    if (known.scan_version != scan::version() || known.erasures != TRY(tx.erasures(agent)))
        return std::nullopt;
    const auto page = TRY(tx.transcript(agent, {.after_seq = known.head - 1, .limit = kPage}));
    if (page.empty() || std::ssize(page) == kPage || page.front().seq != known.head ||
        page.front().record.id != known.pieces.back()->entry_id)
        return std::nullopt;
    for (auto [seq, entry] : std::span(page).subspan(1)) {
        auto piece = TRY(cleaned_piece(seq, entry));
        if (TRY(read_compaction(entry))) return std::nullopt;
        known.tokens += cost_of(piece);
        known.head = seq;
        known.pieces.push_back(std::make_shared<const Piece>(std::move(piece)));
    }
    if (known.tokens > input.tokens_max) return std::nullopt;
    return known;
}

}  // namespace

base::Result<Past> load_past(store::Tx& tx, const domain::AgentId& agent, const PastInput& input,
                             RecentPasts* recent) {
    std::optional<Past> past;
    auto known = recent && input.after_seq == 0 ? recent->find(agent) : std::nullopt;
    if (known) past = TRY(load_newer(tx, agent, input, std::move(*known)));
    if (!past) past = TRY(load_whole(tx, agent, input));
    past->rounds_left_out = TRY(rounds_left_out(tx, *past, input.message));
    return std::move(*past);
}

}  // namespace context
