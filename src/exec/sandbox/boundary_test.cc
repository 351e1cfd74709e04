#include "exec/sandbox/boundary.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "exec/sandbox/layout.h"

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
    Boundary boundary(Backend backend) const {
        return {{.backend = backend}, {top / "home"}, top / "holon", Machine{}};
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

TEST_F(BoundaryTest, GivesNoCommandWhereTheMachineCannotConfine) {
    const auto behind = boundary(Backend::Bubblewrap);
    EXPECT_FALSE(behind.check());
    const auto none = behind.enclose({.argv = {"true"}}, {.execution_root = top / "repo"});
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().code, base::ErrorCode::Unavailable);
    EXPECT_THAT(none.error().message, HasSubstr("use Linux 5.12"));
}

// Copies share one probe, whichever thread calls first.
TEST_F(BoundaryTest, ProbesTheMachineOnce) {
    const auto one = boundary(Backend::Bubblewrap);
    const Boundary two = one;
    EXPECT_EQ(&one.machine(), &two.machine());
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
    EXPECT_EQ(policy.read_only, std::vector<std::string>{common.string()});
    EXPECT_EQ(policy.writable_git_parts, (std::vector<std::string>{(common / "objects").string(),
                                                                   (common / "refs").string()}));
    EXPECT_EQ(policy.git_folders, std::vector<std::string>{own.string()});
    EXPECT_TRUE(lay_out(policy));
    // A folder of git that was replaced by a link would make its target writable.
    fs::remove_all(common / "refs");
    fs::create_directories(top / "secret");
    fs::create_symlink(top / "secret", common / "refs");
    Policy linked;
    add_worktree(linked, {.execution_root = top / "w", .worktree_git_dir = own});
    const auto refused = lay_out(linked);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, base::ErrorCode::Refused);
    Policy none;
    add_worktree(none, {.execution_root = top / "repo"});
    EXPECT_EQ(none, Policy{});
}

TEST(AllowedVariables, AreAShortListAndNeverSecrets) {
    for (const char* name : {"GITHUB_TOKEN",
                             "AWS_SECRET_ACCESS_KEY",
                             "PGPASSWORD",
                             "SSH_AUTH_SOCK",
                             "npm_config_token",
                             "OPENAI_API_KEY",
                             "DATABASE_URL",
                             "MYSQL_PWD",
                             "REDIS_URL",
                             "AZURE_CONNECTION_STRING",
                             "KUBECONFIG",
                             "AWS_PROFILE",
                             "DOCKER_HOST",
                             "GPG_AGENT_INFO",
                             "VAULT_ADDR",
                             "SENTRY_DSN",
                             "SLACK_WEBHOOK",
                             "STRIPE_SK",
                             "GOPROXY",
                             "PIP_INDEX_URL",
                             "CARGO_REGISTRIES_X_TOKEN",
                             "LD_PRELOAD",
                             "BASH_ENV",
                             "ENV",
                             "PROMPT_COMMAND",
                             "GIT_SSH_COMMAND",
                             "CMAKE_API_TOKEN",
                             "NPM_CONFIG_USERCONFIG",
                             "XAUTHORITY",
                             "DBUS_SESSION_BUS_ADDRESS",
                             "ANYTHING_ELSE"})
        EXPECT_FALSE(is_allowed_variable(name)) << name;
    for (const char* name : {"PATH", "HOME", "LANG", "LC_ALL", "TERM", "CARGO_HOME", "EDITOR", "CC",
                             "VIRTUAL_ENV", "JAVA_HOME", "GOPATH", "CMAKE_BUILD_PARALLEL_LEVEL"})
        EXPECT_TRUE(is_allowed_variable(name)) << name;
    EXPECT_EQ(allowed_environment({{"PATH", "/bin"},
                                   {"NPM_CONFIG_PREFIX", "https://me:secret@registry.example"},
                                   {"X_TOKEN", "t"}}),
              (std::vector<std::pair<std::string, std::string>>{{"PATH", "/bin"}}));
}

TEST_F(BoundaryTest, DecidesTheNetworkByTheInstruction) {
    const Boundary open({.backend = Backend::Bubblewrap, .network = Network::Host}, {}, "",
                        Machine{});
    EXPECT_EQ(open.network_of({.has_operators_network = true}), Network::Host);
    EXPECT_EQ(open.network_of({.has_operators_network = false}), Network::None);
    const Boundary listed({.backend = Backend::Bubblewrap, .network = Network::Allowlist}, {}, "",
                          Machine{});
    EXPECT_EQ(listed.network_of({.has_operators_network = false}), Network::Allowlist);
}

}  // namespace
}  // namespace sandbox
