#include <cstdlib>

#include "agent/workspace/workspace.h"
#include "exec/tools/builtin/fixture_for_test.h"
#include "exec/tools/builtin/worktrees/git.h"

namespace builtin {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

class UseWorkspaceTest : public BuiltinTest {
protected:
    UseWorkspaceTest() {
        ::unsetenv("GIT_DIR");
        fs::create_directories(folder_.at("home"));
        sh("git init -q -b main && git add -A && "
           "git -c user.name=n -c user.email=e@x commit -q -m first");
        save({.agent_id = {"default"}});
    }
    void sh(const std::string& line) { EXPECT_EQ(exec(line).result.ok, true) << line; }
    fs::path repo() const { return fs::canonical(folder_.at("repo")); }
    fs::path worktree(const char* label) const {
        return repo().parent_path() / ".holon-worktrees-repo" / label;
    }
    static const domain::WorkspaceEntry& entered(const tools::Dispatched& end) {
        EXPECT_EQ(end.mutations.size(), 1U) << end.receipt;
        return end.mutations.at(0).as<tools::WorkspaceUse>()->entry;
    }
    json::object isolated(const char* label) const {
        return {{"path", "."}, {"mode", "isolated"}, {"isolation_label", label}};
    }
};

// contract: RCPT-05
TEST_F(UseWorkspaceTest, AsksTheRuntimeToBindWhatItSays) {
    fs::create_directories(repo() / "src");
    const auto end = run("UseWorkspace", {{"path", "src"}});
    ASSERT_TRUE(end.envelope.ok()) << end.receipt;
    const auto& entry = entered(end);
    EXPECT_EQ(entry.workspace_id, workspace::workspace_id_of(repo()));
    EXPECT_EQ(entry.cwd, (repo() / "src").string());
    EXPECT_EQ(end.envelope.result(), (json::object{{"workspace_id", entry.workspace_id},
                                                   {"workspace_anchor", repo().string()},
                                                   {"execution_root", repo().string()},
                                                   {"cwd", (repo() / "src").string()},
                                                   {"mode", "direct"},
                                                   {"projection_kind", "canonical_root"}}));
    EXPECT_THAT(end.receipt, HasSubstr(entry.workspace_id));
    EXPECT_EQ(std::ranges::count(end.receipt, '\n'), 0) << end.receipt;
}

// What lies there, the operator's git executes and obeys.
TEST_F(UseWorkspaceTest, EntersNoGitFolder) {
    for (const char* path : {".git", ".git/hooks", ".git/../.git"}) {
        const auto end = run("UseWorkspace", {{"path", path}});
        ASSERT_FALSE(end.envelope.ok()) << path;
        EXPECT_THAT(end.envelope.error().message, HasSubstr("git folder")) << path;
    }
    sh("mv .git/HEAD head");  // Then it is no repository that git would find.
    EXPECT_FALSE(run("UseWorkspace", {{"path", ".git"}}).envelope.ok());
}

TEST_F(UseWorkspaceTest, EntersNoAttachedFolderThatWasReplacedByALink) {
    fs::create_directories(folder_.at("attached"));
    fs::create_directories(folder_.at("secret"));
    const auto entry = workspace::entry_of_folder(folder_.at("attached"));
    ASSERT_TRUE(store_->write(store::Durability::Process,
                              [&](store::Tx& tx) { return tx.put_workspace(entry); }));
    save({.agent_id = {"default"}, .attached_workspaces = {entry.workspace_id}});
    EXPECT_TRUE(run("UseWorkspace", {{"workspace_id", entry.workspace_id}}).envelope.ok());
    fs::remove(folder_.at("attached"));
    fs::create_directory_symlink(folder_.at("secret"), folder_.at("attached"));
    const auto end = run("UseWorkspace", {{"workspace_id", entry.workspace_id}});
    ASSERT_FALSE(end.envelope.ok());
    EXPECT_THAT(end.envelope.error().message, HasSubstr("replaced by a link"));
}

// contract: WT-11, WT-20
TEST_F(UseWorkspaceTest, SpeaksOfIsolationAndOfNothingThatTheRuntimeKeepsForItself) {
    const auto& spec = registry_.find("UseWorkspace")->spec();
    const std::string input = base::json_text(spec.input_schema);
    for (const char* word : {"occup", "access_mode", "git", "branch_name"})
        EXPECT_FALSE(input.contains(std::string("\"") + word)) << word;
    EXPECT_EQ(spec.input_schema.at("properties").at("mode").at("enum"),
              (json::array{"direct", "isolated"}));
    EXPECT_FALSE(spec.input_schema.contains("required"));
    const auto end = run("UseWorkspace", isolated("x"));
    EXPECT_FALSE(base::json_text(end.envelope.to_json()).contains("occup"));
    EXPECT_EQ(spec.risk, domain::RiskLevel::Writes);
}

TEST_F(UseWorkspaceTest, MakesAWorktreeOnRecordBeforeItIsThere) {
    const auto end = run("UseWorkspace", isolated("try"));
    ASSERT_TRUE(end.envelope.ok()) << end.receipt;
    const auto& entry = entered(end);
    EXPECT_EQ(entry.execution_root, worktree("try").string());
    EXPECT_EQ(entry.projection_metadata->git_dir, (repo() / ".git/worktrees/try").string());
    EXPECT_EQ(end.result.effects.created.at(0).path, worktree("try").string());
    ASSERT_TRUE(store_->read([&](store::Tx& tx) -> base::Status {
        const auto row = TRY(tx.worktree(worktree("try").string()));
        EXPECT_EQ(row->agent_id.value, "default");
        EXPECT_EQ(row->session, domain::worktree_session(entry));
        EXPECT_EQ(row->base_commit.size(), 40U);
        return {};
    }));
    // Made again, as after a crash, it finds what it made.
    const auto again = run("UseWorkspace", isolated("try"));
    ASSERT_TRUE(again.envelope.ok()) << again.receipt;
    EXPECT_EQ(entered(again), entry);
    EXPECT_TRUE(again.result.effects.created.empty());
    std::optional<bool> can_resume;
    dispatcher_.can_resume({.tool = "UseWorkspace"}, [&](bool answer) { can_resume = answer; });
    EXPECT_EQ(can_resume, true);
}

// contract: EXEC-16
TEST_F(UseWorkspaceTest, PassesTheOneGateForAllThatIsStarted) {
    execution_.process_execution_exposed = false;
    for (const auto& end :
         {run("UseWorkspace", isolated("no")), run("ExecCommand", {{"cmd", "true"}})}) {
        EXPECT_EQ(end.envelope.error().kind, "policy_denied");
        EXPECT_THAT(end.envelope.error().message, HasSubstr("execution.allow_processes"));
    }
    std::optional<base::Error> task;
    host_.create({.id = {"t"}, .agent_id = {"default"}}, [&](base::Result<domain::Task> made) {
        task = made.error();
        loop_.stop();
    });
    while (!task) loop_.run();
    EXPECT_THAT(task->message, HasSubstr("execution.allow_processes"));
    EXPECT_TRUE(run("UseWorkspace", {{"path", "."}}).envelope.ok());  // Starts nothing.

    execution_ = {.supports_managed_worktrees = false};
    EXPECT_THAT(run("UseWorkspace", isolated("no")).envelope.error().message,
                HasSubstr("execution.allow_worktrees"));
    EXPECT_TRUE(exec("true").envelope.ok());
    EXPECT_FALSE(fs::exists(worktree("no")));
}

TEST_F(UseWorkspaceTest, NamesWhatGitSays) {
    sh("git checkout -q --detach");
    EXPECT_THAT(run("UseWorkspace", isolated("x")).envelope.error().message,
                HasSubstr("detached HEAD"));
    sh("git checkout -q --orphan empty");
    const auto none = run("UseWorkspace", isolated("x")).envelope.error();
    EXPECT_EQ(none.kind, "tool_execution_failed");
    EXPECT_THAT(none.message, HasSubstr("no commit to start from"));
    sh("git checkout -q -f main && git branch x/y");  // So no branch can be named x.
    const auto clash = run("UseWorkspace", isolated("x")).envelope.error();
    EXPECT_THAT(clash.message, HasSubstr("git made no worktree: "));
    EXPECT_THAT(clash.message, HasSubstr("refs/heads/x/y"));
}

TEST_F(UseWorkspaceTest, ACommandSaysSoWhenItsRootIsGone) {
    place_.workspace.execution_root = place_.workspace.cwd = folder_.at("gone");
    const auto end = exec("true");
    EXPECT_THAT(end.envelope.error().message, HasSubstr("is gone"));
    EXPECT_THAT(*end.envelope.error().recovery_hint, HasSubstr("UseWorkspace"));
    EXPECT_TRUE(run("UseWorkspace", {{"workspace_id", "agent_home"}}).envelope.ok());
}

TEST(Git, IsAskedWithoutAShellAndWithNothingOfTheRepositorysRun) {
    const auto spec =
        git_command("/p", {"worktree", "add"},
                    {{"PATH", "/bin"}, {"GIT_DIR", "/elsewhere"}, {"A_TOKEN", "x"}}, kGitLookMax);
    EXPECT_EQ(spec.argv.front(), "git");
    EXPECT_THAT(spec.argv, testing::Contains("core.hooksPath=/dev/null"));
    EXPECT_THAT(spec.argv, testing::Contains("protocol.allow=never"));
    EXPECT_EQ(spec.argv.back(), "add");
    EXPECT_EQ(spec.cwd, "/p");
    EXPECT_EQ(spec.timeout, kGitLookMax);
    EXPECT_THAT(spec.environment, ElementsAre(std::pair("PATH", "/bin"), std::pair("LC_ALL", "C"),
                                              std::pair("GIT_TERMINAL_PROMPT", "0")));
}

}  // namespace
}  // namespace builtin
