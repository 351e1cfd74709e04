// One frame through all transports: what is sent of it, and what it never learns.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/context/frame.h"
#include "provider/anthropic_messages/wire.h"
#include "provider/chat_completions/wire.h"
#include "provider/openai_codex/wire.h"
#include "provider/openai_responses/wire.h"
#include "tests/transports/four_transports.h"

namespace {

using provider::PromptCapability;
using provider::Request;
using test_support::Contract;
using test_support::kContracts;

context::Frame frame_for(const std::string& text) {
    return context::build_frame(
        {.agent = {.agent_id = {"main"}},
         .workspace = {.workspace_id = "ws-1", .execution_root = "/p", .cwd = "/p"},
         .message = {.id = {text}, .agent_id = {"main"}, .body = domain::TextBody{text}},
         .guidance = {{{.path = "/h/AGENTS.md"}, "Be brief."}}});
}

class Frames : public testing::Test {
protected:
    // The body that `request` becomes; every answer is "ok".
    json::value body(Contract contract, const Request& request) {
        return base::parse_json(bytes(contract, request)).value();
    }
    std::string bytes(Contract contract, const Request& request) {
        transports.server(contract).enqueue(test_support::says("ok", contract));
        EXPECT_TRUE(transports.ask(contract, request).has_value());
        return transports.server(contract).requests().back().body;
    }
    static Request first(const std::string& text = "one") {
        return {.model_ref = "test/model-1", .frame = frame_for(text)};
    }
    static Request second() {
        Request request = first();
        request.conversation = {provider::AssistantTurn{{domain::TextBlock{"ok"}}},
                                provider::UserTurn{{{provider::Stability::TurnScoped, "more"}}}};
        return request;
    }

    test_support::FourTransports transports;
};

// contract: FRAME-02
TEST_F(Frames, AStoredFrameIsLoweredToTheSameBytesAgain) {
    const Request sent = first();
    Request loaded = sent;
    const std::string stored = base::json_text(base::to_json(sent.frame));
    loaded.frame = base::from_json<provider::PromptFrame>(base::parse_json(stored).value()).value();
    for (const auto contract : kContracts) {
        const std::string before = bytes(contract, sent);
        EXPECT_EQ(bytes(contract, loaded), before);
    }
}

// contract: FRAME-07, FRAME-11
TEST_F(Frames, TheKeyThatIsSentIsTheKeyOfTheFrameAndNeverItsFingerprint) {
    for (const auto contract :
         {Contract::ChatCompletions, Contract::Responses, Contract::CodexStream}) {
        for (const auto* text : {"one", "two"}) {
            const Request request = first(text);
            const std::string key = base::string_at(body(contract, request), "prompt_cache_key");
            EXPECT_EQ(key, request.frame.cache->prompt_cache_key);
            EXPECT_NE(key, request.frame.cache->context_fingerprint);
        }
    }
    EXPECT_NE(frame_for("one").cache->context_fingerprint,
              frame_for("two").cache->context_fingerprint);
    EXPECT_EQ(frame_for("one").cache->prompt_cache_key, frame_for("two").cache->prompt_cache_key);
}

// contract: FRAME-15
TEST_F(Frames, WhatATransportDeclaresIsWhatItDoes) {
    const auto names = base::typed::type_of<PromptCapability>().names;
    EXPECT_THAT(names,
                testing::ElementsAre("full_request_only", "prompt_cache_key", "prompt_cache_blocks",
                                     "incremental_responses", "context_management"));
    const auto declared = [](Contract contract) -> std::vector<PromptCapability> {
        const auto list = [](const auto& of) {
            return std::vector<PromptCapability>(of.begin(), of.end());
        };
        if (contract == Contract::Responses) return list(provider::openai_responses::kCapabilities);
        if (contract == Contract::CodexStream) return list(provider::openai_codex::kCapabilities);
        if (contract == Contract::Messages)
            return list(provider::anthropic_messages::kCapabilities);
        return list(provider::chat_completions::kCapabilities);
    };
    for (const auto contract : kContracts) {
        std::vector<PromptCapability> seen;
        const std::string opening = bytes(contract, first());
        if (opening.contains("Be brief.") && opening.contains("one"))
            seen.push_back(PromptCapability::FullRequestOnly);
        if (opening.contains("\"prompt_cache_key\""))
            seen.push_back(PromptCapability::PromptCacheKey);
        if (opening.contains("\"cache_control\""))
            seen.push_back(PromptCapability::PromptCacheBlocks);
        if (bytes(contract, second()).contains("\"previous_response_id\""))
            seen.push_back(PromptCapability::IncrementalResponses);
        EXPECT_EQ(seen, declared(contract)) << static_cast<int>(contract);
    }
}

// From one turn to the next, everything up to the first block of the new turn is the same bytes.
TEST_F(Frames, ANewTurnLeavesWhatStandsBeforeItAsItWas) {
    for (const auto contract : kContracts) {
        const std::string one = bytes(contract, first("one")), two = bytes(contract, first("two"));
        const auto same =
            static_cast<std::size_t>(std::ranges::mismatch(one, two).in1 - one.begin());
        EXPECT_GE(same, one.find("## current_input")) << static_cast<int>(contract);
        EXPECT_GT(same, one.size() * 9 / 10) << static_cast<int>(contract);
    }
}

}  // namespace
