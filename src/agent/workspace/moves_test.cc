#include "agent/workspace/moves.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/workspace/workspace.h"

namespace workspace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

domain::Agent agent() {
    return {.agent_id = {"k"}, .active_workspace_entry = agent_home({"k"}, "/h/agents/k")};
}

domain::WorkspaceEntry worktree() {
    auto entry = entry_of_folder("/p");
    entry.execution_root_id = "git_worktree_root:ws:/w";
    entry.execution_root = entry.cwd = "/w";
    entry.projection_kind = domain::ProjectionKind::GitWorktreeRoot;
    entry.projection_metadata = domain::ProjectionMetadata{
        .ownership = domain::WorktreeOwnership::Managed,
        .git_dir = "/p/.git/worktrees/w",
        .worktree_session = domain::WorktreeSession{"/p", "main", "/w", "w"}};
    return entry;
}

std::vector<std::string> kinds(const std::vector<Note>& notes) {
    std::vector<std::string> list;
    for (const auto& note : notes) list.push_back(note.kind);
    return list;
}

TEST(Moves, AreWrittenDownWithWhatIsLeftAndWhatIsEntered) {
    auto who = agent();
    const auto project = entry_of_folder("/p");
    EXPECT_THAT(kinds(move_to(who, project)),
                ElementsAre("workspace_attached", "workspace_entered"));
    EXPECT_EQ(who.active_workspace_entry, project);
    EXPECT_THAT(who.attached_workspaces, ElementsAre(project.workspace_id));
    EXPECT_THAT(move_to(who, project), IsEmpty());

    const auto in = move_to(who, worktree());
    EXPECT_THAT(kinds(in),
                ElementsAre("workspace_exited", "workspace_entered", "worktree_entered"));
    EXPECT_EQ(in[2].data.at("worktree").at("worktree_branch"), "w");
    EXPECT_FALSE(in[1].data.contains("projection_metadata"));
    EXPECT_TRUE(in[1].data.contains("boundary"));

    const auto out = move_to(who, agent_home({"k"}, "/h/agents/k"));
    EXPECT_THAT(kinds(out),
                ElementsAre("worktree_exited", "workspace_exited", "workspace_entered"));
    EXPECT_EQ(
        out[0].data,
        (json::object{{"worktree_path", "/w"}, {"worktree_branch", "w"}, {"removed", false}}));
    // Leaving detaches nothing, and the home is never attached.
    EXPECT_THAT(who.attached_workspaces, ElementsAre(project.workspace_id));
}

TEST(Moves, WithinARootLeaveNothing) {
    auto who = agent();
    move_to(who, worktree());
    auto deeper = worktree();
    deeper.cwd = "/w/src";
    EXPECT_THAT(kinds(move_to(who, deeper)), ElementsAre("workspace_entered"));
}

TEST(Moves, ReportThatAWorktreeExisted) {
    auto who = agent();
    auto entry = worktree();
    entry.projection_metadata->ownership = domain::WorktreeOwnership::External;
    entry.projection_metadata->worktree_session.reset();
    const auto notes = move_to(who, entry);
    EXPECT_THAT(kinds(notes), ElementsAre("workspace_attached", "workspace_entered"));
    EXPECT_EQ(notes[1].data.at("detected_kind"), "existing_git_worktree");
    EXPECT_EQ(notes[1].data.at("ownership"), "external");
}

// contract: WT-04
TEST(Moves, KnowOfAWorktreeExactlyFourThings) {
    const json::value session = base::to_json(*domain::worktree_session(worktree()));
    std::vector<std::string> keys;
    for (const auto& member : session.as_object()) keys.emplace_back(member.key());
    EXPECT_THAT(keys,
                ElementsAre("original_cwd", "original_branch", "worktree_path", "worktree_branch"));
}

}  // namespace
}  // namespace workspace
