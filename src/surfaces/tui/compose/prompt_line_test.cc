#include "surfaces/tui/compose/prompt_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tui {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const service::McpPrompt kPrompt{
    .server = "s",
    .name = "triage",
    .description = "Sorts\nan issue.",
    .arguments = {{.name = "issue", .description = "its number", .required = true},
                  {.name = "label"},
                  {.name = "lane"}}};

std::string refusal(std::string_view line) {
    const auto request = read_prompt_line(line);
    EXPECT_FALSE(request) << line;
    return request ? "" : request.error().message;
}

TEST(PromptLine, HasAServerAPromptAndNamedValues) {
    const auto plain = read_prompt_line("/mcp:s:triage").value();
    EXPECT_EQ(plain.server, "s");
    EXPECT_EQ(plain.name, "triage");
    EXPECT_THAT(plain.arguments, IsEmpty());
    const auto full =
        read_prompt_line(R"(/mcp:s:a:b  issue=12 title="two \"words\" \\" url=http://x/?a=b e= )")
            .value();
    EXPECT_EQ(full.name, "a:b");
    EXPECT_THAT(full.arguments, ElementsAre(testing::Pair("e", ""), testing::Pair("issue", "12"),
                                            testing::Pair("title", R"(two "words" \)"),
                                            testing::Pair("url", "http://x/?a=b")));
}

TEST(PromptLine, ARefusalSaysHowItIsWritten) {
    for (const auto* line : {"/mcp:", "/mcp:s", "/mcp:s:", "/mcp::triage", "/mcp: s:triage"})
        EXPECT_THAT(refusal(line), HasSubstr("<server>:<prompt>")) << line;
    EXPECT_THAT(refusal("/mcp:s:triage 12"), HasSubstr("12 is not name=value"));
    EXPECT_THAT(refusal("/mcp:s:triage a b=c"), HasSubstr("a is not name=value"));
    EXPECT_THAT(refusal("/mcp:s:triage =c"), HasSubstr("not name=value"));
    EXPECT_THAT(refusal("/mcp:s:triage a=\"b"), HasSubstr("not closed"));
    EXPECT_THAT(refusal("/mcp:s:triage a=b\nc"), HasSubstr("//mcp:"));
}

TEST(PromptLine, FindsWhatThePromptStillNeeds) {
    EXPECT_EQ(missing_argument(kPrompt, {.server = "s", .name = "triage"}),
              &kPrompt.arguments.front());
    EXPECT_EQ(missing_argument(kPrompt, {"s", "triage", {{"issue", ""}}}),
              &kPrompt.arguments.front());
    EXPECT_EQ(missing_argument(kPrompt, {"s", "triage", {{"issue", "1"}}}), nullptr);
}

TEST(PromptLine, OffersPromptsAndTheArgumentsThatAreLeft) {
    const std::vector<service::McpPrompt> prompts{kPrompt};
    EXPECT_THAT(prompt_offers(prompts, "/mc"),
                ElementsAre(Offer{"/mcp:s:triage", "issue= [label=] [lane=] Sorts an issue."}));
    EXPECT_THAT(prompt_offers(prompts, "/mcp:t"), IsEmpty());
    EXPECT_EQ(find_prompt(prompts, "/mcp:s:triage"), prompts.data());
    EXPECT_EQ(find_prompt(prompts, "/mcp:s:tri"), nullptr);
    EXPECT_THAT(argument_offers(kPrompt, ""), ElementsAre(Offer{"issue=", "needed its number"},
                                                          Offer{"label=", ""}, Offer{"lane=", ""}));
    EXPECT_THAT(argument_offers(kPrompt, "issue=12 l"),
                ElementsAre(Offer{"issue=12 label=", ""}, Offer{"issue=12 lane=", ""}));
    EXPECT_THAT(argument_offers(kPrompt, "label=\"a is"), IsEmpty()) << "inside of a value";
    EXPECT_THAT(argument_offers(kPrompt, "issue=1"), IsEmpty());
}

}  // namespace
}  // namespace tui
