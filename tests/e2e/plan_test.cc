// Plans on the built program: from the command line to the files of the run, through kills.
#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "tests/e2e/program.h"

namespace e2e {
namespace {

using testing::HasSubstr;

json::object command(std::string_view id, std::string_view cmd, json::array needs = {}) {
    json::object step{{"id", id}, {"tool", "ExecCommand"}, {"args", {{"cmd", cmd}}}};
    if (!needs.empty()) step["dependsOn"] = std::move(needs);
    return step;
}

class PlanE2e : public testing::Test {
protected:
    void plan(json::array steps) {
        program.write(program.folder() / "plan.json",
                      base::json_text(json::object{{"version", "1.0"},
                                                   {"goal", "Try it"},
                                                   {"riskLevel", "commands"},
                                                   {"steps", std::move(steps)}}));
    }
    std::vector<std::string> run_arguments(bool yes = true) {
        std::vector<std::string> arguments{"plan",
                                           "run",
                                           (program.folder() / "plan.json").string(),
                                           "--vault",
                                           program.repo().string(),
                                           "--json"};
        if (yes) arguments.emplace_back("--yes");
        return arguments;
    }
    // The last line of what a run printed.
    static json::value ended(const Finished& finished) {
        const auto lines = base::split_lines(finished.out);
        EXPECT_FALSE(lines.empty()) << finished.err;
        return lines.empty() ? json::value() : base::parse_json(lines.back()).value();
    }

    Program program;
};

TEST_F(PlanE2e, APlanIsCheckedRunProvedAndReplayed) {
    plan({command("one", "echo one > a.txt"), command("two", "cat a.txt", json::array{"one"})});
    const std::string file = (program.folder() / "plan.json").string();
    EXPECT_EQ(base::int_at(program.json_of({"plan", "check", file}), "steps"), 2);
    const auto finished = program.run(run_arguments());
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
    EXPECT_EQ(base::string_at(ended(finished), "status"), "succeeded");
    EXPECT_THAT(finished.out, HasSubstr("\"type\":\"step.finished\""));
    EXPECT_EQ(program.read(program.repo() / "a.txt"), "one\n");
    EXPECT_TRUE(base::bool_at(program.json_of({"plan", "verify", "last"}), "ok"));
    EXPECT_EQ(base::int_at(program.json_of({"plan", "replay", "last"}), "served"), 2);
    EXPECT_EQ(program.json_of({"plan", "list"}).get_array().size(), 1u);
    // A command leaves no way back, and revert says so instead of pretending.
    const auto reverted = program.json_of({"plan", "revert", "last", "--yes"}, 3);
    EXPECT_EQ(reverted.at("noWayBack").get_array().size(), 1u);
}

TEST_F(PlanE2e, FaultsAreReportedAllAtOnceWithTheirOwnExitCode) {
    plan({command("one", "true"),
          {{"id", "two"}, {"tool", "ExecComand"}, {"args", {{"x", "$steps.three.n"}}}}});
    const auto refused = program.json_of(run_arguments(), 6);
    EXPECT_EQ(refused.at("faults").get_array().size(), 2u);
    EXPECT_THAT(base::json_text(refused), HasSubstr("Did you mean ExecCommand?"));
    EXPECT_EQ(program.json_of({"plan", "list"}).get_array().size(), 0u);
}

TEST_F(PlanE2e, APlanWithoutApprovalWaits) {
    plan({command("one", "echo x >> a.txt")});
    const auto waiting = program.run(run_arguments(false));
    EXPECT_EQ(waiting.exit_code, 5);
    EXPECT_FALSE(std::filesystem::exists(program.repo() / "a.txt"));
    EXPECT_EQ(program.run({"plan", "resume", "last"}).exit_code, 5);
    const auto id = base::string_at(program.json_of({"plan", "list"}).at(0), "runId");
    for (const auto& vague : {std::string("last"), id.substr(0, id.size() - 1)}) {
        const auto refused = program.run({"plan", "approve", vague});
        EXPECT_EQ(refused.exit_code, 1);
        EXPECT_THAT(refused.err, HasSubstr("holon plan show " + id));
        EXPECT_EQ(program.run({"plan", "resume", vague}).exit_code, 5);
    }
    EXPECT_EQ(program.run({"plan", "resume", "last", "--yes"}).exit_code, 1);
    EXPECT_EQ(program.run({"plan", "approve", id}).exit_code, 0);
    // What is proposed meanwhile has an approval of its own.
    EXPECT_EQ(program.run(run_arguments(false)).exit_code, 5);
    EXPECT_EQ(program.run({"plan", "resume", "last"}).exit_code, 5);
    EXPECT_FALSE(std::filesystem::exists(program.repo() / "a.txt"));
    EXPECT_EQ(program.run({"plan", "resume", id}).exit_code, 0);
    EXPECT_EQ(program.read(program.repo() / "a.txt"), "x\n");
    EXPECT_EQ(program.run({"plan", "resume", id}).exit_code, 1) << "it has succeeded";
}

// contract: LOG-03
TEST_F(PlanE2e, AKilledRunResumesWithoutRepeatingAndNamesUnknownOutcomes) {
    Signpost post(program.folder() / "post");
    plan({command("one", "echo one >> lines.txt"),
          command("two",
                  "echo two >> lines.txt; echo here > " + post.path().string() + "; sleep 100",
                  json::array{"one"}),
          command("three", "echo three >> lines.txt", json::array{"two"})});
    auto running = program.start(run_arguments());
    EXPECT_EQ(post.wait(), "here");
    running.send(SIGKILL);
    EXPECT_EQ(running.wait().signal, SIGKILL);
    EXPECT_FALSE(base::bool_at(program.json_of({"plan", "status", "last"}), "isCarried"));

    const auto resumed = program.run({"plan", "resume", "last", "--json"});
    EXPECT_EQ(resumed.exit_code, 3);
    EXPECT_EQ(ended(resumed).at("counts").at("unknownOutcomes"), json::value(1));
    EXPECT_EQ(program.read(program.repo() / "lines.txt"), "one\ntwo\n");
    const auto verdict = program.json_of({"plan", "verify", "last"});
    ASSERT_EQ(verdict.at("unknownOutcomes").get_array().size(), 1u);
    EXPECT_THAT(base::json_text(verdict), HasSubstr("two (call "));
}

TEST_F(PlanE2e, ACommandThatFailsFailsItsStepAndNoMessageRepeatsItsLine) {
    const auto shell = [](std::string_view id, std::string_view cmd, bool lenient) {
        json::object args{{"cmd", cmd}};
        if (lenient) args["allowFailure"] = true;
        return json::object{{"id", id}, {"tool", "shell.exec"}, {"args", std::move(args)}};
    };
    plan({shell("quiet", "true", false), shell("lenient", "exit 3", true),
          shell("secret", "echo s3cr3t-t0ken-in-clear > /dev/null", false)});
    const auto good = program.run(run_arguments());
    EXPECT_EQ(good.exit_code, 0) << good.out;
    const auto shown = program.json_of({"plan", "show", "last"});
    for (const auto& result : shown.at("results").get_array())
        EXPECT_EQ(base::string_at(result, "userMessage").find("s3cr3t"), std::string::npos);
    for (const auto& event : shown.at("events").get_array())
        EXPECT_EQ(base::json_text(event).find("s3cr3t"), std::string::npos);
    const auto tools = program.json_of({"tools", "shell.exec"});
    const auto& properties = tools.at(0).at("outputSchema").at("properties");
    for (const char* name : {"stdout_preview", "stderr_preview", "exit_status"})
        EXPECT_THAT(base::json_text(properties.at(name)), HasSubstr("\"null\"")) << name;
    plan({shell("fails", "exit 3", false)});
    const auto bad = program.run(run_arguments());
    EXPECT_EQ(bad.exit_code, 3);
    EXPECT_EQ(ended(bad).at("failure").at("stepId"), json::value("fails"));
}

TEST_F(PlanE2e, VerifyReportsWhatIsMissingAndDoesNotTakeAnAliasForAFolder) {
    plan({command("one", "echo one > a.txt")});
    ASSERT_EQ(program.run(run_arguments()).exit_code, 0);
    std::filesystem::create_directory(program.repo() / "last");
    const auto verdict = program.json_of({"plan", "verify", "last"});
    EXPECT_TRUE(base::bool_at(verdict, "ok"));
    EXPECT_TRUE(base::bool_at(verdict, "authenticated"));
    const auto id = base::string_at(program.json_of({"plan", "list"}).at(0), "runId");
    const auto folder = program.home() / "plans" / id;
    std::filesystem::copy(folder, program.folder() / "copy",
                          std::filesystem::copy_options::recursive);
    EXPECT_TRUE(base::bool_at(
        program.json_of({"plan", "verify", (program.folder() / "copy").string()}), "authenticated"))
        << "the same record elsewhere";
    for (const char* name : {"calls.jsonl", "run.json"}) {
        std::filesystem::remove(folder / name);
        const auto broken = program.json_of({"plan", "verify", "last"}, 3);
        EXPECT_THAT(base::json_text(broken), HasSubstr(std::string(name) + " is missing"));
        EXPECT_FALSE(std::filesystem::exists(folder / name)) << "it is not written anew";
    }
}

// contract: RUN-06
TEST_F(PlanE2e, CancellingFromAnotherProcessEndsTheCommandForReal) {
    Signpost post(program.folder() / "post");
    plan({command("one", "echo $$ > " + post.path().string() + "; sleep 1000"),
          command("two", "echo never >> lines.txt", json::array{"one"})});
    auto running = program.start(run_arguments());
    const pid_t group = std::stoi(post.wait());
    EXPECT_TRUE(group_is_alive(group));
    EXPECT_EQ(program.run({"plan", "cancel", "last"}).exit_code, 0);
    EXPECT_EQ(running.wait().exit_code, 130);
    EXPECT_FALSE(group_is_alive(group));
    const auto shown = program.json_of({"plan", "show", "last"});
    EXPECT_EQ(shown.at("run").at("status"), json::value("cancelled"));
    ASSERT_EQ(shown.at("results").get_array().size(), 1u);
    EXPECT_EQ(shown.at("results").get_array()[0].at("status"), json::value("cancelled"));
    EXPECT_FALSE(std::filesystem::exists(program.repo() / "lines.txt"));
    EXPECT_TRUE(base::bool_at(program.json_of({"plan", "verify", "last"}), "ok"));
}

TEST_F(PlanE2e, AnActionIsSavedExportedImportedAndRun) {
    plan({command("one", "echo $vars.params.word > a.txt")});
    const std::string file = (program.folder() / "plan.json").string();
    EXPECT_EQ(program.run({"plan", "save", "say", "--file", file}).exit_code, 0);
    const auto exported = program.run({"plan", "export", "say"});
    program.write(program.folder() / "action.json", exported.out);
    EXPECT_EQ(
        program
            .run({"plan", "import", (program.folder() / "action.json").string(), "--name", "say2"})
            .exit_code,
        0);
    EXPECT_EQ(
        program.run({"plan", "run-action", "say2", "--yes", "--vault", program.repo().string()})
            .exit_code,
        6)
        << "the parameter is missing";
    const auto finished = program.run({"plan", "run-action", "say2", "--yes", "--vault",
                                       program.repo().string(), "--param", "word=hello"});
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
    EXPECT_EQ(program.read(program.repo() / "a.txt"), "hello\n");
    EXPECT_EQ(program.json_of({"plan", "actions"}).get_array().size(), 2u);
}

TEST_F(PlanE2e, TheConfigurationAppliesUnlessTheRunOverridesIt) {
    const auto set = [&](const char* key, const char* value) {
        return program.run({"config", "set", key, value}).exit_code;
    };
    ASSERT_EQ(set("plan.commands.note.argv", R"(["sh","-c","echo \"$1\" > a.txt","sh","{text}"])"),
              0);
    EXPECT_EQ(set("plan.commands.bad.argv", "[]"), 0) << "nothing to set";
    EXPECT_NE(set("plan.commands.bad.argv", R"(["{program}"])"), 0);
    plan({{{"id", "n"},
           {"tool", "commands.run"},
           {"args", {{"name", "note"}, {"args", {{"text", "$(id) hello"}}}}}}});
    EXPECT_EQ(program.run(run_arguments()).exit_code, 0);
    EXPECT_EQ(program.read(program.repo() / "a.txt"), "$(id) hello\n");

    ASSERT_EQ(set("plan.policy.max_risk_level", "writes"), 0);
    const auto refused = program.run(run_arguments());
    EXPECT_EQ(refused.exit_code, 3);
    EXPECT_EQ(ended(refused).at("failure").at("code"), json::value("POLICY_DENIED"));
    program.write(program.folder() / "policy.json", R"({"maxRiskLevel": "commands"})");
    auto arguments = run_arguments();
    arguments.insert(arguments.end(), {"--policy", (program.folder() / "policy.json").string()});
    EXPECT_EQ(program.run(arguments).exit_code, 0);

    program.write(program.folder() / "delete.json", R"({"version": "1.0", "goal": "Delete",
        "riskLevel": "writes", "steps": [{"id": "d", "tool": "vault.delete", "args": {"path": "a.txt"}}]})");
    const std::vector<std::string> remove{"plan",
                                          "run",
                                          (program.folder() / "delete.json").string(),
                                          "--vault",
                                          program.repo().string(),
                                          "--json"};
    ASSERT_EQ(set("plan.policy.confirmations_required", "false"), 0);
    EXPECT_EQ(program.run(remove).exit_code, 3) << "deleting is off by default";
    ASSERT_EQ(set("plan.allow_delete", "true"), 0);
    EXPECT_EQ(program.run(remove).exit_code, 0) << "and nobody has to approve";
    EXPECT_TRUE(std::filesystem::exists(program.repo() / ".trash" / "a.txt"));
    EXPECT_EQ(program.run({"plan", "revert", "last", "--yes"}).exit_code, 0);
    EXPECT_TRUE(std::filesystem::exists(program.repo() / "a.txt"));
}

// Whichever of the calls side by side made a folder, it goes with what the others put into it.
TEST_F(PlanE2e, ParallelChangesAreUndoneWithoutATrace) {
    std::string list;
    for (int i = 0; i < 40; ++i) list += fmt::format("- notes/of-{}/n{}.md\n", i % 3, i);
    plan({json::object{{"id", "names"},
                       {"tool", "util.parseMarkdownBullets"},
                       {"args", {{"markdown", list}}}},
          json::object{{"id", "make"},
                       {"tool", "vault.createFile"},
                       {"foreach",
                        {{"from", "$steps.names.items"}, {"itemName", "name"}, {"concurrency", 4}}},
                       {"args", {{"path", "{name.text}"}, {"content", "x"}}}}});
    ASSERT_EQ(program.run(run_arguments()).exit_code, 0);
    EXPECT_TRUE(std::filesystem::exists(program.repo() / "notes/of-2/n38.md"));
    const auto reverted = program.run({"plan", "revert", "last", "--yes"});
    EXPECT_EQ(reverted.exit_code, 0) << reverted.out;
    EXPECT_FALSE(std::filesystem::exists(program.repo() / "notes"));
}

TEST_F(PlanE2e, ToolsAreListedWithTheirSchemas) {
    const auto tools = program.json_of({"tools"});
    std::set<std::string> names;
    for (const auto& tool : tools.get_array()) {
        names.insert(base::string_at(tool, "name"));
        EXPECT_TRUE(tool.at("inputSchema").is_object());
        EXPECT_FALSE(base::string_at(tool, "riskLevel").empty());
    }
    EXPECT_TRUE(names.contains("ExecCommand"));
    EXPECT_EQ(program.json_of({"tools", "ExecCommand"}).get_array().size(), 1u);
    EXPECT_EQ(program.run({"tools", "ExecComand"}).exit_code, 1);
}

}  // namespace
}  // namespace e2e
