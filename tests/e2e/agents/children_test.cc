// Agents that delegate, through the built program: in one process, in a daemon, in worktrees and
// across kill -9.
#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "exec/sandbox/machine.h"
#include "tests/e2e/daemon/daemon_world.h"
#include "tests/support/skip.h"

namespace e2e {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

json::object delegates(std::string_view message, std::string_view mode = "inherit") {
    return calls("SpawnAgent", {{"initial_message", message}, {"workspace_mode", mode}});
}
using Scenes = std::vector<std::pair<std::string, json::array>>;

class ChildAgents : public testing::Test {
protected:
    ChildAgents() {
        for (const char* name : {"GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"})
            program.environment[name] = "agent";
        for (const char* name : {"GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"})
            program.environment[name] = "agent@example.com";
        program.write(program.repo() / "a.txt", "one\n");
        git("init -q -b main");
        git("add -A");
        git("commit -q -m first");
    }
    std::string git(const std::string& words) {
        const auto done =
            program
                .start_command({"/bin/sh", "-c",
                                fmt::format("cd '{}' && git {}", program.repo().string(), words)})
                .wait();
        EXPECT_EQ(done.exit_code, 0) << words << "\n" << done.err;
        return std::string(base::trim(done.out));
    }
    json::value run(std::vector<std::string> more = {"go"}) {
        std::vector<std::string> words{"run",
                                       "--json",
                                       "--agent",
                                       "k",
                                       "--create-agent",
                                       "--workspace-root",
                                       program.repo().string()};
        words.insert(words.end(), more.begin(), more.end());
        return program.json_of(words);
    }
    std::vector<json::value> ends() { return program.events("k", "task_result_received"); }
    static json::value worktree_of(const json::value& event) {
        return event.at("data").at("detail").at("worktree");
    }

    DaemonWorld program;
};

// contract: IDENT-29
TEST_F(ChildAgents, ARunWaitsForTheChildAndPassesItsReportOn) {
    program.script({delegates("Count the files"), says("Delegated.")},
                   {{"Background task", json::array{says("The child found one.")}},
                    {"Count the files", json::array{runs("ls | wc -l"), says("One file.")}}});
    const auto response = run();
    EXPECT_EQ(base::string_at(response, "final_text"), "The child found one.");
    ASSERT_THAT(ends(), SizeIs(1));
    const auto task = ends()[0].at("data");
    EXPECT_EQ(base::string_at(task, "kind"), "child_agent_task");
    EXPECT_EQ(base::string_at(task, "status"), "completed");
    EXPECT_EQ(base::string_at(task.at("detail"), "output_summary"), "One file.");
    EXPECT_THAT(program.json_of({"agents"}).as_array(), SizeIs(1));
}

// contract: WT-02, WT-30, WT-31, WT-32, WT-33, WT-34, WT-35, WT-36, WT-37, WT-38, WT-39, EXEC-18
// contract: CMD-31, CMD-43, CMD-45
TEST_F(ChildAgents, EachWorktreeChildHasACopyAndWhatItMadeIsKept) {
    program.script(
        {delegates("Edit it", "worktree"), delegates("Commit it", "worktree"),
         delegates("Leave it", "worktree"), delegates("Switch it", "worktree"), says("Delegated.")},
        {{"Background task", json::array{says("Noted.")}},
         {"Edit it",
          json::array{runs("pwd; echo two > new.txt; echo x >> a.txt"), says("Edited.")}},
         {"Commit it", json::array{runs("echo c > c.txt && git add -A && git commit -q -m work"),
                                   says("Committed.")}},
         {"Leave it", json::array{runs("cat a.txt"), says("Nothing to do.")}},
         {"Switch it", json::array{runs("git checkout -q -b other"), says("Switched.")}}});
    run();
    ASSERT_THAT(ends(), SizeIs(4));
    std::map<std::string, json::value> by_label;
    std::set<std::string> paths, branches;
    for (const auto& end : ends()) {
        by_label[base::string_at(end.at("data"), "summary")] = worktree_of(end);
        EXPECT_EQ(base::string_at(end.at("data").at("detail"), "workspace_mode"), "worktree");
        paths.insert(base::string_at(worktree_of(end), "worktree_path"));
        branches.insert(base::string_at(worktree_of(end), "worktree_branch"));
    }
    EXPECT_THAT(paths, SizeIs(4));
    EXPECT_THAT(branches, SizeIs(4));
    const auto& edited = by_label.at("Edit it");
    EXPECT_EQ(base::string_at(edited, "cleanup_status"), "retained");
    EXPECT_EQ(edited.at("changed_files"), json::value(json::array{"a.txt", "new.txt"}));
    EXPECT_EQ(program.read(fs::path(base::string_at(edited, "worktree_path")) / "new.txt"),
              "two\n");
    const auto& committed = by_label.at("Commit it");
    EXPECT_EQ(base::string_at(committed, "cleanup_reason"), "committed_work");
    EXPECT_EQ(committed.at("changed_files"), json::value(json::array{"c.txt"}));
    EXPECT_EQ(git("show " + base::string_at(committed, "worktree_branch") + ":c.txt"), "c");
    const auto& left = by_label.at("Leave it");
    EXPECT_EQ(base::string_at(left, "cleanup_status"), "cleaned");
    EXPECT_FALSE(fs::exists(base::string_at(left, "worktree_path")));
    EXPECT_EQ(base::string_at(by_label.at("Switch it"), "cleanup_reason"), "branch_mismatch");
    const auto list = git("worktree list --porcelain") + git("branch");
    EXPECT_THAT(list, Not(HasSubstr(base::string_at(left, "worktree_branch"))));
    for (const auto* kept : {&edited, &committed})
        EXPECT_THAT(list, HasSubstr(base::string_at(*kept, "worktree_branch")));
    EXPECT_EQ(git("status --porcelain"), "");
    EXPECT_EQ(git("branch --show-current"), "main");
    EXPECT_THAT(program.events("k", "worktree_retained_for_review"), SizeIs(2));
    EXPECT_THAT(program.events("k", "task_worktree_cleanup_retained"), SizeIs(1));
    EXPECT_THAT(program.events("k", "worktree_auto_cleaned_up"), SizeIs(1));
    EXPECT_THAT(program.json_of({"agents"}).as_array(), SizeIs(1));
}

// contract: IDENT-48, CMD-44
TEST_F(ChildAgents, ChildrenSurviveKillNineAndReportOnce) {
    Signpost ready(program.folder() / "ready"), go(program.folder() / "go");
    program.script(
        {delegates("Slow work", "worktree"), delegates("Quick work"), says("Delegated.")},
        {{"Background task", json::array{says("Noted.")}},
         {"Slow work",
          json::array{runs(fmt::format("echo run >> {0}/runs; echo x > {1}; read line < {2}; echo "
                                       "$line > got.txt",
                                       program.folder().string(), ready.path().string(),
                                       go.path().string())),
                      says("Slow work is done.")}},
         {"Quick work", json::array{says("Quick work is done.")}}});
    auto running = program.start({"run", "--json", "--agent", "k", "--create-agent",
                                  "--workspace-root", program.repo().string(), "go"});
    ready.wait();
    running.send(SIGKILL);
    running.wait();
    auto next = program.start({"run", "--json", "--agent", "k", "--resume"});
    go.send("late");
    const auto finished = next.wait();
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
    ASSERT_THAT(ends(), SizeIs(2));
    EXPECT_EQ(program.read(program.folder() / "runs"), "run\n");
    std::vector<std::string> reports;
    for (const auto& end : ends())
        reports.push_back(base::string_at(end.at("data").at("detail"), "output_summary"));
    EXPECT_THAT(reports,
                testing::UnorderedElementsAre("Slow work is done.", "Quick work is done."));
}

// The folder of a child is there, its record is not: the next process gives it to that child.
TEST_F(ChildAgents, AWorktreeMadeJustBeforeKillNineIsMadeOnce) {
    Signpost made(program.folder() / "made"), never(program.folder() / "never");
    const auto folder = program.folder() / "slow";
    fs::create_directory(folder);
    program.write(folder / "git", fmt::format("#!/bin/sh\n"
                                              "/usr/bin/git \"$@\"; code=$?\n"
                                              "case \" $* \" in *' worktree add '*)\n"
                                              "echo x > {}; read line < {};; esac\n"
                                              "exit $code\n",
                                              made.path().string(), never.path().string()));
    fs::permissions(folder / "git", fs::perms::owner_all);
    program.script({delegates("Slow work", "worktree"), says("Delegated.")},
                   {{"Background task", json::array{says("Noted.")}},
                    {"Slow work", json::array{runs("echo x > got.txt"), says("It is done.")}}});
    const auto path = program.environment["PATH"];
    program.environment["PATH"] = folder.string() + ":" + path;
    auto running = program.start({"run", "--json", "--agent", "k", "--create-agent",
                                  "--workspace-root", program.repo().string(), "go"});
    made.wait();
    running.send(SIGKILL);
    running.wait();
    program.environment["PATH"] = path;
    const auto finished = program.start({"run", "--json", "--agent", "k", "--resume"}).wait();
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
    ASSERT_THAT(ends(), SizeIs(1));
    EXPECT_EQ(base::string_at(ends()[0].at("data").at("detail"), "output_summary"), "It is done.");
    const auto worktree = worktree_of(ends()[0]);
    EXPECT_EQ(base::string_at(worktree, "cleanup_status"), "retained");
    EXPECT_EQ(program.read(fs::path(base::string_at(worktree, "worktree_path")) / "got.txt"),
              "x\n");
    // The repository itself, and the one of the child.
    EXPECT_THAT(base::split_lines(git("worktree list")), SizeIs(2));
    EXPECT_THAT(base::split_lines(git("branch")), SizeIs(2));
}

// Delegating gains nothing: the settings of the agent at the top hold for its children, and it
// directs no named agent that has others.
TEST_F(ChildAgents, AChildIsConfinedLikeItsParentAndCannotLeaveThat) {
    if (const auto lacks = sandbox::missing(sandbox::probe()); !lacks.empty())
        HOLON_SKIP(fmt::format("this machine cannot confine: {}", fmt::join(lacks, "; ")));
    std::filesystem::create_directory(program.home());
    program.write(program.home() / "config.json",
                  R"({"sandbox": {"backend": "host_local"},
                      "agents": {"k": {"sandbox": {"backend": "bubblewrap"}}}})");
    const auto named = calls(
        "SpawnAgent",
        {{"preset", "public_named"}, {"agent_id", "free"}, {"initial_message", "touch owned"}});
    program.script({delegates("Show it"), named, says("Delegated.")},
                   {{"Background task", json::array{says("Noted.")}},
                    {"Show it", json::array{runs("echo [$HOLON_SANDBOX] > seen.txt"), named,
                                            says("Shown.")}}});
    run();
    ASSERT_THAT(ends(), SizeIs(1));
    const auto refused = program.events("k", "tool_execution_failed");
    ASSERT_THAT(refused, SizeIs(1));
    EXPECT_THAT(base::json_text(refused[0]), HasSubstr("works under other settings"));
    EXPECT_EQ(program.read(program.repo() / "seen.txt"), "[confined]\n");
    // Neither call has made the named agent.
    EXPECT_THAT(program.json_of({"agents"}).as_array(), SizeIs(1));
}

TEST_F(ChildAgents, ATemplateMakesTheHomeOfAChildAndAnUnknownOneMakesNothing) {
    const auto from = [](std::string_view name) {
        return calls(
            "SpawnAgent",
            {{"initial_message", "Review it"}, {"template", name}, {"workspace_mode", "worktree"}});
    };
    const auto folder = program.folder() / ".agents/templates/reviewer";
    fs::create_directories(folder);
    program.write(folder / "AGENTS.md", "Read every line twice.\n");
    program.script({from("nobody"), from("reviewer"), says("Delegated.")},
                   {{"Background task", json::array{says("Noted.")}},
                    {"Review it", json::array{says("Reviewed.")}}});
    run();
    ASSERT_THAT(ends(), SizeIs(1));
    EXPECT_EQ(base::string_at(ends()[0].at("data"), "status"), "completed");
    const auto refused = program.events("k", "tool_execution_failed");
    ASSERT_THAT(refused, SizeIs(1));
    EXPECT_THAT(base::json_text(refused[0]), HasSubstr("nobody"));
    EXPECT_EQ(git("branch --format='%(refname:short)'"), "main") << "no copy is left of either";
    const auto child = base::string_at(ends()[0].at("data").at("detail"), "child_agent_id");
    EXPECT_EQ(program.read(program.agent_home(child) / "AGENTS.md"), "Read every line twice.\n");
    // What an ended child said and did can still be read.
    const auto said = program.run({"transcript", "--agent", child, "--plain"});
    EXPECT_EQ(said.exit_code, 0) << said.err;
    EXPECT_THAT(said.out, HasSubstr("Reviewed."));
    EXPECT_THAT(program.run({"status", "--agent", child}).err,
                HasSubstr("holon transcript --agent " + child));
}

// contract: IDENT-17, IDENT-18, IDENT-19, IDENT-20
TEST_F(ChildAgents, ADaemonKeepsChildrenOutOfPublicViewAndShowsThemInTheirParents) {
    program.script(
        {delegates("Wait here"), says("Delegated.")},
        {{"Background task", json::array{says("Noted.")}},
         {"Wait here",
          json::array{calls("Sleep", {{"reason", "a while"}, {"duration_ms", 3'000'000}})}}});
    program.daemon({"start"});
    program.json_of({"agent", "create", "k"});
    program.run({"prompt", "--agent", "k", "go"});
    json::value children = json::array();
    ASSERT_TRUE(test_support::eventually([&] {
        const auto status = program.json_of({"status", "--agent", "k", "--json"});
        children = status.at("active_children");
        return !children.as_array().empty() &&
               base::string_at(children.at(0).at("observability"), "phase") == "waiting";
    }));
    ASSERT_THAT(children.as_array(), SizeIs(1));
    const auto child = base::string_at(children.at(0).at("identity"), "agent_id");
    EXPECT_THAT(base::json_text(program.json_of({"agents"})), Not(HasSubstr(child)));
    const auto served = program.by_tcp().get("/agents/" + child + "/status");
    ASSERT_FALSE(served);
    EXPECT_EQ(served.error().kind, "agent_private");
    const auto prompt = program.run({"debug", "prompt", "--agent", child, "what"});
    EXPECT_EQ(prompt.exit_code, 0) << prompt.err;
    EXPECT_THAT(prompt.out, HasSubstr("delegated_task"));
    EXPECT_EQ(program.run({"agent", "stop", "k"}).exit_code, 0);
    ASSERT_TRUE(test_support::eventually([&] { return !ends().empty(); }));
    EXPECT_EQ(base::string_at(ends().at(0).at("data"), "status"), "cancelled");
    program.daemon({"stop"});
}

}  // namespace
}  // namespace e2e
