// What the reading commands print for scripts.
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/e2e/program.h"

namespace e2e {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// An agent with one finished turn: a good call, a refused one, an answer.
class Reading : public testing::Test {
protected:
    Reading() {
        program.script({with_usage(runs("echo hi", "Result: it all works."), 10, 5),
                        with_usage(calls("ExecCommand", {{"command", "ls"}}), 20, 6),
                        with_usage(says("All done."), 7, 3)});
        EXPECT_EQ(program.run({"run", "--agent", "k", "--create-agent", "do it"}).exit_code, 0);
    }

    Program program;
};

TEST_F(Reading, TranscriptEntriesHaveTheShapeOfTheReference) {
    const auto entries = program.json_of({"transcript", "--agent", "k"}).as_array();
    std::vector<std::string> kinds;
    for (const auto& entry : entries) {
        kinds.push_back(base::string_at(entry, "kind"));
        EXPECT_EQ(keys_of(entry),
                  (std::vector<std::string>{"agent_id", "created_at", "data", "id", "input_tokens",
                                            "kind", "output_tokens", "related_message_id", "round",
                                            "run_id", "stop_reason"}));
    }
    EXPECT_THAT(kinds, ElementsAre("incoming_message", "assistant_round", "tool_results",
                                   "assistant_round", "tool_results", "assistant_round"));
    const auto limited = program.json_of({"transcript", "--agent", "k", "--limit", "2"}).as_array();
    ASSERT_EQ(limited.size(), 2U);
    EXPECT_EQ(limited[1], entries.back());  // The newest, oldest first.
}

// contract: PROV-59, PROV-61
TEST_F(Reading, AssistantRoundsReportTheirTokensTwice) {
    const auto rounds = of_kind(program.json_of({"transcript", "--agent", "k"}), "assistant_round");
    ASSERT_EQ(rounds.size(), 3U);
    EXPECT_EQ(base::int_at(rounds[1], "input_tokens"), 20);
    EXPECT_EQ(base::int_at(rounds[1], "output_tokens"), 6);
    EXPECT_EQ(rounds[1].at("data").at("token_usage"),
              (json::value{{"input_tokens", 20}, {"output_tokens", 6}, {"total_tokens", 26}}));
}

// contract: TERR-15
TEST_F(Reading, TheTranscriptKeepsTheErrorOfAFailedCallAsAnObject) {
    const auto entries = of_kind(program.json_of({"transcript", "--agent", "k"}), "tool_results");
    ASSERT_EQ(entries.size(), 2U);
    const auto& good = entries[0].at("data").at("results").at(0);
    EXPECT_EQ(base::find(good, "error"), nullptr);
    EXPECT_FALSE(base::bool_at(good, "is_error", true));
    const auto& failed = entries[1].at("data").at("results").at(0);
    EXPECT_TRUE(base::bool_at(failed, "is_error"));
    ASSERT_TRUE(failed.at("error").is_object());
    EXPECT_EQ(base::string_at(failed.at("error"), "kind"), "invalid_tool_input");
    EXPECT_TRUE(failed.at("content").is_string());
}

// contract: TERR-16, TERR-17
TEST_F(Reading, EventsKeepTheErrorOfAFailedCallAsAnObjectAndAsText) {
    const auto failed = program.events("k", "tool_execution_failed");
    ASSERT_EQ(failed.size(), 1U);
    const auto& data = failed[0].at("data");
    ASSERT_TRUE(data.at("tool_error").is_object());
    EXPECT_EQ(base::string_at(data.at("tool_error"), "kind"), "invalid_tool_input");
    ASSERT_TRUE(data.at("error").is_string());
    EXPECT_THAT(base::string_at(data, "error"), HasSubstr("invalid_tool_input"));
    const auto good = program.events("k", "tool_executed");
    ASSERT_EQ(good.size(), 1U);
    EXPECT_TRUE(good[0].at("data").at("error").is_null());
    EXPECT_EQ(base::find(good[0].at("data"), "tool_error"), nullptr);
}

TEST_F(Reading, EventsAreNumberedWithoutGapsAndCanBePaged) {
    const auto all = program.events("k");
    for (std::size_t i = 0; i < all.size(); ++i) {
        EXPECT_EQ(base::int_at(all[i], "event_seq"), static_cast<std::int64_t>(i + 1));
        EXPECT_EQ(keys_of(all[i]),
                  (std::vector<std::string>{"created_at", "data", "event_seq", "id", "kind"}));
    }
    const auto page = program.run({"events", "--agent", "k", "--after-seq", "3", "--limit", "2"});
    EXPECT_EQ(page.out, base::json_text(all[3]) + "\n" + base::json_text(all[4]) + "\n");
}

// contract: AUDIT-01, AUDIT-05
TEST_F(Reading, EventsOfAMessageHaveItsLabels) {
    const auto admitted = program.events("k", "message_admitted");
    ASSERT_EQ(admitted.size(), 1U);
    const std::string id = base::string_at(admitted[0].at("data"), "message_id");
    EXPECT_NE(id, "");
    for (const char* kind :
         {"message_admitted", "message_enqueued", "message_processing_started"}) {
        const auto found = program.events("k", kind);
        ASSERT_EQ(found.size(), 1U) << kind;
        const auto& data = found[0].at("data");
        EXPECT_EQ(base::string_at(data, "message_id", base::string_at(data, "id")), id) << kind;
        EXPECT_EQ(data.at("origin"),
                  (json::value{{"kind", "operator"}, {"actor_id", "holon_run"}}));
        EXPECT_EQ(base::string_at(data, "kind"), "operator_prompt");
        EXPECT_EQ(base::string_at(data, "trust"), "trusted_operator");
        EXPECT_EQ(base::string_at(data, "authority_class"), "operator_instruction");
        EXPECT_EQ(base::string_at(data, "priority"), "normal");
        EXPECT_EQ(base::string_at(data, "delivery_surface"), "run_once");
        EXPECT_EQ(base::string_at(data, "admission_context"), "local_process");
    }
    const auto started = program.events("k", "turn_started");
    ASSERT_EQ(started.size(), 1U);
    EXPECT_EQ(base::string_at(started[0].at("data"), "message_id"), id);
}

// contract: PROV-53, PROV-62, PROV-67
TEST_F(Reading, RoundEventsReportTimesTokensAndAttempts) {
    const auto rounds = program.events("k", "provider_round_completed");
    ASSERT_EQ(rounds.size(), 3U);
    for (const auto& round : rounds) {
        const auto& data = round.at("data");
        EXPECT_TRUE(data.at("context_build_ms").is_int64());
        EXPECT_TRUE(data.at("provider_round_ms").is_int64());
        EXPECT_LE(base::string_at(data, "provider_started_at", "z"),
                  base::string_at(data, "provider_completed_at"));
        EXPECT_EQ(data.at("provider_attempt_timeline").at("attempts").as_array().size(), 1U);
    }
    EXPECT_EQ(rounds[1].at("data").at("token_usage"),
              (json::value{{"input_tokens", 20}, {"output_tokens", 6}, {"total_tokens", 26}}));
}

// contract: EXEC-14
TEST_F(Reading, TheStatusSaysOfEachConfinementThatItIsNotEnforced) {
    const auto status = program.json_of({"status", "--agent", "k"});
    const auto& policy = status.at("execution").at("policy");
    EXPECT_EQ(base::string_at(policy, "backend"), "host_local");
    for (const char* limit : {"path_confinement", "write_confinement", "network_confinement",
                              "secret_isolation", "child_process_containment"})
        EXPECT_EQ(base::string_at(policy.at("process_execution"), limit), "not_enforced") << limit;
}

// contract: TURN-01
TEST_F(Reading, TheTurnSettlesBeforeItsClosureIsDecided) {
    const auto terminal = program.events("k", "turn_terminal");
    const auto closure = program.events("k", "closure_decided");
    ASSERT_EQ(terminal.size(), 1U);
    ASSERT_EQ(closure.size(), 1U);
    EXPECT_LT(base::int_at(terminal[0], "event_seq"), base::int_at(closure[0], "event_seq"));
    EXPECT_EQ(base::string_at(terminal[0].at("data"), "last_assistant_message"), "All done.");
}

// contract: BRIEF-01, BRIEF-02
TEST_F(Reading, TailShowsBriefsAndNothingElse) {
    const auto briefs = program.json_of({"tail", "--agent", "k"}).as_array();
    ASSERT_EQ(briefs.size(), 2U);
    const std::vector<std::string> keys{
        "agent_id",           "attachments",     "created_at", "id",          "kind",
        "related_message_id", "related_task_id", "text",       "workspace_id"};
    EXPECT_EQ(keys_of(briefs[0]), keys);
    auto of_result = keys;
    of_result.insert(of_result.end() - 1, "visibility");
    EXPECT_EQ(keys_of(briefs[1]), of_result);
    EXPECT_EQ(base::string_at(briefs[0], "kind"), "ack");
    EXPECT_EQ(base::string_at(briefs[1], "kind"), "result");
    EXPECT_EQ(base::string_at(briefs[1], "text"), "All done.");
    EXPECT_EQ(program.json_of({"tail", "--agent", "k", "--limit", "1"}), json::array{briefs[1]});
}

TEST_F(Reading, StatusHasTheShapeOfTheReference) {
    const auto status = program.json_of({"status", "--agent", "k"});
    for (const char* part : {"identity", "agent", "scheduling_posture", "active_task_count",
                             "lifecycle", "model", "token_usage", "closure", "execution"})
        EXPECT_NE(base::find(status, part), nullptr) << part;
    EXPECT_EQ(base::string_at(status.at("agent"), "status"), "awake_idle");
    EXPECT_EQ(base::string_at(status.at("closure"), "outcome"), "completed");
    EXPECT_EQ(base::string_at(status.at("scheduling_posture"), "posture"), "idle");
    EXPECT_EQ(base::string_at(status.at("model"), "effective_model"),
              program.environment.at("HOLON_MODEL"));
    EXPECT_EQ(base::string_at(status.at("execution"), "cwd"), program.repo().string());
}

// With what the agent reported last, which is ours: the reference's clients pass over it.
TEST_F(Reading, AgentListHasTheShapeOfTheReference) {
    const auto list = program.json_of({"agent", "list"}).as_array();
    ASSERT_EQ(list.size(), 1U);
    EXPECT_EQ(keys_of(list[0]),
              (std::vector<std::string>{"active_workspace_entry", "identity", "last_brief",
                                        "last_brief_at", "lifecycle", "model", "pending",
                                        "scheduling_posture", "status"}));
    EXPECT_EQ(base::string_at(list[0], "status"), "awake_idle");
    EXPECT_EQ(base::int_at(list[0], "pending", -1), 0);
    EXPECT_EQ(base::string_at(list[0].at("active_workspace_entry"), "cwd"),
              program.repo().string());
    program.script({calls("Sleep", {{"duration_ms", 60000}})});
    EXPECT_EQ(program.run({"run", "--agent", "k", "wait"}).exit_code, 5);
    const auto waiting = program.json_of({"agent", "list"}).as_array();
    EXPECT_EQ(base::string_at(waiting.at(0), "waiting_reason"), "awaiting_timer");
}

// contract: STATE-21
TEST(ReadingLater, TokenUseAddsUpOverProcesses) {
    Program program;
    program.script({with_usage(says("One."), 10, 5)});
    EXPECT_EQ(program.run({"run", "--agent", "k", "--create-agent", "one"}).exit_code, 0);
    program.script({with_usage(says("Two."), 7, 3)});
    EXPECT_EQ(program.run({"run", "--agent", "k", "two"}).exit_code, 0);
    const auto status = program.json_of({"status", "--agent", "k"});
    EXPECT_EQ(base::int_at(status.at("agent"), "total_input_tokens"), 17);
    EXPECT_EQ(base::int_at(status.at("agent"), "total_output_tokens"), 8);
    EXPECT_EQ(status.at("token_usage").at("total"),
              (json::value{{"input_tokens", 17}, {"output_tokens", 8}, {"total_tokens", 25}}));
    EXPECT_EQ(base::int_at(status.at("token_usage").at("last_turn"), "total_tokens"), 10);
}

// Reading needs neither a model nor its key.
TEST_F(Reading, WorksWithoutAModel) {
    program.environment.erase("HOLON_MODEL");
    for (const char* reader : {"status", "transcript", "tail", "events"})
        EXPECT_EQ(program.run({reader, "--agent", "k"}).exit_code, 0) << reader;
    EXPECT_EQ(program.run({"agent", "list"}).exit_code, 0);
}

TEST_F(Reading, TakesTheAgentFromTheEnvironment) {
    EXPECT_EQ(program.run({"status"}).exit_code, 1);
    program.environment["HOLON_AGENT_ID"] = "k";
    EXPECT_EQ(program.run({"status"}).exit_code, 0);
}

}  // namespace
}  // namespace e2e
