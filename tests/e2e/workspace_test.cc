// An agent that chooses where it works, through the built program and a real git.
#include <csignal>
#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "exec/sandbox/machine.h"
#include "tests/e2e/program.h"
#include "tests/support/skip.h"

namespace e2e {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// A second project, next to the one the program is started in: a git repository with one commit.
class Workspaces : public testing::Test {
protected:
    explicit Workspaces(const fs::path& below = fs::temp_directory_path()) : program(below) {
        fs::create_directories(program.home());
        fs::create_directories(project() / "src");
        program.write(project() / "src/a.txt", "one\n");
        program.write(project() / "AGENTS.md", "Guidance of the project.\n");
        git(project(), "init -q -b main");
        git(project(), "add -A");
        git(project(), "-c user.name=n -c user.email=e@x commit -q -m first");
        for (const char* name : {"GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"})
            program.environment[name] = "agent";
        for (const char* name : {"GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"})
            program.environment[name] = "agent@example.com";
    }

    fs::path project() const { return fs::canonical(program.folder()) / "project"; }
    fs::path worktree(const std::string& label) const {
        return fs::canonical(program.folder()) / ".holon-worktrees-project" / label;
    }

    // What git prints; the test fails unless it exits with 0.
    std::string git(const fs::path& folder, const std::string& words) {
        const auto done =
            program
                .start_command(
                    {"/bin/sh", "-c", fmt::format("cd '{}' && git {}", folder.string(), words)})
                .wait();
        EXPECT_EQ(done.exit_code, 0) << words << "\n" << done.err;
        return std::string(base::trim(done.out));
    }

    json::value run(json::array rounds, bool create = false) {
        rounds.push_back(says("Done."));
        program.script(std::move(rounds));
        std::vector<std::string> words{"run", "--json", "--agent", "k"};
        if (create) words.emplace_back("--create-agent");
        words.emplace_back("go on");
        return program.json_of(words);
    }
    json::value state() { return program.json_of({"status", "--agent", "k", "--json"}); }
    json::value snapshot() { return state().at("execution"); }
    // The results of the last run's calls, as the model read them.
    std::vector<std::string> receipts() {
        std::vector<std::string> texts;
        const auto list =
            of_kind(program.json_of({"transcript", "--agent", "k", "--json"}), "tool_results");
        for (const auto& entry : list)
            for (const auto& result : entry.at("data").at("results").as_array())
                texts.push_back(base::string_at(result, "content"));
        return texts;
    }
    static json::object use(json::object input) { return calls("UseWorkspace", std::move(input)); }
    json::object isolated(const std::string& label) {
        return use(
            {{"path", project().string()}, {"mode", "isolated"}, {"isolation_label", label}});
    }

    Program program;
};

// contract: WT-08, WT-09, WT-12, EXEC-07
TEST_F(Workspaces, ChosenByPathIsWhereTheNextCallsOfTheSameTurnAct) {
    const std::string patch = "--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+noted\n";
    run({use({{"path", "../project/src"}}), runs("pwd > here.txt; cat a.txt"),
         calls("ApplyPatch", {{"patch", patch}})},
        true);
    EXPECT_EQ(program.read(project() / "src/here.txt"), (project() / "src").string() + "\n");
    EXPECT_EQ(program.read(project() / "src/new.txt"), "noted\n");
    EXPECT_THAT(receipts()[1], HasSubstr("one"));
    const auto place = snapshot();
    const std::string id = base::string_at(place, "workspace_id");
    EXPECT_TRUE(id.starts_with("ws-"));
    EXPECT_EQ(base::string_at(place, "workspace_anchor"), project().string());
    EXPECT_EQ(base::string_at(place, "execution_root"), project().string());
    EXPECT_EQ(base::string_at(place, "execution_root_id"), "canonical_root:" + id);
    EXPECT_EQ(base::string_at(place, "projection_kind"), "canonical_root");
    EXPECT_EQ(base::string_at(place, "cwd"), (project() / "src").string());
    EXPECT_THAT(base::json_text(state().at("agent").at("attached_workspaces")), HasSubstr(id));
    // Another working directory, another turn: the project is the same.
    run({use({{"workspace_id", id}}), runs("pwd")});
    EXPECT_EQ(base::string_at(snapshot(), "cwd"), project().string());
    EXPECT_EQ(base::string_at(snapshot(), "workspace_anchor"), project().string());
    EXPECT_THAT(program.run({"debug", "prompt", "--agent", "k", "x"}).out,
                HasSubstr("Guidance of the project."));
}

TEST_F(Workspaces, AreNotForPlansToChoose) {
    const auto file = program.folder() / "plan.json";
    program.write(file, R"({"version": "1.0", "goal": "Move", "riskLevel": "writes", "steps": [
        {"id": "a", "tool": "UseWorkspace", "args": {"workspace_id": "agent_home"}}]})");
    const auto checked = program.run({"plan", "check", file.string()});
    EXPECT_NE(checked.exit_code, 0);
    EXPECT_THAT(checked.out + checked.err,
                HasSubstr("UseWorkspace works only in the turn of an agent"));
}

// contract: EXEC-01, WT-10
TEST_F(Workspaces, HaveASnapshotOfTheSameKeysWhicheverTheProjection) {
    run({use({{"path", project().string()}})}, true);
    auto direct = keys_of(snapshot());
    EXPECT_EQ(base::string_at(snapshot(), "projection_kind"), "canonical_root");
    run({isolated("try")});
    auto apart = keys_of(snapshot());
    EXPECT_EQ(base::string_at(snapshot(), "projection_kind"), "git_worktree_root");
    EXPECT_EQ(direct,
              (std::vector<std::string>{"access_mode", "attached_workspaces", "cwd",
                                        "execution_root", "execution_root_id", "policy", "profile",
                                        "projection_kind", "workspace_anchor", "workspace_id"}));
    direct.emplace_back("worktree_root");
    EXPECT_EQ(apart, direct);
    EXPECT_EQ(snapshot().at("profile").at("supports_managed_worktrees"), true);
}

// contract: API-06, EXEC-10, IDENT-16, INSTR-08, WT-01, WT-03, WT-04, WT-05, WT-06, WT-13, WT-19,
// contract: WT-23
TEST_F(Workspaces, InIsolationLeaveTheProjectAloneAndOutliveTheProgram) {
    const std::string head = git(project(), "rev-parse main");
    run({use({{"path", project().string()}})}, true);
    const auto before = snapshot();
    run({isolated("try it/../out"),
         runs("echo two >> src/a.txt && git commit -qam second && pwd")});
    const auto path = worktree("try-it-.-out");
    EXPECT_EQ(program.read(path / "src/a.txt"), "one\ntwo\n");
    EXPECT_EQ(git(project(), "status --porcelain"), "");
    EXPECT_EQ(git(project(), "rev-parse main"), head);
    EXPECT_EQ(git(path, "log --format=%s"), "second\nfirst");
    EXPECT_EQ(git(path, "branch --show-current"), "try-it-.-out");
    EXPECT_THAT(git(project(), "worktree list"), HasSubstr(path.string()));

    auto after = snapshot();
    for (const char* same : {"workspace_id", "workspace_anchor"})
        EXPECT_EQ(after.at(same), before.at(same));
    EXPECT_EQ(base::string_at(after, "execution_root"), path.string());
    EXPECT_EQ(base::string_at(after, "projection_kind"), "git_worktree_root");
    EXPECT_EQ(base::string_at(after, "access_mode"), "exclusive_write");
    EXPECT_EQ(state().at("agent").at("worktree_session"),
              (json::value{{"original_cwd", project().string()},
                           {"original_branch", "main"},
                           {"worktree_path", path.string()},
                           {"worktree_branch", "try-it-.-out"}}));
    const auto listed = program.json_of({"agents"}).as_array().at(0).at("active_workspace_entry");
    EXPECT_EQ(base::string_at(listed, "execution_root"), path.string());
    for (const auto& member : listed.as_object())
        EXPECT_THAT(std::string(member.key()),
                    Not(testing::AnyOf(HasSubstr("worktree"), HasSubstr("branch"))));
    // Each command above was a process of its own; so is this one.
    run({runs("pwd")});
    EXPECT_THAT(receipts().back(), HasSubstr(path.string()));

    const auto attached = snapshot().at("attached_workspaces");  // With what the host knows.
    run({use({{"workspace_id", "agent_home"}}), runs("pwd")});
    EXPECT_TRUE(state().at("agent").at("worktree_session").is_null());
    EXPECT_EQ(snapshot().at("attached_workspaces"), attached);
    EXPECT_EQ(program.read(path / "src/a.txt"), "one\ntwo\n");
    EXPECT_EQ(program.events("k", "worktree_exited").back().at("data").at("removed"), false);
    EXPECT_THAT(git(project(), "branch --list"), HasSubstr("try-it-.-out"));
    // The same label leads back, with all that was done.
    run({isolated("try it/../out"), runs("cat src/a.txt")});
    EXPECT_THAT(receipts().back(), HasSubstr("two"));
}

// The worktree comes from the project that is named, not from where the agent happens to be.
// contract: STATE-14, STATE-15, STATE-16
TEST_F(Workspaces, InIsolationKeepTheirProjectAndShowWhereTheyReallyWork) {
    run({use({{"path", project().string()}})}, true);
    const auto before = state();
    run({isolated("try"), runs("pwd")});
    const auto after = state();
    const auto& then = before.at("agent");
    const auto& now = after.at("agent");
    EXPECT_EQ(now.at("active_workspace_id"), then.at("active_workspace_id"));
    EXPECT_EQ(after.at("execution").at("workspace_anchor"),
              before.at("execution").at("workspace_anchor"));
    EXPECT_NE(after.at("execution").at("execution_root"),
              before.at("execution").at("execution_root"));
    EXPECT_EQ(base::string_at(now.at("active_workspace_entry"), "execution_root"),
              worktree("try").string());
    EXPECT_TRUE(then.at("worktree_session").is_null());
    EXPECT_EQ(base::string_at(now.at("worktree_session"), "worktree_path"),
              worktree("try").string());
    EXPECT_THAT(receipts().back(), HasSubstr("\n" + base::string_at(now, "cwd")));
}

TEST_F(Workspaces, AreIsolatedFromTheRepositoryThatIsNamed) {
    git(program.repo(), "init -q -b trunk");
    run({use({{"path", project().string()}, {"mode", "isolated"}, {"cwd", "src"}}), runs("pwd")},
        true);
    EXPECT_EQ(base::string_at(snapshot(), "cwd"), (worktree("workspace") / "src").string());
    EXPECT_EQ(base::string_at(state().at("agent").at("worktree_session"), "original_branch"),
              "main");
}

// contract: WT-07
TEST_F(Workspaces, AreNamedInExactlyOneWay) {
    run({use({}), use({{"path", "."}, {"workspace_id", "agent_home"}}), use({{"path", "no/such"}}),
         use({{"path", project().string() + "/src/a.txt"}}), use({{"workspace_id", "ws-nobody"}}),
         use({{"workspace_id", "agent_home"}, {"mode", "isolated"}}),
         use({{"path", project().string()}, {"cwd", "../.."}}),
         use({{"path", program.home().string()}}), use({{"path", "/"}})},
        true);
    const auto said = receipts();
    ASSERT_EQ(said.size(), 9U);
    for (const auto& text : said) EXPECT_THAT(text, HasSubstr("invalid_tool_input"));
    EXPECT_EQ(base::string_at(snapshot(), "cwd"), fs::canonical(program.repo()).string());
    EXPECT_TRUE(program.events("k", "workspace_used").empty());
}

// contract: WT-14, WT-15, WT-16
TEST_F(Workspaces, KeepTheirProjectInAWorktreeMadeByHand) {
    const fs::path other = fs::canonical(program.folder()) / "by-hand";
    git(project(), fmt::format("worktree add -q -b hand {}", other.string()));
    run({use({{"path", project().string()}})}, true);
    const auto before = snapshot();
    run({use({{"path", (other / "src").string()}}), runs("pwd")});
    const auto after = snapshot();
    EXPECT_EQ(after.at("workspace_id"), before.at("workspace_id"));
    EXPECT_EQ(after.at("workspace_anchor"), before.at("workspace_anchor"));
    EXPECT_EQ(base::string_at(after, "execution_root"), other.string());
    EXPECT_EQ(base::string_at(after, "cwd"), (other / "src").string());
    EXPECT_THAT(receipts()[1], HasSubstr(fmt::format("mode \"isolated\" with workspace_id \"{}\"",
                                                     base::string_at(before, "workspace_id"))));
    const auto entered = program.events("k", "workspace_entered").back().at("data");
    EXPECT_EQ(base::string_at(entered, "ownership"), "external");
    EXPECT_TRUE(state().at("agent").at("worktree_session").is_null());
}

TEST_F(Workspaces, SayWhatToDoWhenTheirNameIsTaken) {
    git(project(), "branch taken");
    fs::create_directories(worktree("folder"));
    git(project(), fmt::format("worktree add -q -b hand {}", worktree("hand").string()));
    run({isolated("taken"), isolated("folder"), isolated("hand"), isolated("main")}, true);
    const auto said = receipts();
    EXPECT_THAT(said[0], HasSubstr("branch -d taken"));
    EXPECT_THAT(said[1], HasSubstr("worktree remove --force --force"));
    EXPECT_THAT(said[2], HasSubstr("the runtime did not make it"));
    EXPECT_THAT(said[3], HasSubstr("The branch main is there already"));
    for (const auto& text : said) EXPECT_THAT(text, HasSubstr("another isolation_label"));
    EXPECT_FALSE(fs::exists(worktree("taken")));

    run({isolated("mine")});
    program.script({isolated("mine"), says("Done.")});
    program.json_of({"run", "--json", "--agent", "other", "--create-agent", "go on"});
    const auto list =
        of_kind(program.json_of({"transcript", "--agent", "other", "--json"}), "tool_results");
    EXPECT_THAT(base::json_text(list.front()), HasSubstr("is of agent k"));
}

TEST_F(Workspaces, RunNothingOfTheRepositoryWhileTheyAreMade) {
    program.write(project() / ".git/hooks/post-checkout", "#!/bin/sh\ntouch \"$HOME/hooked\"\n");
    fs::permissions(project() / ".git/hooks/post-checkout", fs::perms::owner_all);
    run({isolated("quiet"), runs("git log -1 --format=%s")}, true);
    EXPECT_THAT(receipts()[1], HasSubstr("first"));
    EXPECT_FALSE(fs::exists(program.folder() / "hooked"));
    EXPECT_FALSE(fs::exists(program.home() / "hooked"));
}

// contract: WT-22
TEST_F(Workspaces, ThatAreGoneSendTheAgentHomeWithANote) {
    run({isolated("gone")}, true);
    fs::remove_all(worktree("gone"));
    run({runs("pwd")});
    const auto place = snapshot();
    EXPECT_EQ(base::string_at(place, "workspace_id"), "agent_home:k");
    EXPECT_THAT(receipts().back(), HasSubstr(program.agent_home("k").filename().string()));
    EXPECT_TRUE(state().at("agent").at("worktree_session").is_null());
    const auto cleared = program.events("k", "recovery_cleared_missing_worktree_session");
    ASSERT_EQ(cleared.size(), 1U);
    EXPECT_EQ(base::string_at(cleared[0].at("data"), "worktree_path"), worktree("gone").string());
}

// contract: WT-09, EXEC-16
TEST_F(Workspaces, AreRefusedByThePolicyAndNothingChanges) {
    program.write(
        program.home() / "config.json",
        base::json_text(json::object{
            {"execution", {{"allow_new_workspaces", false}, {"allow_worktrees", false}}}}));
    run({use({{"path", project().string()}}), isolated("no")}, true);
    EXPECT_THAT(receipts()[0], HasSubstr("policy_denied"));
    EXPECT_THAT(receipts()[0], HasSubstr("holon workspace attach"));
    EXPECT_THAT(receipts()[1], HasSubstr("execution.allow_worktrees"));
    EXPECT_EQ(base::string_at(snapshot(), "cwd"), fs::canonical(program.repo()).string());
    EXPECT_EQ(snapshot().at("profile").at("supports_managed_worktrees"), false);
    EXPECT_FALSE(fs::exists(worktree("no")));
    EXPECT_EQ(state().at("agent").at("attached_workspaces").as_array().size(), 1U);
}

// A `git` that stops at `worktree add`: before the real one, or after it.
class Killed : public Workspaces, public testing::WithParamInterface<const char*> {
protected:
    // The program is killed there, and a new one resumes.
    Finished kill_and_resume(const std::string& at) {
        Signpost reached(program.folder() / "reached");
        const std::string real = std::getenv("PATH");
        program.write(
            program.folder() / "bin/git",
            fmt::format(
                "#!/bin/sh\nPATH='{0}'\nadds() {{ for w in \"$@\"; do [ \"$w\" = worktree ] && "
                "return 0; done; return 1; }}\n"
                "stop() {{ echo here > '{1}'; exec sleep 600; }}\n"
                "if adds \"$@\"; then\n"
                "  [ {2} = before ] && stop\n"
                "  [ {2} = branch ] && git branch mine && stop\n"
                "  git \"$@\" || exit 1\n"
                "  stop\n"
                "fi\nexec git \"$@\"\n",
                real, reached.path().string(), at));
        fs::permissions(program.folder() / "bin/git", fs::perms::owner_all);
        program.environment["PATH"] = (program.folder() / "bin").string() + ":" + real;
        program.script({isolated("mine"), runs("pwd; git branch --show-current"), says("Done.")});
        auto running = program.start({"run", "--agent", "k", "--create-agent", "go on"});
        EXPECT_EQ(reached.wait(), "here");
        running.send(SIGKILL);
        running.wait();
        program.environment["PATH"] = real;
        return program.run({"run", "--resume", "--agent", "k"});
    }
};

TEST_P(Killed, ResumeTheSameCallAndMakeNothingTwice) {
    fs::create_directories(program.folder() / "bin");
    const auto finished = kill_and_resume(GetParam());
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
    const auto said = receipts();
    ASSERT_EQ(said.size(), 2U);
    EXPECT_THAT(said[0], HasSubstr("Now working in " + worktree("mine").string()));
    EXPECT_THAT(said[1], HasSubstr(worktree("mine").string() + "\nmine"));
    EXPECT_EQ(base::string_at(snapshot(), "execution_root"), worktree("mine").string());
    EXPECT_EQ(base::string_at(state().at("agent").at("worktree_session"), "worktree_branch"),
              "mine");
    EXPECT_EQ(git(project(), "branch --list mine --format='%(refname:short)'"), "mine");
    EXPECT_EQ(program.events("k", "worktree_entered").size(), 1U);
}
INSTANTIATE_TEST_SUITE_P(Git, Killed, testing::Values("before", "branch", "after"));

// The confined backend: what is written in a worktree, and what of its repository.
class ConfinedWorkspaces : public Workspaces {
protected:
    static fs::path worlds() {
        fs::create_directories(HOLON_E2E_FOLDER);
        return HOLON_E2E_FOLDER;
    }
    ConfinedWorkspaces() : Workspaces(worlds()) {
        program.write(program.home() / "config.json",
                      base::json_text(json::object{{"sandbox", {{"backend", "bubblewrap"}}}}));
    }
    void SetUp() override {
        const auto lacks = sandbox::missing(sandbox::probe());
        if (!lacks.empty())
            HOLON_SKIP(fmt::format("this machine cannot confine: {}", fmt::join(lacks, "; ")));
    }
};

TEST_F(ConfinedWorkspaces, CommitInAWorktreeAndChangeNothingThatGitObeys) {
    program.started_in = project();
    const std::string config = program.read(project() / ".git/config");
    const std::string own = (project() / ".git/worktrees/try").string();
    run({isolated("try"),
         runs("echo two >> src/a.txt && git add -A && git commit -qm second && git status "
              "--porcelain && git log --format=%s"),
         runs(fmt::format(
             "cd {0}; echo x > src/a.txt; echo x >> .git/config; echo x > .git/hooks/pre-commit; "
             "git config --global user.x y; git config user.x y; echo x > {1}/commondir; "
             "rm -f {1}/gitdir; mv {1} {1}-away; true",
             project().string(), own)),
         runs("echo 'gitdir: /nowhere' > .git; rm -f .git; mv .git away; git log -1 --format=%s")},
        true);
    const auto said = receipts();
    EXPECT_THAT(said[1], HasSubstr("second\nfirst"));
    EXPECT_THAT(said[3], HasSubstr("second"));
    EXPECT_EQ(git(worktree("try"), "log --format=%s"), "second\nfirst");
    EXPECT_EQ(git(project(), "log main --format=%s"), "first");
    EXPECT_EQ(program.read(project() / "src/a.txt"), "one\n");
    EXPECT_EQ(program.read(project() / ".git/config"), config);
    EXPECT_FALSE(fs::exists(project() / ".git/hooks/pre-commit"));
    EXPECT_EQ(git(worktree("try"), "status --porcelain"), "");
}

// The execution root is what is writable: a model that could choose any would not be confined.
TEST_F(ConfinedWorkspaces, TakeNoFolderThatTheOperatorHasNotAttached) {
    run({use({{"path", project().string()}}), use({{"path", program.folder().string()}}),
         runs(fmt::format("echo x > {}/src/a.txt", project().string()))},
        true);
    for (const int refused : {0, 1}) EXPECT_THAT(receipts()[refused], HasSubstr("policy_denied"));
    EXPECT_EQ(program.read(project() / "src/a.txt"), "one\n");
    EXPECT_EQ(base::string_at(snapshot(), "cwd"), fs::canonical(program.repo()).string());
}

}  // namespace
}  // namespace e2e
