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

// contract: TRANS-02
TEST_F(Conversations, AReceiptSaysWhetherAFileStillIsWhatTheCallSaw) {
    program.use_server(server.base_url(), kServerKey);
    // In a large window shorter results are enough, and nothing is covered by a digest.
    EXPECT_EQ(program
                  .run({"config", "set", "models.catalog",
                        R"({"fake/model-a":{"context_window_tokens":400000}})"})
                  .exit_code,
              0);
    const std::string text(30'000, 't');
    for (const auto* name : {"kept.txt", "edited.txt", "rewritten.txt", "gone.txt"})
        program.write(program.repo() / name, text + name);
    int call = 0;
    const auto runs = [&](std::string_view command) {
        server.enqueue(test_support::calls("ExecCommand",
                                           base::json_text(json::object{{"cmd", command}}),
                                           fmt::format("call_{}", ++call)));
    };
    for (const auto* name : {"kept.txt", "edited.txt", "rewritten.txt", "gone.txt"})
        runs(fmt::format("cat {}", name));
    runs("echo more >> rewritten.txt; head -c 30000 /dev/zero | tr '\\0' t");
    for (int round = 0; round < 6; ++round) runs("head -c 30000 /dev/zero | tr '\\0' t");
    server.enqueue(test_support::says("read"));
    run("read them");
    // Neither of these is in the records.
    program.write(program.repo() / "edited.txt", "by a person");
    std::filesystem::remove(program.repo() / "gone.txt");
    for (int round = 0; round < 4; ++round) runs("true");
    server.enqueue(
        test_support::error_reply(400, "invalid_request_error", "context_length_exceeded"));
    server.enqueue(test_support::says("Done."));
    run("go on");
    const auto last = server.requests().back().body;
    EXPECT_THAT(last, AllOf(HasSubstr("conversation_compacted"), Not(HasSubstr("tttttttttt"))));
    EXPECT_THAT(last, HasSubstr("[kept.txt seen, unchanged since]"));
    EXPECT_THAT(last, HasSubstr("[edited.txt seen, changed since]"));
    EXPECT_THAT(last, HasSubstr("[gone.txt seen, no longer there]"));
    EXPECT_THAT(last, HasSubstr("[rewritten.txt seen, changed since]")) << "by a command";
    EXPECT_THAT(last, testing::ContainsRegex("\\[rewritten.txt changed to [^]]*, unchanged since"))
        << "of the command that changed it last";
    // What a compaction has recorded is what is sent from then on, by every later process.
    program.write(program.repo() / "kept.txt", "by a person");
    server.enqueue(test_support::says("Yes."));
    run("and now?");
    EXPECT_THAT(server.requests().back().body, HasSubstr("[kept.txt seen, unchanged since]"));
}

TEST_F(Conversations, ACompactionThatTheOperatorAsksForComparesFilesToo) {
    program.use_server(server.base_url(), kServerKey);
    for (const auto* name : {"kept.txt", "edited.txt"})
        program.write(program.repo() / name, std::string(30'000, 't') + name);
    int call = 0;
    for (const auto* command :
         {"cat kept.txt", "cat edited.txt", "true", "true", "true", "true", "true"})
        server.enqueue(test_support::calls("ExecCommand",
                                           base::json_text(json::object{{"cmd", command}}),
                                           fmt::format("call_{}", ++call)));
    server.enqueue(test_support::says("read"));
    run("read them");
    program.write(program.repo() / "edited.txt", "by a person");
    const auto compacted = program.run({"agent", "compact", "k"});
    EXPECT_EQ(compacted.exit_code, 0) << compacted.err;
    server.enqueue(test_support::says("Yes."));
    run("go on");
    EXPECT_THAT(server.requests().back().body,
                AllOf(HasSubstr("[kept.txt seen, unchanged since]"),
                      HasSubstr("[edited.txt seen, changed since]")));
}

}  // namespace
}  // namespace e2e
