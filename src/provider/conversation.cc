#include <algorithm>

#include "provider/provider.h"

namespace provider {
namespace {

void append(std::vector<ConversationTurn>& list, ConversationTurn turn) {
    auto* last = list.empty() ? nullptr : std::get_if<UserTurn>(&list.back());
    auto* next = std::get_if<UserTurn>(&turn);
    if (last && next)
        std::ranges::move(next->blocks, std::back_inserter(last->blocks));
    else
        list.push_back(std::move(turn));
}

bool is_answer(const ConversationTurn& turn) {
    return std::holds_alternative<AssistantTurn>(turn);
}

}  // namespace

std::vector<ConversationTurn> whole_conversation(const Request& request) {
    UserTurn kept, own;
    for (const auto& block : request.frame.context_blocks)
        (block.stability == Stability::TurnScoped ? own : kept).blocks.push_back(block);
    std::vector<ConversationTurn> list;
    if (!kept.blocks.empty()) list.emplace_back(std::move(kept));
    list.reserve(request.history.size() + request.conversation.size() + 2);
    for (const auto& turn : request.history) {
        if (&turn == request.history.data())
            append(list, turn);
        else
            list.push_back(turn);
    }
    if (!own.blocks.empty()) append(list, std::move(own));
    list.insert(list.end(), request.conversation.begin(), request.conversation.end());
    return list;
}

bool has_answers(const Request& request) {
    return std::ranges::any_of(request.history, is_answer) ||
           std::ranges::any_of(request.conversation, is_answer);
}

}  // namespace provider
