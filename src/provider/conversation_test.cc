#include <gmock/gmock.h>

#include "provider/provider.h"

namespace provider {
namespace {

using testing::ElementsAre;

UserTurn user(const std::string& text) {
    return {{{Stability::TurnScoped, text}}};
}
AssistantTurn assistant(const std::string& text) {
    return {{domain::TextBlock{text}}};
}

// Each turn as its texts, what the model said in brackets.
std::vector<std::string> visited(const Request& request) {
    std::vector<std::string> list;
    each_turn(request, [&](const ConversationTurn& turn) {
        std::string text;
        if (const auto* said = std::get_if<UserTurn>(&turn))
            for (const auto& block : said->blocks) text += block.text;
        if (const auto* answer = std::get_if<AssistantTurn>(&turn))
            text = "(" + std::get<domain::TextBlock>(answer->blocks.at(0)).text + ")";
        list.push_back(text);
    });
    return list;
}

Request request_of(History history) {
    Request request{.history = std::move(history), .conversation = {user("z"), assistant("y")}};
    request.frame.context_blocks = {{Stability::Stable, "k"}, {Stability::TurnScoped, "o"}};
    return request;
}

TEST(EachTurn, JoinsWhatIsSaidToTheModelWherePartsMeet) {
    EXPECT_THAT(visited(request_of({})), ElementsAre("ko", "z", "(y)"));
    EXPECT_THAT(visited(request_of({user("a")})), ElementsAre("kao", "z", "(y)"));
    EXPECT_THAT(visited(request_of({user("a"), assistant("b")})),
                ElementsAre("ka", "(b)", "o", "z", "(y)"));
    EXPECT_THAT(visited(request_of({assistant("b"), user("c")})),
                ElementsAre("k", "(b)", "co", "z", "(y)"));
    EXPECT_THAT(visited(request_of({user("a"), assistant("b"), user("c")})),
                ElementsAre("ka", "(b)", "co", "z", "(y)"));
}

TEST(EachTurn, LeavesOutPartsThatAreNotThere) {
    auto request = request_of({user("a"), assistant("b"), user("c")});
    request.frame.context_blocks = {{Stability::TurnScoped, "o"}};
    EXPECT_THAT(visited(request), ElementsAre("a", "(b)", "co", "z", "(y)"));
    request.frame.context_blocks = {{Stability::Stable, "k"}};
    EXPECT_THAT(visited(request), ElementsAre("ka", "(b)", "c", "z", "(y)"));
    request.frame.context_blocks.clear();
    EXPECT_THAT(visited(request), ElementsAre("a", "(b)", "c", "z", "(y)"));
}

TEST(History, ACopyThatIsChangedLeavesTheOthersAlone) {
    const History first{user("a"), assistant("b")};
    History second = first;
    EXPECT_EQ(first.turns().data(), second.turns().data()) << "until then they share it";
    second.replace(0, user("c"));
    EXPECT_EQ(first, (History{user("a"), assistant("b")}));
    EXPECT_EQ(second, (History{user("c"), assistant("b")}));
    EXPECT_EQ(first.turns()[1], second.turns()[1]) << "what did not change is no copy";
    EXPECT_TRUE(History().empty());
    EXPECT_EQ(History(), History(std::vector<History::Turn>()));
}

}  // namespace
}  // namespace provider
