#include "exec/tools/builtin/worktrees/clean.h"

#include "exec/tools/builtin/fixture_for_test.h"

namespace builtin {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

tasks::ChildWorktree made() {
    return {.worktree_path = "/w/task-1", .worktree_branch = "task-1", .base_commit = "aaa"};
}
WorktreeFacts clean() {
    return {.is_there = true, .is_of_repository = true, .branch = "task-1", .head = "aaa"};
}

TEST(JudgeWorktree, RemovesOnlyWhatHoldsNothing) {
    EXPECT_EQ(judge_worktree(made(), clean()).cleanup_status, std::nullopt);
    EXPECT_EQ(judge_worktree(made(), {}).cleanup_status, "already_removed");
    const auto kept = [](const WorktreeFacts& facts) {
        const auto judged = judge_worktree(made(), facts);
        EXPECT_EQ(judged.cleanup_status, "retained");
        return judged.cleanup_reason.value_or("");
    };
    auto changed = clean();
    changed.changed = {"b", "a"};
    EXPECT_EQ(kept(changed), "changed_files");
    EXPECT_EQ(judge_worktree(made(), changed).changed_files, (std::vector<std::string>{"a", "b"}));
    auto committed = clean();
    committed.head = "bbb";
    EXPECT_EQ(kept(committed), "committed_work");
    auto switched = clean();
    switched.branch = "other";
    EXPECT_EQ(kept(switched), "branch_mismatch");
    EXPECT_EQ(judge_worktree(made(), switched).actual_branch, "other");
    auto foreign = clean();
    foreign.is_of_repository = false;
    EXPECT_EQ(kept(foreign), "branch_inspection_failed");
    auto unreadable = clean();
    unreadable.error = "git is gone";
    EXPECT_EQ(kept(unreadable), "change_detection_failed");
}

TEST(StatusPaths, AreReadWholeAlsoWithSpacesAndRenames) {
    using namespace std::string_view_literals;
    EXPECT_THAT(paths_of_status(" M a b.txt\0R  new.txt\0old.txt\0?? c\0"sv),
                ElementsAre("a b.txt", "new.txt", "c"));
    EXPECT_TRUE(paths_of_status("").empty());
}

class SpawnWorktreeTest : public BuiltinTest {
protected:
    SpawnWorktreeTest() {
        ::unsetenv("GIT_DIR");
        fs::create_directories(folder_.at("home"));
        EXPECT_TRUE(exec("git init -q -b main && git add -A && git -c user.name=n -c "
                         "user.email=e@x commit -q -m first")
                        .envelope.ok());
        save({.agent_id = {"default"}});
    }
    const tools::SpawnChild& spawned(const tools::Dispatched& end) {
        EXPECT_EQ(end.mutations.size(), 1U) << end.receipt;
        return *end.mutations.at(0).as<tools::SpawnChild>();
    }
    tasks::ChildWorktree cleaned(const tasks::ChildWorktree& worktree) {
        std::optional<tasks::ChildWorktree> after;
        parts_.emplace(workspace_parts());
        clean_worktree(*parts_, lifetime_, {"default"}, worktree, [&](tasks::ChildWorktree result) {
            after = std::move(result);
            loop_.stop();
        });
        while (!after) loop_.run();
        return *after;
    }
    std::optional<WorkspaceParts> parts_;
    base::Lifetime lifetime_;
};

// contract: WT-31
TEST_F(SpawnWorktreeTest, EachCallHasAWorktreeAndABranchOfItsOwn) {
    const json::object args{{"initial_message", "go"}, {"workspace_mode", "worktree"}};
    const auto one = spawned(run("SpawnAgent", args));
    const auto two = spawned(run("SpawnAgent", args));
    ASSERT_TRUE(one.worktree && two.worktree);
    EXPECT_NE(one.worktree->worktree_path, two.worktree->worktree_path);
    EXPECT_NE(one.worktree->worktree_branch, two.worktree->worktree_branch);
    EXPECT_EQ(one.child.active_workspace_entry->execution_root, one.worktree->worktree_path);
    EXPECT_TRUE(fs::exists(one.worktree->worktree_path + "/a.txt"));
}

TEST_F(SpawnWorktreeTest, ACleanWorktreeGoesWithItsBranchAndAgainIsNoFault) {
    const auto worktree =
        *spawned(run("SpawnAgent", {{"initial_message", "go"}, {"workspace_mode", "worktree"}}))
             .worktree;
    const auto after = cleaned(worktree);
    EXPECT_EQ(after.cleanup_status, "cleaned");
    EXPECT_EQ(after.branch_cleanup_status, "deleted");
    EXPECT_FALSE(fs::exists(worktree.worktree_path));
    EXPECT_EQ(cleaned(worktree).cleanup_status, "already_removed");
}

TEST_F(SpawnWorktreeTest, CommittedWorkIsKept) {
    const auto worktree =
        *spawned(run("SpawnAgent", {{"initial_message", "go"}, {"workspace_mode", "worktree"}}))
             .worktree;
    ASSERT_TRUE(exec(fmt::format("cd {} && echo x > x.txt && git add -A && git -c user.name=n -c "
                                 "user.email=e@x commit -q -m work",
                                 worktree.worktree_path))
                    .envelope.ok());
    const auto after = cleaned(worktree);
    EXPECT_EQ(after.cleanup_reason, "committed_work");
    EXPECT_EQ(after.changed_files, (std::vector<std::string>{"x.txt"}));
    EXPECT_TRUE(after.head_commit);
    EXPECT_TRUE(fs::exists(worktree.worktree_path + "/x.txt"));
}

// contract: IDENT-22, IDENT-23, IDENT-24, IDENT-26, IDENT-34
TEST_F(SpawnWorktreeTest, InputThatFitsNoPresetIsRefusedAndNamesTheField) {
    const auto& schema = registry_.find("SpawnAgent")->spec().input_schema.at("properties");
    EXPECT_EQ(schema.at("preset").at("enum"),
              json::value(json::array{"private_child", "public_named"}));
    EXPECT_EQ(schema.as_object().size(), 5U);
    const std::pair<json::object, const char*> cases[] = {
        {{{"initial_message", "x"}, {"summary", "s"}}, "summary"},
        {{{"initial_message", "x"}, {"task_summary", "s"}}, "task_summary"},
        {{{"initial_message", "x"}, {"prompt", "s"}}, "prompt"},
        {{{"initial_message", "x"}, {"work_item", "s"}}, "work_item"},
        {{}, "initial_message"},
        {{{"initial_message", "  "}}, "initial_message"},
        {{{"initial_message", "x"}, {"agent_id", "a"}}, "agent_id"},
        {{{"initial_message", "x"}, {"preset", "both"}}, "preset"},
        {{{"preset", "public_named"}}, "agent_id"},
        {{{"preset", "public_named"}, {"agent_id", "tmp_x"}}, "agent_id"},
        {{{"preset", "public_named"}, {"agent_id", "a"}, {"workspace_mode", "worktree"}},
         "workspace_mode"}};
    for (const auto& [args, field] : cases) {
        const auto end = run("SpawnAgent", args);
        ASSERT_FALSE(end.envelope.ok()) << field;
        EXPECT_EQ(end.envelope.error().kind, "invalid_tool_input") << field;
        EXPECT_THAT(base::json_text(end.envelope.to_json()), HasSubstr(field));
        EXPECT_TRUE(end.mutations.empty());
    }
}

TEST_F(SpawnWorktreeTest, WithoutARepositoryThereIsNoWorktree) {
    fs::remove_all(fs::path(folder_.at("repo")) / ".git");
    const auto end = run("SpawnAgent", {{"initial_message", "go"}, {"workspace_mode", "worktree"}});
    ASSERT_FALSE(end.envelope.ok());
    EXPECT_THAT(end.envelope.error().message, HasSubstr("git repository"));
}

}  // namespace
}  // namespace builtin
