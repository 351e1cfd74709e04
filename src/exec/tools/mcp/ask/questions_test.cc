#include "exec/tools/mcp/ask/questions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/os/asio_loop.h"
#include "exec/tools/mcp/ask/prompts.h"
#include "tests/support/run_until.h"

namespace mcp {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

json::object object_of(std::string_view text) {
    return base::parse_json(text).value().as_object();
}
const json::object kForm = object_of(R"({"message":"Who?","requestedSchema":{"type":"object",
    "properties":{"name":{"type":"string"},"age":{"type":"integer","default":30}},
    "required":["name"]}})");

TEST(McpQuestions, AFormIsFlatAndAnAddressIsOne) {
    const auto form = parse_question("s", kForm);
    ASSERT_TRUE(form);
    EXPECT_EQ(form->mode, "form");
    EXPECT_EQ(form->message, "Who?");
    const auto address = parse_question(
        "s", object_of(R"({"mode":"url","message":"m","url":"https://x.example/a"})"));
    ASSERT_TRUE(address);
    EXPECT_EQ(address->url, "https://x.example/a");
    for (const char* bad :
         {R"({"mode":"url","url":"javascript:x"})", R"({"mode":"dance"})",
          R"({"message":"no schema"})", R"({"requestedSchema":7})",
          R"({"requestedSchema":{"type":"object","properties":{"a":{"type":"object",
                                "properties":{}}}}})"})
        EXPECT_FALSE(parse_question("s", object_of(bad))) << bad;
    // A server's words cannot draw on the operator's terminal.
    EXPECT_EQ(
        parse_question("s", object_of(R"({"mode":"url","url":"http://x","message":"a\u001b[2Jb"})"))
            ->message.find('\033'),
        std::string::npos);
}

TEST(McpQuestions, DefaultsAreFilledInAndWrongValuesRefused) {
    const auto schema = *parse_question("s", kForm)->schema;
    EXPECT_EQ(filled(schema, {{"name", "Ada"}}).value(),
              (json::object{{"name", "Ada"}, {"age", 30}}));
    EXPECT_FALSE(filled(schema, {}));
    EXPECT_FALSE(filled(schema, {{"name", 7}}));
    EXPECT_FALSE(filled(schema, {{"name", std::string(kAnswerBytesMax, 'x')}}));
}

class McpAsked : public testing::Test {
protected:
    std::string ask(Questions& questions, const std::string& server = "s") {
        auto question = parse_question(server, kForm).value();
        return questions.ask(std::move(question),
                             [this](const Verdict& verdict) { verdicts_.push_back(verdict); });
    }
    bool comes(std::size_t count) {
        return test_support::run_until(loop_, [&] { return verdicts_.size() >= count; });
    }
    base::AsioLoop loop_;
    base::SystemClock clock_;
    base::RandomIds ids_{clock_, 1};
    std::vector<Verdict> verdicts_;
};

TEST_F(McpAsked, AnAnswerReachesTheServerOnce) {
    Questions questions(loop_, clock_, ids_);
    const auto id = ask(questions);
    ASSERT_EQ(questions.list().size(), 1u);
    EXPECT_FALSE(questions.answer("nobody", {}));
    EXPECT_THAT(questions.answer(id, {.action = VerdictAction::Accept}).error().message,
                HasSubstr("does not fit"));
    EXPECT_TRUE(
        questions.answer(id, {.action = VerdictAction::Accept, .content = {{"name", "Ada"}}}));
    ASSERT_TRUE(comes(1));
    EXPECT_EQ(verdicts_[0].content, (json::object{{"name", "Ada"}, {"age", 30}}));
    EXPECT_TRUE(questions.list().empty());
    EXPECT_FALSE(questions.answer(id, {}));
}

TEST_F(McpAsked, WhenNobodyAnswersItIsDeclined) {
    Questions questions(loop_, clock_, ids_, 1ms);
    ask(questions);
    ASSERT_TRUE(comes(1));
    EXPECT_EQ(verdicts_[0].action, VerdictAction::Decline);
}

TEST_F(McpAsked, AServerThatAsksTooMuchIsDeclinedAndOthersAreNot) {
    Questions questions(loop_, clock_, ids_);
    for (std::size_t i = 0; i <= kQuestionsPerServerMax; ++i) ask(questions);
    ask(questions, "other");
    ASSERT_TRUE(comes(1));
    EXPECT_EQ(verdicts_[0].action, VerdictAction::Decline);
    EXPECT_EQ(questions.list().size(), kQuestionsPerServerMax + 1);
}

TEST_F(McpAsked, AWithdrawnQuestionHasNoAnswer) {
    Questions questions(loop_, clock_, ids_);
    const auto id = ask(questions);
    questions.withdraw(id);
    EXPECT_TRUE(questions.list().empty());
    EXPECT_FALSE(questions.answer(id, {}));
}

TEST_F(McpAsked, EachChangeOfTheListIsReported) {
    Questions questions(loop_, clock_, ids_, 1ms);
    std::vector<std::string> reported;
    questions.on_change = [&](const std::string& server) {
        reported.push_back(fmt::format("{} {}", server, questions.list().size()));
    };
    ASSERT_TRUE(questions.answer(ask(questions), {}));
    questions.withdraw(ask(questions));
    ask(questions, "late");
    ASSERT_TRUE(comes(2));
    EXPECT_THAT(reported, testing::ElementsAre("s 1", " 0", "s 1", " 0", "late 1", " 0"));
    // One that is declined at once was never in the list.
    reported.clear();
    Questions crowded(loop_, clock_, ids_);
    crowded.on_change = [&](const std::string& server) { reported.push_back(server); };
    for (std::size_t i = 0; i <= kQuestionsPerServerMax; ++i) ask(crowded);
    ASSERT_TRUE(comes(3));
    EXPECT_EQ(reported.size(), kQuestionsPerServerMax);
}

TEST(McpPrompts, ListsAreReadWithinBounds) {
    EXPECT_EQ(listed_prompts("s", object_of(R"({"prompts":[{"name":"a","description":"d",
        "arguments":[{"name":"x","required":true},{"name":""},7]},{"name":"has blank"},{"no":1},5]})")),
              (std::vector<Prompt>{{"s", "a", "d", {{"x", "", true}}}}));
    EXPECT_TRUE(listed_prompts("s", object_of(R"({"prompts":7})")).empty());
    json::array many;
    for (int i = 0; i < 200; ++i) many.push_back(json::object{{"name", fmt::format("p{}", i)}});
    EXPECT_EQ(listed_prompts("s", {{"prompts", many}}).size(), kPromptsMax);
}

TEST(McpPrompts, TextIsJoinedAndWhatIsNoneIsNamed) {
    EXPECT_EQ(expanded_prompt(object_of(R"({"messages":[
        {"role":"user","content":{"type":"text","text":"one"}},
        {"role":"user","content":{"type":"image","data":"","mimeType":"image/png"}},
        {"role":"assistant","content":[{"type":"resource","resource":{"uri":"u","text":"two"}}]},7]})")),
              (Expanded{"one\n\ntwo", {"image"}}));
    EXPECT_EQ(expanded_prompt({}), Expanded{});
}

}  // namespace
}  // namespace mcp
