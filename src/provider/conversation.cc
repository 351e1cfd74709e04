#include <algorithm>
#include <utility>

#include "provider/provider.h"

namespace provider {
namespace {

void join(UserTurn& turn, const UserTurn& next) {
    turn.blocks.insert(turn.blocks.end(), next.blocks.begin(), next.blocks.end());
}

bool is_answer(const ConversationTurn& turn) {
    return std::holds_alternative<AssistantTurn>(turn);
}

}  // namespace

History::History(std::initializer_list<ConversationTurn> turns)
    : turns_(std::make_shared<std::vector<Turn>>()) {
    for (const auto& turn : turns) turns_->push_back(std::make_shared<ConversationTurn>(turn));
}

void History::replace(std::size_t at, ConversationTurn turn) {
    if (turns_.use_count() > 1) turns_ = std::make_shared<std::vector<Turn>>(*turns_);
    turns_->at(at) = std::make_shared<ConversationTurn>(std::move(turn));
}

bool operator==(const History& a, const History& b) {
    return std::ranges::equal(a.turns(), b.turns(), [](const auto& one, const auto& other) {
        return one == other || *one == *other;
    });
}

void each_turn(const Request& request, const std::function<void(const ConversationTurn&)>& visit) {
    UserTurn kept, own;
    for (const auto& block : request.frame.context_blocks)
        (block.stability == Stability::TurnScoped ? own : kept).blocks.push_back(block);
    auto history = request.history.turns();
    if (!kept.blocks.empty() && !history.empty())
        if (const auto* first = std::get_if<UserTurn>(history.front().get())) {
            join(kept, *first);
            history = history.subspan(1);
        }
    if (!own.blocks.empty() && !history.empty()) {
        if (const auto* last = std::get_if<UserTurn>(history.back().get())) {
            own.blocks.insert(own.blocks.begin(), last->blocks.begin(), last->blocks.end());
            history = history.first(history.size() - 1);
        }
    } else if (!kept.blocks.empty()) {
        join(kept, std::exchange(own, {}));
    }
    if (!kept.blocks.empty()) visit(std::move(kept));
    for (const auto& turn : history) visit(*turn);
    if (!own.blocks.empty()) visit(std::move(own));
    for (const auto& turn : request.conversation) visit(turn);
}

bool has_answers(const Request& request) {
    return std::ranges::any_of(request.history.turns(),
                               [](const auto& turn) { return is_answer(*turn); }) ||
           std::ranges::any_of(request.conversation, is_answer);
}

}  // namespace provider
