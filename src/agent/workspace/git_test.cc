#include "agent/workspace/git.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdlib.h>

namespace workspace {
namespace {

namespace fs = std::filesystem;

// Folders as git makes them; git itself is not asked.
class GitTest : public testing::Test {
protected:
    fs::path top_;

    void SetUp() override {
        std::string pattern = (fs::temp_directory_path() / "holon-git-XXXXXX").string();
        ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
        top_ = fs::canonical(pattern);
        write("repo/.git/HEAD", "ref: refs/heads/main\n");
        fs::create_directories(top_ / "repo/src/deep");
        write("tree/.git", "gitdir: " + (top_ / "repo/.git/worktrees/tree").string() + "\n");
        write("repo/.git/worktrees/tree/commondir", "../..\n");
        write("repo/.git/worktrees/tree/gitdir", (top_ / "tree/.git").string() + "\n");
        write("repo/.git/worktrees/tree/HEAD", "ref: refs/heads/try/it\n");
        write("repo/.git/worktrees/tree/index", "");
    }
    void TearDown() override { fs::remove_all(top_); }

    void write(const fs::path& file, std::string_view text) const {
        fs::create_directories((top_ / file).parent_path());
        std::ofstream(top_ / file) << text;
    }
};

TEST_F(GitTest, FindsTheRepositoryAboveAFolder) {
    const Checkout repo{top_ / "repo", top_ / "repo/.git", top_ / "repo/.git"};
    EXPECT_EQ(find_checkout(top_ / "repo"), repo);
    EXPECT_EQ(find_checkout(top_ / "repo/src/deep"), repo);
    EXPECT_FALSE(repo.is_worktree());
    EXPECT_EQ(repo.repository(), top_ / "repo");
    EXPECT_EQ(current_branch(repo.git_dir), "main");
    fs::create_directories(top_ / "plain/.git");  // Empty: git takes no notice either.
    EXPECT_EQ(find_checkout(top_ / "plain"), std::nullopt);
    EXPECT_EQ(find_checkout(top_ / "nowhere"), std::nullopt);
}

TEST_F(GitTest, FindsTheRepositoryOfAWorktree) {
    const auto tree = find_checkout(top_ / "tree");
    ASSERT_TRUE(tree);
    EXPECT_EQ(*tree,
              (Checkout{top_ / "tree", top_ / "repo/.git/worktrees/tree", top_ / "repo/.git"}));
    EXPECT_TRUE(tree->is_worktree());
    EXPECT_EQ(tree->repository(), top_ / "repo");
    EXPECT_EQ(current_branch(tree->git_dir), "try/it");
    EXPECT_TRUE(is_whole(*tree));
    write("repo/.git/worktrees/tree/locked", "initializing");
    EXPECT_FALSE(is_whole(*tree));
    write("repo/.git/worktrees/tree/locked", "on a stick");
    EXPECT_TRUE(is_whole(*tree));
    fs::remove(top_ / "repo/.git/worktrees/tree/index");
    EXPECT_FALSE(is_whole(*tree));
    write("repo/.git/worktrees/tree/HEAD", "0123456789abcdef0123456789abcdef01234567\n");
    EXPECT_EQ(current_branch(tree->git_dir), std::nullopt);
}

// Anyone who can write in a folder can claim that it belongs to any repository.
TEST_F(GitTest, BelievesNoWorktreeThatItsRepositoryDoesNotKnow) {
    write("liar/.git", "gitdir: " + (top_ / "repo/.git/worktrees/tree").string() + "\n");
    EXPECT_EQ(find_checkout(top_ / "liar"), std::nullopt);
    write("liar/own/commondir", (top_ / "repo/.git").string() + "\n");
    write("liar/own/gitdir", (top_ / "liar/.git").string() + "\n");
    write("liar/own/HEAD", "ref: refs/heads/main\n");
    write("liar/.git", "gitdir: own\n");
    EXPECT_EQ(find_checkout(top_ / "liar"), std::nullopt);
    write("liar/.git", "gitdir: /nowhere\n");
    EXPECT_EQ(find_checkout(top_ / "liar"), std::nullopt);
    write("liar/.git", "something else\n");
    EXPECT_EQ(find_checkout(top_ / "liar/own"), std::nullopt);
}

TEST_F(GitTest, TakesASubmoduleForARepositoryOfItsOwn) {
    write("repo/.git/modules/sub/HEAD", "ref: refs/heads/main\n");
    write("repo/sub/.git", "gitdir: ../.git/modules/sub\n");
    const auto sub = find_checkout(top_ / "repo/sub");
    ASSERT_TRUE(sub);
    EXPECT_FALSE(sub->is_worktree());
    EXPECT_EQ(sub->repository(), top_ / "repo/sub");
}

TEST(Labels, BecomeOnePlainNameWhateverTheySay) {
    const std::pair<const char*, const char*> cases[] = {
        {"fix-42", "fix-42"},   {"  a b/c\\d  ", "a-b-c-d"},
        {"../../etc", "etc"},   {"a/../../b", "a-.-.-b"},
        {"--force", "force"},   {"-b", "b"},
        {".hidden", "hidden"},  {"a..b", "a.b"},
        {"name.lock", "name"},  {"name.lock.lock-.", "name"},
        {"x@{1}~^:?*[", "x-1"}, {"", "workspace"},
        {"///", "workspace"},   {"HEAD", "workspace"},
        {"a\nb\tc", "a-b-c"},   {"$(id)`id`;|&", "id-id"},
    };
    for (const auto& [label, name] : cases) EXPECT_EQ(clean_label(label), name) << label;
    EXPECT_EQ(clean_label(std::string(500, 'x')).size(), 64U);
    EXPECT_EQ(clean_label("é"), "workspace");
}

TEST(Labels, AreFoldersNextToTheirRepository) {
    EXPECT_EQ(managed_folder("/p/repo"), "/p/.holon-worktrees-repo");
}

TEST(Paths, AreInsideByComponents) {
    EXPECT_TRUE(is_inside("/a/b", "/a"));
    EXPECT_TRUE(is_inside("/a", "/a"));
    EXPECT_FALSE(is_inside("/ab", "/a"));
    EXPECT_FALSE(is_inside("/a", ""));
}

}  // namespace
}  // namespace workspace
