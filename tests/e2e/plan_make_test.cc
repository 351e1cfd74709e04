// `holon plan make` on the built program: a model is asked, its answers are checked, nothing runs.
#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "tests/e2e/program.h"
#include "tests/support/fake_model_server.h"

namespace e2e {
namespace {

using test_support::FakeModelServer;
using testing::HasSubstr;
using testing::Not;

json::object plan_of(json::array steps, std::string_view risk = "writes") {
    return {{"version", "1.0"},
            {"goal", "Give ideas notes"},
            {"riskLevel", risk},
            {"steps", std::move(steps)}};
}

json::object good_plan() {
    return plan_of(
        {json::object{{"id", "read"}, {"tool", "vault.readFile"}, {"args", {{"path", "Ideas.md"}}}},
         json::object{{"id", "ideas"},
                      {"tool", "util.parseMarkdownBullets"},
                      {"args", {{"markdown", "$steps.read.content"}}}},
         json::object{{"id", "notes"},
                      {"tool", "vault.createFile"},
                      {"foreach", {{"from", "$steps.ideas.items"}, {"itemName", "idea"}}},
                      {"args", {{"path", "Ideas/{idea.text}.md"}, {"content", "# {idea.text}"}}}}});
}

json::object bad_tool() {
    return plan_of(
        {json::object{{"id", "x"}, {"tool", "vault.readFiel"}, {"args", {{"path", "a"}}}}});
}

std::string fenced(const json::object& plan) {
    return "Here you are:\n```json\n" + base::pretty_json(plan) + "\n```\n";
}

class PlanMake : public testing::Test {
protected:
    PlanMake() { program.write(program.repo() / "Ideas.md", "- Tea\n- Bread\n"); }

    std::vector<std::string> make(std::vector<std::string> more = {}) {
        std::vector<std::string> arguments{"plan", "make", "A note for each idea", "--json"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return arguments;
    }
    void answers(std::initializer_list<std::string> texts) {
        json::array rounds;
        for (const auto& text : texts) rounds.push_back(says(text));
        program.script(std::move(rounds));
    }
    void expect_nothing_ran() {
        EXPECT_FALSE(std::filesystem::exists(program.repo() / "Ideas"));
        EXPECT_EQ(program.json_of({"plan", "list"}).get_array().size(), 0u);
    }

    Program program;
};

TEST_F(PlanMake, AModelsPlanIsShownKeptAndRunOnlyOnRequest) {
    answers({fenced(good_plan())});
    const std::string file = (program.folder() / "made.json").string();
    const auto made = program.json_of(make({"--out", file, "--save", "ideas"}));
    EXPECT_EQ(base::int_at(made, "tries"), 1);
    EXPECT_EQ(base::string_at(made, "file"), file);
    EXPECT_EQ(made.at("plan"), json::value(good_plan()));
    EXPECT_EQ(base::json_text(made.at("preview").at("creates")),
              R"(["Ideas","Ideas/Tea.md","Ideas/Bread.md"])");
    expect_nothing_ran();
    EXPECT_EQ(base::string_at(program.json_of({"plan", "export", "ideas"}), "name"), "ideas");

    EXPECT_EQ(program.run({"plan", "run", file, "--yes"}).exit_code, 0);
    EXPECT_EQ(program.read(program.repo() / "Ideas" / "Tea.md"), "# Tea");
    const auto call = program.json_of({"plan", "show", "last"}).at("calls").at(0);
    EXPECT_EQ(call.at("plannerVersion"), made.at("plannerVersion"));
    EXPECT_THAT(base::string_at(call, "plannerVersion"), HasSubstr("scripted/"));
    EXPECT_TRUE(base::bool_at(program.json_of({"plan", "verify", "last"}), "ok"));
    EXPECT_TRUE(base::bool_at(program.json_of({"plan", "replay", "last"}), "ok"));
}

TEST_F(PlanMake, APlanThatWasChangedSinceIsNoLongerTheModels) {
    answers({base::json_text(good_plan())});
    const auto file = program.folder() / "made.json";
    program.json_of(make({"--out", file.string()}));
    auto changed = good_plan();
    changed["goal"] = "Mine now";
    program.write(file, base::json_text(changed));
    EXPECT_EQ(program.run({"plan", "run", file.string(), "--yes"}).exit_code, 0);
    const auto call = program.json_of({"plan", "show", "last"}).at("calls").at(0);
    EXPECT_FALSE(call.get_object().contains("plannerVersion"));
}

TEST_F(PlanMake, WithoutAFileThePlanIsKeptInTheHome) {
    answers({base::json_text(good_plan())});
    const auto made = program.json_of(make());
    const std::filesystem::path file = base::string_at(made, "file");
    EXPECT_EQ(file.parent_path(), program.home() / "plan-drafts");
    EXPECT_EQ(program.run({"plan", "check", file.string()}).exit_code, 0);
}

TEST_F(PlanMake, FaultsGoBackToTheModelUntilThePlanIsGood) {
    FakeModelServer server;
    program.use_server(server.base_url(), "key");
    server.enqueue(test_support::says("I would rather talk about it."));
    server.enqueue(test_support::says(fenced(bad_tool())));
    server.enqueue(test_support::says(fenced(good_plan())));
    const auto made = program.json_of(make());
    EXPECT_EQ(base::int_at(made, "tries"), 3);
    ASSERT_EQ(server.request_count(), 3u);
    const auto requests = server.requests();
    EXPECT_THAT(requests[0].body, HasSubstr("vault.createFile"));
    EXPECT_THAT(requests[0].body, HasSubstr("A note for each idea"));
    EXPECT_THAT(requests[0].body, HasSubstr("Ideas.md")) << "what is in the vault";
    EXPECT_THAT(requests[1].body, HasSubstr("there is no JSON object in the answer"));
    EXPECT_THAT(requests[2].body, HasSubstr("Did you mean vault.readFile?"));
    expect_nothing_ran();
}

TEST_F(PlanMake, AfterThreeBadPlansItSaysWhatWasWrongWithTheLast) {
    FakeModelServer server;
    program.use_server(server.base_url(), "key");
    server.always(test_support::says(base::json_text(bad_tool())));
    const auto refused = program.json_of(make(), 6);
    EXPECT_EQ(server.request_count(), 3u);
    EXPECT_EQ(base::int_at(refused, "tries"), 3);
    ASSERT_EQ(refused.at("faults").get_array().size(), 1u);
    EXPECT_EQ(base::string_at(refused.at("faults").at(0), "path"), "/steps/0/tool");
    EXPECT_FALSE(std::filesystem::exists(program.home() / "plan-drafts"));
}

TEST_F(PlanMake, AModelCannotSetPolicyOrApproveItself) {
    auto plan = good_plan();
    plan["policy"] = json::object{{"confirmationsRequired", false}};
    answers({base::json_text(plan), base::json_text(plan), base::json_text(plan)});
    const auto refused = program.json_of(make(), 6);
    EXPECT_EQ(base::string_at(refused.at("faults").at(0), "path"), "/policy");
    // And what it was allowed to say still waits for a person.
    answers({base::json_text(good_plan())});
    const auto made = program.json_of(make());
    const auto waits = program.run({"plan", "run", base::string_at(made, "file"), "--json"});
    EXPECT_EQ(waits.exit_code, 5);
}

TEST_F(PlanMake, MissingContextIsAFaultAndFilesOutsideAreNotListed) {
    auto plan = good_plan();
    plan["contextRequests"] = json::array{json::object{{"kind", "selection"}}};
    answers({base::json_text(plan), base::json_text(plan), base::json_text(plan)});
    EXPECT_EQ(base::string_at(program.json_of(make(), 6).at("faults").at(0), "path"),
              "/contextRequests/0");
}

TEST_F(PlanMake, AProviderThatCannotBeReachedIsAClearError) {
    program.use_server("http://127.0.0.1:9/v1", "key");
    const auto failed = program.run(make());
    EXPECT_EQ(failed.exit_code, 1);
    EXPECT_THAT(failed.err, HasSubstr("could not be asked for a plan (connection)"));
    EXPECT_THAT(failed.err, Not(HasSubstr("key\"")));
    EXPECT_EQ(failed.out, "");
}

TEST_F(PlanMake, GarbageAndEndlessAnswersAreBounded) {
    FakeModelServer server;
    program.use_server(server.base_url(), "key");
    server.enqueue(test_support::says(std::string(2 * 1024 * 1024, '{')));
    server.enqueue(test_support::says(std::string("\x01\x02{{{]]") + std::string(500, '[')));
    server.enqueue(test_support::says(base::json_text(good_plan())));
    EXPECT_EQ(base::int_at(program.json_of(make()), "tries"), 3);
    const auto requests = server.requests();
    ASSERT_EQ(requests.size(), 3u);
    EXPECT_THAT(requests[1].body, HasSubstr("are the most"));
    EXPECT_LT(requests[1].body.size(), 512u * 1024) << "the answer is not sent back whole";
}

TEST_F(PlanMake, CtrlCEndsTheQuestion) {
    FakeModelServer server;
    program.use_server(server.base_url(), "key");
    server.always(test_support::hangs());
    auto running = program.start(make());
    ASSERT_TRUE(server.wait_for_requests(1));
    running.send(SIGINT);
    EXPECT_EQ(running.wait().exit_code, 130);
}

TEST_F(PlanMake, NothingToDoNoModelAndALongGoalAreRefusedBeforeAskingAnybody) {
    FakeModelServer server;
    program.use_server(server.base_url(), "key");
    EXPECT_THAT(program.run({"plan", "make", "  "}).err, HasSubstr("say what the plan is to do"));
    EXPECT_THAT(program.run({"plan", "make", std::string(20'000, 'x')}).err,
                HasSubstr("at most 16000 characters"));
    EXPECT_THAT(program.run(make({"--out", "/no/such/folder/x.json"})).err,
                HasSubstr("no folder /no/such/folder"));
    EXPECT_THAT(program.run(make({"--model", "nobody/x"})).err, HasSubstr("no provider 'nobody'"));
    EXPECT_EQ(server.request_count(), 0u);
}

}  // namespace
}  // namespace e2e
