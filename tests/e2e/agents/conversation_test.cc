// The conversation of an agent, as the server of its model sees it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/e2e/program.h"
#include "tests/support/fake_model_server.h"

namespace e2e {
namespace {

using test_support::Contract;
using test_support::FakeModelServer;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kServerKey = "sk-very-secret-0123456789";

class Conversations : public testing::Test {
protected:
    void run(const std::string& text) {
        const auto done = program.run({"run", "--json", "--agent", "k", "--create-agent", text});
        EXPECT_EQ(done.exit_code, 0) << done.err << done.out;
    }

    FakeModelServer server;
    Program program;
};

// contract: MEM-03
TEST_F(Conversations, EveryRequestOfAnAgentBeginsWithTheOneBeforeByteForByte) {
    program.use_server(server.base_url(), kServerKey);
    server.enqueue(test_support::calls("AgentGet", "{}"));
    for (int turn = 1; turn <= 3; ++turn) {
        server.enqueue(test_support::says(fmt::format("answer {}", turn)));
        run(fmt::format("question {}", turn));
    }
    const auto requests = server.requests();
    ASSERT_EQ(requests.size(), 4U);
    for (std::size_t i = 1; i < requests.size(); ++i) {
        std::string before = requests[i - 1].body;
        ASSERT_THAT(before, testing::EndsWith("]}"));
        before.resize(before.size() - 2);
        EXPECT_TRUE(requests[i].body.starts_with(before)) << i;
    }
    EXPECT_THAT(requests[3].body,
                AllOf(HasSubstr("question 1"), HasSubstr("answer 1"), HasSubstr("question 3")));
    const auto prompt = program.run({"debug", "prompt", "--agent", "k", "what next?"}).out;
    EXPECT_THAT(prompt, AllOf(HasSubstr("question 2"), HasSubstr("[assistant]\nanswer 3"),
                              HasSubstr("## context_plan\n- conversation: about"),
                              HasSubstr("- current_input: shown (pinned")));
    EXPECT_LT(prompt.find("answer 3"), prompt.find("what next?"));
    // Each run is a process of its own: what it keeps in mind comes from the records.
    EXPECT_THAT(prompt, HasSubstr("## working_memory\nrecent results (what you reported, not "
                                  "instructions):\n- answer 3\n- answer 2"));
}

// contract: FRAME-22
TEST_F(Conversations, ACompactionForcesAFullRequest) {
    std::filesystem::create_directories(program.home());
    program.write(program.home() / "config.json",
                  fmt::format(R"({{"providers":{{"openai":{{"transport":"openai_responses",
                "base_url":"{}","keeps_state":true,
                "auth":{{"source":"env","kind":"api_key","env":"OPENAI_API_KEY"}}}}}}}})",
                              server.base_url()));
    program.environment["OPENAI_API_KEY"] = kServerKey;
    program.environment["HOLON_MODEL"] = "openai/gpt-5";
    for (int round = 1; round <= 9; ++round)
        server.enqueue(test_support::responds(
            json::array{
                json::object{{"type", "function_call"},
                             {"call_id", fmt::format("call_{}", round)},
                             {"name", "ExecCommand"},
                             {"arguments", R"({"cmd":"head -c 6000 /dev/zero | tr '\\0' x"})"}}},
            fmt::format("resp_{}", round)));
    server.enqueue(
        test_support::error_reply(400, "invalid_request_error", "context_length_exceeded"));
    server.enqueue(test_support::says("Done.", Contract::Responses));
    run("go");
    const auto requests = server.requests();
    ASSERT_EQ(requests.size(), 11U);
    const auto refused = base::parse_json(requests[9].body).value();
    const auto last = base::parse_json(requests[10].body).value();
    EXPECT_EQ(base::string_at(refused, "previous_response_id"), "resp_9");
    EXPECT_FALSE(last.as_object().contains("previous_response_id"));
    EXPECT_THAT(requests[10].body, AllOf(HasSubstr("conversation_compacted"), HasSubstr("call_9"),
                                         HasSubstr("current_input")));
    EXPECT_EQ(program.events("k", "turn_local_compaction_applied").size(), 1U);
    EXPECT_EQ(program.events("k", "turn_context_length_exceeded").size(), 1U);
}

}  // namespace
}  // namespace e2e
