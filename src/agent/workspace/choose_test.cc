#include "agent/workspace/choose.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/workspace/workspace.h"

namespace workspace {
namespace {

using domain::ProjectionKind;
using testing::HasSubstr;

const Checkout kRepo{"/p/repo", "/p/repo/.git", "/p/repo/.git"};
const Checkout kTree{"/p/tree", "/p/repo/.git/worktrees/tree", "/p/repo/.git"};

Asker asker(std::vector<std::string> attached = {}) {
    Asker who{.agent_id = {"k"}, .home = "/h/agents/k", .runtime_home = "/h"};
    for (const auto& anchor : attached) who.attached.push_back(entry_of_folder(anchor));
    return who;
}

TEST(ChooseDirect, TakesTheRepositoryOfAFolderAsItsWorkspace) {
    const auto entry = choose_direct({.folder = "/p/repo/src", .checkout = kRepo}, asker());
    ASSERT_TRUE(entry);
    auto expected = entry_of_folder("/p/repo");
    expected.cwd = "/p/repo/src";
    EXPECT_EQ(*entry, expected);
    EXPECT_EQ(choose_direct({.folder = "/p/plain"}, asker()).value(), entry_of_folder("/p/plain"));
    auto home = agent_home({"k"}, "/h/agents/k");
    home.cwd = "/h/agents/k/notes";
    EXPECT_EQ(choose_direct({.folder = "/h/agents/k/notes"}, asker()).value(), home);
}

TEST(ChooseDirect, KeepsTheProjectInAWorktreeOfAnAttachedRepository) {
    const Target target{.folder = "/p/tree/src", .checkout = kTree};
    const auto entry = choose_direct(target, asker({"/p/repo"})).value();
    EXPECT_EQ(entry.workspace_id, workspace_id_of("/p/repo"));
    EXPECT_EQ(entry.workspace_anchor, "/p/repo");
    EXPECT_EQ(entry.execution_root, "/p/tree");
    EXPECT_EQ(entry.execution_root_id,
              fmt::format("git_worktree_root:{}:/p/tree", workspace_id_of("/p/repo")));
    EXPECT_EQ(entry.projection_kind, ProjectionKind::GitWorktreeRoot);
    EXPECT_EQ(entry.cwd, "/p/tree/src");
    EXPECT_EQ(entry.projection_metadata,
              (domain::ProjectionMetadata{.git_dir = "/p/repo/.git/worktrees/tree"}));
    // Of a repository that is not attached it is a project of its own.
    const auto own = choose_direct(target, asker()).value();
    EXPECT_EQ(own.workspace_anchor, "/p/tree");
    EXPECT_EQ(own.projection_kind, ProjectionKind::CanonicalRoot);
}

TEST(ChooseDirect, KnowsAWorktreeThatWasMadeForTheAgent) {
    Target target{.folder = "/p/tree", .checkout = kTree};
    target.made =
        domain::ManagedWorktree{.agent_id = {"k"}, .session = {.worktree_path = "/p/tree"}};
    const auto mine = choose_direct(target, asker({"/p/repo"})).value();
    EXPECT_EQ(domain::worktree_session(mine), target.made->session);
    target.made->agent_id = {"other"};
    EXPECT_FALSE(domain::worktree_session(choose_direct(target, asker({"/p/repo"})).value()));
}

TEST(ChooseDirect, RefusesWhatIsNoProject) {
    EXPECT_EQ(choose_direct({.folder = "/"}, asker()).error().kind, "invalid_tool_input");
    EXPECT_EQ(choose_direct({.folder = "/h"}, asker()).error().kind, "invalid_tool_input");
    EXPECT_EQ(choose_direct({.folder = "/h/agents/other"}, asker()).error().kind,
              "invalid_tool_input");
}

TEST(ChooseDirect, TakesNothingNewWhereThePolicyHasNone) {
    auto who = asker({"/p/repo"});
    who.execution.allow_new_workspaces = false;
    const auto refused = choose_direct({.folder = "/p/other"}, who);
    EXPECT_EQ(refused.error().kind, "policy_denied");
    EXPECT_THAT(*refused.error().recovery_hint, HasSubstr("holon workspace attach /p/other"));
    EXPECT_TRUE(choose_direct({.folder = "/p/repo", .checkout = kRepo}, who));
    EXPECT_TRUE(choose_direct({.folder = "/p/repo/sub"}, who));  // Less than what it has.
    EXPECT_FALSE(choose_direct({.folder = "/p"}, who));
    EXPECT_FALSE(
        choose_direct({.folder = "/p/tree/x",
                       .checkout = Checkout{"/p/tree", "/q/.git/worktrees/tree", "/q/.git"}},
                      who));
}

TEST(ChooseDirect, StopsAtSoManyWorkspaces) {
    std::vector<std::string> many;
    for (std::size_t i = 0; i < kAttachedMax; ++i) many.push_back(fmt::format("/p/{}", i));
    EXPECT_THAT(choose_direct({.folder = "/q"}, asker(many)).error().message, HasSubstr("100"));
    EXPECT_TRUE(choose_direct({.folder = "/p/7"}, asker(many)));
}

// contract: WT-17, WT-18
TEST(ChooseAttached, NeedsNothingButTheId) {
    const auto who = asker({"/gone/since"});
    EXPECT_EQ(choose_attached(workspace_id_of("/gone/since"), who).value(),
              entry_of_folder("/gone/since"));
    EXPECT_EQ(choose_attached("agent_home", who).value(), agent_home({"k"}, "/h/agents/k"));
    EXPECT_EQ(choose_attached("agent_home:k", who).value(), agent_home({"k"}, "/h/agents/k"));
    for (const char* unknown : {"ws-x", "agent_home:other", ""}) {
        const auto none = choose_attached(unknown, who);
        EXPECT_EQ(none.error().kind, "invalid_tool_input");
        EXPECT_EQ(none.error().details->at("field"), "workspace_id");
    }
}

TEST(Isolated, NeedsARepositoryAndABranch) {
    const auto plain = plan_isolated({.folder = "/p/plain"}, asker(), std::nullopt, "x");
    EXPECT_EQ(plain.error().kind, "tool_execution_failed");
    EXPECT_THAT(plain.error().message, HasSubstr("no git repository"));
    // kRepo is not on disk, so no branch can be read.
    EXPECT_THAT(plan_isolated({.folder = "/p/repo", .checkout = kRepo}, asker(), std::nullopt, "x")
                    .error()
                    .message,
                HasSubstr("detached HEAD"));
}

Plan plan() {
    Plan made{.source = "/p/repo", .common_dir = "/p/repo/.git"};
    made.worktree = {
        .agent_id = {"k"},
        .session = {.worktree_path = "/p/.holon-worktrees-repo/x", .worktree_branch = "x"}};
    return made;
}
domain::ManagedWorktree made_for(const char* agent) {
    auto worktree = plan().worktree;
    worktree.agent_id = {agent};
    return worktree;
}
const Checkout kThere{"/p/.holon-worktrees-repo/x", "/p/repo/.git/worktrees/x", "/p/repo/.git"};

TEST(Isolate, CreatesAMissingWorktree) {
    EXPECT_EQ(std::get<Create>(isolate(plan(), {})), Create{});
    // Left behind by a process that ended long ago.
    EXPECT_EQ(std::get<Create>(isolate(plan(), {.known = made_for("other")})), Create{});
}

// A kill leaves one of these behind; the next call of the same agent resumes from each.
TEST(Isolate, ResumesItsOwnWorktree) {
    const auto mine = made_for("k");
    EXPECT_EQ(std::get<Create>(isolate(plan(), {.known = mine, .known_is_recent = true})),
              Create{});
    EXPECT_EQ(std::get<Create>(isolate(plan(), {.known = mine, .branch_exists = true})),
              Create{.branch_exists = true});
    EXPECT_TRUE(std::holds_alternative<Reenter>(isolate(plan(), {.known = mine,
                                                                 .path_exists = true,
                                                                 .checkout = kThere,
                                                                 .is_whole = true,
                                                                 .branch_exists = true})));
}

TEST(Isolate, TakesNothingFromAnybody) {
    const auto text = [](const Found& found) {
        const auto decided = isolate(plan(), found);
        const auto* error = std::get_if<domain::ToolError>(&decided);
        if (!error) return std::string("no error");
        EXPECT_THAT(*error->recovery_hint, HasSubstr("another isolation_label"));
        return error->message + " " + *error->recovery_hint;
    };
    EXPECT_THAT(text({.known = made_for("other"), .known_is_recent = true}),
                HasSubstr("agent other"));
    EXPECT_THAT(text({.known = made_for("other"), .branch_exists = true}),
                HasSubstr("agent other"));
    EXPECT_THAT(text({.known = made_for("other"),
                      .path_exists = true,
                      .checkout = kThere,
                      .is_whole = true}),
                HasSubstr("agent other"));
    EXPECT_THAT(text({.branch_exists = true}), HasSubstr("git -C /p/repo branch -d x"));
    EXPECT_THAT(text({.path_exists = true}), HasSubstr("worktree remove --force --force"));
    EXPECT_THAT(text({.path_exists = true, .checkout = kThere, .is_whole = true}),
                HasSubstr("did not make it"));
    // Cut off in the middle: named, never entered half full.
    EXPECT_THAT(text({.known = made_for("k"), .path_exists = true, .checkout = kThere}),
                HasSubstr("interrupted"));
    // A worktree of another repository in its place.
    Found foreign{
        .known = made_for("k"), .path_exists = true, .checkout = kThere, .is_whole = true};
    foreign.checkout->common_dir = "/q/.git";
    EXPECT_THAT(text(foreign), HasSubstr("not a complete worktree of /p/repo"));
}

TEST(PlaceCwd, StaysInsideTheRoot) {
    EXPECT_EQ(place_cwd("/p", "src/").value(), "/p/src");
    EXPECT_EQ(place_cwd("/p", ".").value(), "/p");
    EXPECT_EQ(place_cwd("/p", "/p/src").value(), "/p/src");
    for (const char* out : {"..", "/", "/q", "src/../..", "/p-beside"})
        EXPECT_EQ(place_cwd("/p", out).error().details->at("field"), "cwd") << out;
}

}  // namespace
}  // namespace workspace
