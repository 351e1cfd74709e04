// One conversation over four transports: what must not depend on which of them it is sent by.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "exec/tools/builtin/fixture_for_test.h"
#include "provider/openai_responses/wire.h"
#include "tests/transports/four_transports.h"

namespace {

using provider::AssistantTurn;
using provider::Request;
using provider::Stability;
using provider::ToolResultsTurn;
using provider::UserTurn;
using test_support::Contract;
using test_support::FourTransports;
using test_support::kContracts;

// The text that the body hands the model as the result of its last call, and its error flag.
std::pair<std::string, std::string> result_in(Contract contract, const json::value& body) {
    const auto last = [&](const char* list) { return body.at(list).as_array().back(); };
    switch (contract) {
        case Contract::ChatCompletions:
        case Contract::ChatStream:
            return {base::string_at(last("messages"), "content"), ""};
        case Contract::Responses:
        case Contract::CodexStream:
            return {base::string_at(last("input"), "output"), ""};
        case Contract::Messages:
        case Contract::MessagesStream: {
            const json::value result = last("messages").at("content").as_array().back();
            return {base::string_at(result, "content"), base::json_text(result.at("is_error"))};
        }
    }
    std::unreachable();
}

class SameEverywhere : public builtin::BuiltinTest {
protected:
    std::vector<provider::ToolDeclaration> tools() const {
        std::vector<provider::ToolDeclaration> list;
        for (const auto* spec : registry_.all())
            list.push_back(
                {spec->name, spec->description, spec->input_schema, spec->freeform_patch});
        return list;
    }
    json::value last_body(Contract contract) {
        return base::parse_json(transports.server(contract).requests().back().body).value();
    }

    FourTransports transports;
};

// contract: TRANS-01
TEST_F(SameEverywhere, TheModelReadsTheSameReceipt) {
    const std::vector<domain::ToolUseBlock> made{
        {"call_1", "ExecCommand", {{"cmd", "cat a.txt"}, {"login", false}}},
        {"call_2", "ApplyPatch", {{"patch", "nonsense"}}}};
    for (const auto& call : made) {
        const auto done = run(call.name, call.input);
        const bool failed = !done.result.ok;
        EXPECT_EQ(failed, call.name == "ApplyPatch");
        Request request = provider::conformance::question();
        request.tools = tools();
        request.conversation.emplace_back(AssistantTurn{{call}});
        request.conversation.emplace_back(ToolResultsTurn{{{call.id, done.receipt, failed}}});
        for (const auto contract : kContracts) {
            transports.server(contract).enqueue(test_support::says("ok", contract));
            ASSERT_TRUE(transports.ask(contract, request).has_value());
            const auto [text, flag] = result_in(contract, last_body(contract));
            EXPECT_EQ(text, done.receipt);
            if (contract == Contract::Messages) EXPECT_EQ(flag, failed ? "true" : "false");
        }
    }
}

// contract: FRAME-03
TEST_F(SameEverywhere, TheModelReadsTheSameInstructions) {
    Request request = provider::conformance::question();
    add_system_block(request.frame, {Stability::AgentScoped, "You are main."});
    std::vector<std::string> seen;
    for (const auto contract : kContracts) {
        transports.server(contract).enqueue(test_support::says("ok", contract));
        ASSERT_TRUE(transports.ask(contract, request).has_value());
        const json::value body = last_body(contract);
        std::string text = base::string_at(body, "instructions");
        if (contract == Contract::ChatCompletions)
            text = base::string_at(body.at("messages").at(0), "content");
        if (contract == Contract::Messages)
            text = base::string_at(body.at("system").at(0), "text") + "\n\n" +
                   base::string_at(body.at("system").at(1), "text");
        seen.push_back(text);
    }
    EXPECT_THAT(seen, testing::Each("You are terse.\n\nYou are main."));
}

TEST_F(SameEverywhere, TheSameAnswerGivesTheSameBlocks) {
    std::vector<std::vector<domain::Block>> seen;
    for (const auto contract : kContracts) {
        transports.server(contract).enqueue(
            test_support::calls("ExecCommand", R"({"cmd":"ls","n":[1,null]})", "call_1", contract));
        const auto outcome = transports.ask(contract, provider::conformance::question());
        ASSERT_TRUE(outcome.has_value()) << outcome.error().message;
        seen.push_back(outcome->blocks);
    }
    EXPECT_THAT(seen, testing::Each(seen[0]));
}

// One diff, sent as the text of a freeform tool and as the argument of a JSON one.
// contract: REPO-06
TEST_F(SameEverywhere, BothFormsOfAPatchAreOneToTheEngine) {
    const std::string diff = "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+two\n";
    Request request = provider::conformance::question();
    request.tools = tools();
    auto& freeform = transports.server(Contract::Responses);
    freeform.enqueue(test_support::responds(json::array{json::object{{"type", "custom_tool_call"},
                                                                     {"id", "ctc_1"},
                                                                     {"call_id", "call_1"},
                                                                     {"name", "ApplyPatch"},
                                                                     {"input", diff}}}));
    transports.server(Contract::Messages)
        .enqueue(test_support::calls("ApplyPatch", base::json_text(json::object{{"patch", diff}}),
                                     "call_1", Contract::Messages));
    std::vector<json::value> inputs;
    for (const auto contract : {Contract::Responses, Contract::Messages}) {
        const auto outcome = transports.ask(contract, request);
        ASSERT_TRUE(outcome.has_value()) << outcome.error().message;
        ASSERT_EQ(outcome->blocks.size(), 1U);
        const auto& call = std::get<domain::ToolUseBlock>(outcome->blocks[0]);
        inputs.push_back(call.input);
        folder_.write("repo/a.txt", "one\n");
        EXPECT_TRUE(run(call.name, call.input).result.ok);
        EXPECT_EQ(base::read_file(folder_.at("repo/a.txt"), 100).value(), "two\n");
    }
    EXPECT_EQ(inputs[0], (json::value{{"patch", diff}}));
    EXPECT_EQ(inputs[0], inputs[1]);
}

// A server's cache holds what two requests begin with. Over twenty rounds each body is a prefix of
// the next, up to its closing brackets. The exception: Anthropic's rolling mark moves off the block
// it was on, so a body is kept up to that mark only, which is still its end. (Without a cache
// identity, so that the Responses transport sends all of it every time.)
TEST_F(SameEverywhere, ALongerConversationOnlyAddsBytes) {
    constexpr int kRounds = 20;
    Request request = provider::conformance::question();
    add_system_block(request.frame, {Stability::AgentScoped, "You are main."});
    request.tools = tools();
    for (int round = 0; round < kRounds; ++round) {
        for (const auto contract : kContracts) {
            transports.server(contract).enqueue(test_support::says("ok", contract));
            ASSERT_TRUE(transports.ask(contract, request).has_value());
        }
        const std::string id = fmt::format("call_{}", round);
        request.conversation.emplace_back(
            AssistantTurn{{domain::TextBlock{"Looking further."},
                           domain::ToolUseBlock{id, "ExecCommand", {{"cmd", "ls -l"}}}}});
        request.conversation.emplace_back(
            ToolResultsTurn{{{id, std::string(400, static_cast<char>('a' + round)), false}}});
    }
    const std::string_view mark = R"(,"cache_control":{"type":"ephemeral"})";
    for (const auto contract : kContracts) {
        const auto requests = transports.server(contract).requests();
        ASSERT_EQ(requests.size(), static_cast<std::size_t>(kRounds));
        for (std::size_t i = 1; i < requests.size(); ++i) {
            const std::string& before = requests[i - 1].body;
            const std::string& after = requests[i].body;
            const auto common =
                static_cast<std::size_t>(std::ranges::mismatch(before, after).in1 - before.begin());
            const std::size_t moved = contract == Contract::Messages ? mark.size() : 0;
            EXPECT_GE(common + moved + std::string_view("}]}]}").size(), before.size());
            EXPECT_GE(100 * (common + moved), 99 * std::min(before.size(), after.size()))
                << static_cast<int>(contract) << " round " << i;
        }
    }
}

// Every object of a strict schema is closed and requires all it has.
void expect_strict(const json::value& schema) {
    if (const auto* properties = base::find(schema, "properties")) {
        EXPECT_EQ(schema.at("additionalProperties"), json::value(false));
        EXPECT_EQ(schema.at("required").as_array().size(), properties->as_object().size());
        for (const auto& property : properties->as_object()) expect_strict(property.value());
    }
    if (const auto* items = base::find(schema, "items")) expect_strict(*items);
}

// contract: SCHEMA-15
// contract: SCHEMA-16
TEST_F(SameEverywhere, EveryBuiltinToolHasAStrictFormForOpenai) {
    const auto list = provider::openai_responses::encode_tools(
        tools(), provider::openai_responses::PatchForm::Function, provider::SchemaMode::Strict);
    ASSERT_TRUE(list.has_value()) << list.error().message;
    EXPECT_EQ(list->size(), registry_.all().size());
    for (const auto& tool : *list) {
        EXPECT_EQ(tool.at("type"), "function");
        EXPECT_EQ(tool.at("strict"), json::value(true));
        expect_strict(tool.at("parameters"));
    }
}

// contract: SCHEMA-17
TEST_F(SameEverywhere, EveryBuiltinToolHasAStrictOrFreeFormForCodex) {
    const auto list = provider::openai_responses::encode_tools(
        tools(), provider::openai_responses::PatchForm::Freeform, provider::SchemaMode::Strict);
    ASSERT_TRUE(list.has_value()) << list.error().message;
    EXPECT_EQ(list->size(), registry_.all().size());
    for (const auto& tool : *list) {
        EXPECT_EQ(base::string_at(tool, "type") == "custom",
                  base::string_at(tool, "name") == "ApplyPatch");
        if (const auto* parameters = base::find(tool, "parameters")) expect_strict(*parameters);
    }
}

// The two tests above go red, offline, when a tool no longer fits what providers take.
// contract: SCHEMA-18
TEST_F(SameEverywhere, AToolThatDoesNotFitBreaksTheEmissionOfAll) {
    using provider::openai_responses::PatchForm;
    auto drifted = tools();
    drifted.back().input_schema["properties"].emplace_object()["extra"] =
        json::object{{"type", "object"}, {"additionalProperties", {{"type", "string"}}}};
    for (const auto form : {PatchForm::Function, PatchForm::Freeform})
        EXPECT_FALSE(
            provider::openai_responses::encode_tools(drifted, form, provider::SchemaMode::Strict)
                .has_value());
}

// contract: SCHEMA-06
// contract: SCHEMA-07
TEST_F(SameEverywhere, WhatGoesOutIsTheRelaxedForm) {
    Request request = provider::conformance::question();
    request.tools = tools();
    for (const auto contract : {Contract::Responses, Contract::CodexStream}) {
        transports.server(contract).enqueue(test_support::says("ok", contract));
        ASSERT_TRUE(transports.ask(contract, request).has_value());
        const json::value body = last_body(contract);
        for (const auto& tool : body.at("tools").as_array()) {
            if (base::string_at(tool, "type") == "custom") continue;
            EXPECT_EQ(tool.at("strict"), json::value(false));
            EXPECT_EQ(tool.at("parameters").at("additionalProperties"), json::value(false));
        }
    }
}

// The grammar and the tool that reads what it produces agree.
TEST_F(SameEverywhere, AFreeformPatchIsApplied) {
    transports.server(Contract::CodexStream)
        .enqueue(test_support::streams(
            {{{"type", "response.output_item.done"},
              {"item",
               {{"type", "custom_tool_call"},
                {"call_id", "call_1"},
                {"name", "ApplyPatch"},
                {"input",
                 "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+uno\n two\n"
                 "*** End Patch\n"}}}},
             {{"type", "response.completed"}, {"response", {{"status", "completed"}}}}}));
    const auto outcome = transports.ask(Contract::CodexStream, provider::conformance::question());
    ASSERT_TRUE(outcome.has_value()) << outcome.error().message;
    const auto& call = std::get<domain::ToolUseBlock>(outcome->blocks.at(0));
    run(call.name, call.input);
    EXPECT_EQ(bytes_of(folder_.at("repo/a.txt")), "uno\ntwo\n");
}

}  // namespace

// Here its makers are used; each transport runs it in its own folder.
namespace provider::conformance {
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ProviderConformance);
}
