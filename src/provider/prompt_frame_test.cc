#include "provider/prompt_frame.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace provider {
namespace {

const PromptFrame kFrame{.system_prompt = "Be terse.\n\nYou are main.",
                         .system_blocks = {{Stability::Stable, "Be terse.", true},
                                           {Stability::AgentScoped, "You are main."}},
                         .context_blocks = {{Stability::TurnScoped, "Say something."}},
                         .cache = PromptCache{"main", "main:ctx:1", "f1", 4, 2}};

PromptFrame read_back(const json::value& text) {
    return base::from_json<PromptFrame>(text, base::Unknown::Reject).value();
}

// contract: FRAME-04, FRAME-05, FRAME-06
TEST(PromptFrame, HasTheseFieldsAndSurvivesJson) {
    const json::value whole = base::to_json(kFrame);
    EXPECT_EQ(whole, base::parse_json(R"({
        "system_prompt": "Be terse.\n\nYou are main.",
        "system_blocks": [
            {"stability": "stable", "text": "Be terse.", "cache_breakpoint": true},
            {"stability": "agent_scoped", "text": "You are main.", "cache_breakpoint": false}],
        "context_blocks": [
            {"stability": "turn_scoped", "text": "Say something.", "cache_breakpoint": false}],
        "cache": {"agent_id": "main", "prompt_cache_key": "main:ctx:1",
                  "context_fingerprint": "f1", "working_memory_revision": 4,
                  "compression_epoch": 2}})")
                         .value());
    EXPECT_EQ(read_back(whole), kFrame);
    PromptFrame bare = kFrame;
    bare.cache.reset();
    const json::value without = base::to_json(bare);
    EXPECT_FALSE(without.as_object().contains("cache"));
    EXPECT_EQ(read_back(without), bare);
}

TEST(PromptFrame, ABlockThatIsAddedIsPartOfBothForms) {
    PromptFrame frame = kFrame;
    add_system_block(frame, {Stability::AgentScoped, "More \xff."});
    EXPECT_EQ(frame.system_blocks.size(), 3U);
    EXPECT_EQ(frame.system_prompt, "Be terse.\n\nYou are main.\n\nMore \uFFFD.");
    EXPECT_EQ(join_blocks({{Stability::Stable, ""}, {Stability::Stable, "x"}}), "x");
}

}  // namespace
}  // namespace provider
