// Plans that an agent has run, on the built program: RunPlan, the operator's word, and what the
// agent receives.
#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/e2e/program.h"
#include "tests/support/fake_model_server.h"

namespace e2e {
namespace {

using test_support::FakeModelServer;
using testing::HasSubstr;

json::object plan_of(json::array steps, std::string_view risk) {
    return {{"plan",
             {{"version", "1.0"},
              {"goal", "Try it"},
              {"riskLevel", risk},
              {"steps", std::move(steps)}}}};
}
json::object step(std::string_view id, std::string_view tool, json::object args) {
    return {{"id", id}, {"tool", tool}, {"args", std::move(args)}};
}

class AgentPlan : public testing::Test {
protected:
    AgentPlan() {
        program.use_server(server.base_url(), "key");
        program.write(program.repo() / "Ideas.md", "- Tea\n");
    }
    void model_runs(const json::object& input) {
        server.enqueue(test_support::calls("RunPlan", base::json_text(input)));
    }
    json::value go(std::vector<std::string> more = {"--create-agent", "go"}) {
        std::vector<std::string> arguments{"run", "--json", "--agent", "k"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        const auto finished = program.run(arguments);
        EXPECT_EQ(finished.exit_code, 0) << finished.err << finished.out;
        return base::parse_json(finished.out).value_or(nullptr);
    }
    std::string last_request() { return server.requests().back().body; }
    std::string last_id() {
        return base::string_at(program.json_of({"plan", "status", "last"}), "runId");
    }
    std::string status_of_last() {
        return base::string_at(program.json_of({"plan", "status", "last"}), "status");
    }

    FakeModelServer server;
    Program program;
};

TEST_F(AgentPlan, APlanThatReadsIsRunAtOnceAndItsReceiptIsTheToolsResult) {
    model_runs(plan_of({step("read", "vault.readFile", {{"path", "Ideas.md"}})}, "read-only"));
    server.enqueue(test_support::says("Read."));
    go();
    EXPECT_THAT(last_request(), HasSubstr("succeeded: 1 of 1 steps"));
    EXPECT_THAT(last_request(), HasSubstr("- Tea"));
    const auto shown = program.json_of({"plan", "show", "last"});
    EXPECT_EQ(base::string_at(shown.at("run").at("owner"), "agentId"), "k");
    EXPECT_THAT(base::string_at(shown.at("calls").at(0), "plannerVersion"), HasSubstr("agent k"));
    EXPECT_TRUE(base::bool_at(program.json_of({"plan", "verify", "last"}), "ok"));
}

TEST_F(AgentPlan, AllFaultsComeBackInOneError) {
    model_runs(plan_of(
        {step("a", "vault.readFiel", {{"path", "x"}}), step("b", "RunPlan", {{"action", "self"}}),
         step("c", "vault.readFile", {{"path", "$steps.nobody.x"}})},
        "read-only"));
    server.enqueue(test_support::says("I see."));
    go();
    EXPECT_THAT(last_request(), HasSubstr("has 3 faults and was not run"));
    EXPECT_THAT(last_request(), HasSubstr("Did you mean vault.readFile?"));
    EXPECT_THAT(last_request(), HasSubstr("works only in the turn of an agent"));
    EXPECT_EQ(program.json_of({"plan", "list"}).get_array().size(), 0u);
}

TEST_F(AgentPlan, APlanThatWritesWaitsForApprovalAndItsAgentReceivesTheEnd) {
    model_runs(
        plan_of({step("w", "vault.createFile", {{"path", "new.md"}, {"content", "x"}})}, "writes"));
    server.enqueue(test_support::says("It waits."));
    go();
    EXPECT_THAT(last_request(), HasSubstr("awaiting_approval"));
    EXPECT_EQ(status_of_last(), "awaiting_approval");
    EXPECT_FALSE(std::filesystem::exists(program.repo() / "new.md"));
    EXPECT_EQ(base::json_text(program.json_of({"plan", "preview", "last"}).at("creates")),
              R"(["new.md"])");
    EXPECT_EQ(program.run({"plan", "resume", "last"}).exit_code, 5) << "nobody has approved it";
    EXPECT_EQ(program.run({"plan", "approve", last_id()}).exit_code, 0);
    EXPECT_EQ(program.run({"plan", "resume", "last"}).exit_code, 0);
    EXPECT_EQ(program.read(program.repo() / "new.md"), "x");
    server.enqueue(test_support::says("Good."));
    go({"--resume"});
    const std::string received = last_request();
    EXPECT_THAT(received.substr(received.rfind("current_input")), HasSubstr("new.md"));
    EXPECT_EQ(program.run({"plan", "revert", "last", "--yes"}).exit_code, 0);
    EXPECT_FALSE(std::filesystem::exists(program.repo() / "new.md"));
}

TEST_F(AgentPlan, TheAgentReceivesARejection) {
    model_runs(plan_of({step("w", "ExecCommand", {{"cmd", "echo x > a"}})}, "commands"));
    server.enqueue(test_support::says("It waits."));
    go();
    EXPECT_EQ(program.run({"plan", "reject", "last", "--reason", "too bold"}).exit_code, 0);
    server.enqueue(test_support::says("Well."));
    go({"--resume"});
    EXPECT_THAT(last_request(), HasSubstr("too bold"));
    EXPECT_FALSE(std::filesystem::exists(program.repo() / "a"));
}

TEST_F(AgentPlan, AKilledRunResumesWithoutRepeatingAndIsReportedOnce) {
    Signpost post(program.folder() / "post");
    model_runs(plan_of({step("one", "ExecCommand", {{"cmd", "echo one >> lines"}}),
                        json::object{{"id", "two"},
                                     {"tool", "ExecCommand"},
                                     {"dependsOn", json::array{"one"}},
                                     {"args",
                                      {{"cmd", "echo two >> lines; echo x > " +
                                                   post.path().string() + "; sleep 100"}}}}},
                       "commands"));
    server.enqueue(test_support::says("It waits."));
    go();
    EXPECT_EQ(program.run({"plan", "approve", last_id()}).exit_code, 0);
    auto running = program.start({"plan", "resume", "last"});
    EXPECT_EQ(post.wait(), "x");
    running.send(SIGKILL);
    running.wait();
    EXPECT_EQ(program.run({"plan", "resume", "last"}).exit_code, 3);
    EXPECT_EQ(program.read(program.repo() / "lines"), "one\ntwo\n");
    server.always(test_support::says("Well."));
    go({"--resume"});
    EXPECT_THAT(last_request(), HasSubstr("is unknown"));
    EXPECT_EQ(program.events("k", "task_result_received").size(), 1u);
}

TEST_F(AgentPlan, WhatAnAgentThatIsGoneLeftWaitingIsNotKept) {
    model_runs(
        plan_of({step("w", "vault.createFile", {{"path", "new.md"}, {"content", "x"}})}, "writes"));
    server.enqueue(test_support::says("It waits."));
    EXPECT_EQ(program.run({"run", "--json", "go"}).exit_code, 0);
    EXPECT_EQ(status_of_last(), "cancelled");
}

TEST_F(AgentPlan, AnActionIsRunByItsName) {
    const auto document =
        plan_of({step("r", "vault.readFile", {{"path", "$vars.params.file"}})}, "read-only");
    program.write(program.folder() / "plan.json", base::json_text(document.at("plan")));
    ASSERT_EQ(
        program.run({"plan", "save", "show", "--file", (program.folder() / "plan.json").string()})
            .exit_code,
        0);
    model_runs({{"action", "show"}, {"params", {{"file", "Ideas.md"}}}});
    model_runs({{"action", "show"}, {"plan", json::object()}});
    server.enqueue(test_support::says("Done."));
    go();
    EXPECT_THAT(last_request(), HasSubstr("- Tea"));
    EXPECT_THAT(last_request(), HasSubstr("give either a plan or an action"));
}

}  // namespace
}  // namespace e2e
