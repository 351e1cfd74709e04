#include "agent/workspace/workspace.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdlib.h>

namespace workspace {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

class WorkspaceTest : public testing::Test {
protected:
    fs::path root_;

    void SetUp() override {
        std::string pattern = (fs::temp_directory_path() / "holon-workspace-XXXXXX").string();
        ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
        root_ = fs::canonical(pattern) / "project";
        fs::create_directories(root_ / "src");
        fs::create_directories(root_.parent_path() / "project-beside");
    }
    void TearDown() override { fs::remove_all(root_.parent_path()); }
};

TEST_F(WorkspaceTest, EntersAProjectAtItsRootOrBelow) {
    const auto at_root = enter(root_, {});
    ASSERT_TRUE(at_root) << at_root.error().message;
    const std::string id = at_root->workspace_id;
    EXPECT_EQ(*at_root, (domain::WorkspaceEntry{.workspace_id = id,
                                                .workspace_anchor = root_.string(),
                                                .execution_root_id = "canonical_root:" + id,
                                                .execution_root = root_.string(),
                                                .cwd = root_.string()}));
    EXPECT_TRUE(id.starts_with("ws-"));
    EXPECT_EQ(id.size(), std::string_view("ws-").size() + 32);
    EXPECT_EQ(enter(root_, root_ / "src")->cwd, (root_ / "src").string());
}

TEST_F(WorkspaceTest, GivesTheSameIdAndAnchorWhateverTheWorkingDirectoryAndTheSpelling) {
    const auto first = enter(root_, {}).value();
    fs::create_directory_symlink(root_, root_.parent_path() / "link");
    for (const auto& [root, cwd] : std::vector<std::pair<fs::path, fs::path>>{
             {root_, root_ / "src"},
             {root_ / "src" / "..", root_ / "src"},
             {root_.parent_path() / "link", root_.parent_path() / "link" / "src"}}) {
        const auto again = enter(root, cwd);
        ASSERT_TRUE(again) << again.error().message;
        EXPECT_EQ(again->workspace_id, first.workspace_id);
        EXPECT_EQ(again->workspace_anchor, first.workspace_anchor);
        EXPECT_EQ(again->execution_root, first.execution_root);
    }
    EXPECT_NE(enter(root_.parent_path() / "project-beside", {})->workspace_id, first.workspace_id);
}

TEST_F(WorkspaceTest, RefusesAWorkingDirectoryOutsideTheRoot) {
    fs::create_directory_symlink(root_.parent_path(), root_ / "way-out");
    for (const fs::path& cwd : {root_ / "..", root_.parent_path() / "project-beside", fs::path("/"),
                                root_ / "way-out", root_ / "src" / ".." / ".."}) {
        const auto entry = enter(root_, cwd);
        ASSERT_FALSE(entry) << cwd;
        EXPECT_EQ(entry.error().code, base::ErrorCode::InvalidInput);
        EXPECT_THAT(entry.error().message, HasSubstr("outside the workspace root"));
    }
}

TEST_F(WorkspaceTest, RefusesMissingFolders) {
    EXPECT_FALSE(enter(root_ / "nowhere", {}));
    EXPECT_FALSE(enter(root_, root_ / "nowhere"));
    std::ofstream(root_ / "file") << "text";
    EXPECT_FALSE(enter(root_ / "file", {}));
    EXPECT_FALSE(enter(root_, root_ / "file"));
}

TEST(Workspace, IsTheAgentsHomeBeforeAnyProjectIsChosen) {
    EXPECT_EQ(agent_home({"main"}, "/h/agents/main"),
              (domain::WorkspaceEntry{.workspace_id = "agent_home:main",
                                      .workspace_anchor = "/h/agents/main",
                                      .execution_root_id = "canonical_root:agent_home:main",
                                      .execution_root = "/h/agents/main",
                                      .cwd = "/h/agents/main"}));
}

json::object snapshot() {
    return execution_snapshot({.agent_id = {"main"}, .attached_workspaces = {"ws-1"}},
                              {.workspace_id = "ws-1",
                               .workspace_anchor = "/p",
                               .execution_root_id = "git_worktree_root:ws-1:/w",
                               .execution_root = "/w",
                               .projection_kind = domain::ProjectionKind::GitWorktreeRoot,
                               .access_mode = domain::AccessMode::ExclusiveWrite,
                               .cwd = "/w/src"});
}

TEST(Workspace, HasASnapshotOfPlaceProfileAndPolicy) {
    json::object place = snapshot();
    EXPECT_TRUE(place.at("profile").is_object());
    EXPECT_TRUE(place.at("policy").is_object());
    place.erase("profile");
    place.erase("policy");
    EXPECT_EQ(place, (json::object{{"workspace_id", "ws-1"},
                                   {"workspace_anchor", "/p"},
                                   {"execution_root", "/w"},
                                   {"cwd", "/w/src"},
                                   {"execution_root_id", "git_worktree_root:ws-1:/w"},
                                   {"projection_kind", "git_worktree_root"},
                                   {"access_mode", "exclusive_write"},
                                   {"worktree_root", "/w"}}));
    EXPECT_EQ(execution_snapshot({}, {}).at("projection_kind"), "canonical_root");
}

// contract: EXEC-13, EXEC-14
TEST(Workspace, SaysOfEachConfinementThatItIsNotEnforced) {
    const json::value policy = snapshot().at("policy");
    EXPECT_EQ(policy.at("backend"), "host_local");
    EXPECT_EQ(policy.at("process_execution"),
              (json::value{{"cwd_rooting", "runtime_shaped"},
                           {"projection_rooting", "runtime_shaped"},
                           {"path_confinement", "not_enforced"},
                           {"write_confinement", "not_enforced"},
                           {"network_confinement", "not_enforced"},
                           {"secret_isolation", "not_enforced"},
                           {"child_process_containment", "not_enforced"}}));
}

// contract: EXEC-02, EXEC-15
TEST(Workspace, SuggestsNowhereThatASandboxDeniesAnything) {
    const std::string text = base::json_text(snapshot());
    for (const auto* word : {"denied", "blocked", "sandbox", "\"enforced", "isolated"})
        EXPECT_THAT(text, Not(HasSubstr(word)));
}

TEST(Workspace, SaysOfEachConfinementThatTheKernelEnforcesIt) {
    domain::Agent agent{.execution = domain::execution_of(domain::SandboxBackend::Bubblewrap,
                                                          domain::SandboxNetwork::Host)};
    const auto snapshot = execution_snapshot(agent, {});
    EXPECT_EQ(snapshot.at("profile").at("backend"), "bubblewrap");
    const auto& policy = snapshot.at("policy");
    EXPECT_EQ(policy.at("backend"), "bubblewrap");
    EXPECT_EQ(policy.at("process_execution"),
              (json::value{{"cwd_rooting", "runtime_shaped"},
                           {"projection_rooting", "runtime_shaped"},
                           {"path_confinement", "hard_enforced"},
                           {"write_confinement", "hard_enforced"},
                           {"network_confinement", "not_enforced"},
                           {"secret_isolation", "hard_enforced"},
                           {"child_process_containment", "hard_enforced"}}));
    EXPECT_EQ(boundary(agent.execution, {}).at("backend"), "bubblewrap");
}

// contract: EXEC-17
TEST(Workspace, AssertsNoEnforcementOfCommandsOnTheHost) {
    for (const auto& [name, value] : confinements({})) EXPECT_EQ(value, "not_enforced") << name;
    EXPECT_THAT(base::json_text(snapshot().at("policy").at("process_execution")),
                Not(HasSubstr("hard_enforced")));
    EXPECT_THAT(base::json_text(boundary({}, {})), Not(HasSubstr("enforced")));
}

TEST(Workspace, HasABoundaryForProcessAndWorkspaceEvents) {
    EXPECT_EQ(boundary({}, {.execution_root_id = "canonical_root:ws-1"}),
              (json::object{{"backend", "host_local"},
                            {"process_execution_exposed", true},
                            {"allow_background_tasks", true},
                            {"supports_managed_worktrees", true},
                            {"projection_kind", "canonical_root"},
                            {"access_mode", "shared_read"},
                            {"execution_root_id", "canonical_root:ws-1"}}));
}

}  // namespace
}  // namespace workspace
