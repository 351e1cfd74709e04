#include "exec/sandbox/boundary.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "exec/sandbox/confine.h"

namespace sandbox {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class BoundaryTest : public testing::Test {
protected:
    BoundaryTest() {
        std::string name = (fs::temp_directory_path() / "holon-boundary-XXXXXX").string();
        top = fs::canonical(::mkdtemp(name.data()));
        for (const char* folder : {"repo", "holon/agents/me", "holon/agents/other", "holon/plans"})
            fs::create_directories(top / folder);
    }
    ~BoundaryTest() override { fs::remove_all(top); }
    Boundary boundary(Backend backend, const fs::path& program = "/nowhere/holon") const {
        return {{.backend = backend}, program, top, top / "holon"};
    }
    fs::path top;
};

TEST_F(BoundaryTest, OfNothingChangesNothing) {
    const base::ProcessSpec spec{.argv = {"true"}, .environment = {{"A_TOKEN", "x"}}};
    const auto same = boundary(Backend::HostLocal).enclose(spec, {.execution_root = top / "repo"});
    ASSERT_TRUE(same);
    EXPECT_EQ(same->argv, spec.argv);
    EXPECT_EQ(same->environment, spec.environment);
    EXPECT_TRUE(boundary(Backend::HostLocal).check());
    EXPECT_EQ(boundary(Backend::HostLocal).facts().backend, "host_local");
    EXPECT_TRUE(boundary(Backend::HostLocal).facts().limits.empty());
}

TEST_F(BoundaryTest, GivesNoCommandWhereItsHelpersAreMissing) {
    const auto behind = boundary(Backend::Bubblewrap);
    EXPECT_FALSE(behind.check());
    const auto none = behind.enclose({.argv = {"true"}}, {.execution_root = top / "repo"});
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().code, base::ErrorCode::Unavailable);
    EXPECT_THAT(none.error().message, HasSubstr("holon-init"));
}

// Copies share one probe, whichever thread calls first.
TEST_F(BoundaryTest, ProbesTheMachineOnce) {
    const auto one = boundary(Backend::Bubblewrap);
    const Boundary two = one;
    EXPECT_EQ(&one.machine(), &two.machine());
}

TEST(ResolvePaths, KeepsAReadOnlyFolderButNotALinkToAnotherPlace) {
    std::string name = (fs::temp_directory_path() / "holon-resolve-XXXXXX").string();
    const fs::path top = fs::canonical(::mkdtemp(name.data()));
    fs::create_directories(top / "home/task-output");
    fs::create_directories(top / "secret/deep");
    fs::create_symlink(top / "secret/deep", top / "home/tool-artifacts");
    const auto seen = resolve_paths({.read_only = {(top / "home/task-output").string(),
                                                   (top / "home/tool-artifacts").string()}});
    ASSERT_TRUE(seen);
    EXPECT_EQ(seen->read_only,
              (std::vector<ResolvedPaths::Path>{{(top / "home/task-output").string(), true}}));
    fs::remove_all(top);
}

// Files that a commit in a worktree writes are writable; files that git obeys are not.
TEST_F(BoundaryTest, LetsAWorktreeCommitAndKeepsItsRepositorysSettings) {
    const fs::path common = top / "repo/.git";
    const fs::path own = common / "worktrees/w";
    for (const auto& folder :
         {common / "objects", common / "refs", common / "hooks", own, top / "w"})
        fs::create_directories(folder);
    for (const auto& file : {own / "commondir", own / "gitdir", common / "config", top / "w/.git"})
        std::ofstream(file) << "x";
    Policy policy;
    add_worktree(policy, {.execution_root = top / "w", .worktree_git_dir = own});
    const auto seen = resolve_paths(policy);
    ASSERT_TRUE(seen);
    EXPECT_EQ(seen->writable_roots,
              (std::vector<std::string>{(common / "objects").string(), (common / "refs").string(),
                                        own.string()}));
    EXPECT_EQ(seen->read_only,
              (std::vector<ResolvedPaths::Path>{{(own / "commondir").string(), false},
                                                {(own / "gitdir").string(), false},
                                                {(own / "config.worktree").string(), false},
                                                {(top / "w/.git").string(), false}}));
    Policy none;
    add_worktree(none, {.execution_root = top / "repo"});
    EXPECT_EQ(none, Policy{});
}

TEST(SecretVariables, AreRecognisedByTheirNames) {
    for (const char* name : {"GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "PGPASSWORD", "SSH_AUTH_SOCK",
                             "npm_config_token", "OPENAI_API_KEY", "DATABASE_URL"})
        EXPECT_TRUE(is_secret_variable(name)) << name;
    for (const char* name : {"PATH", "HOME", "LANG", "TERM", "CARGO_HOME", "EDITOR", "CC",
                             "HOLON_AGENT_ID", "KEYBOARD", "MONKEY"})
        EXPECT_FALSE(is_secret_variable(name)) << name;
}

}  // namespace
}  // namespace sandbox
