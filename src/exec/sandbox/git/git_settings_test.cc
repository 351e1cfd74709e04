#include "exec/sandbox/git/git_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sandbox {
namespace {

TEST(GitIdentity, IsTheUsersNameAndAddressAndNothingElse) {
    EXPECT_EQ(
        git_identity("[core]\n\teditor = vi\n[User] ; me\n\tName = \"Ada \\\"L\\\"\" # not this\n"
                     "  email=ada@example.org\n\tsigningKey = ABC\n"
                     "[url \"https://token@host\"]\n\tname = other\n"),
        "[user]\n\tname = \"Ada \\\"L\\\"\"\n\temail = \"ada@example.org\"\n");
}

TEST(GitIdentity, OfSettingsWithoutAUserIsEmpty) {
    EXPECT_EQ(git_identity(""), "");
    EXPECT_EQ(git_identity("[credential]\n\thelper = store\nname = x\n"), "");
    EXPECT_EQ(git_identity("[user \"other\"]\n\tname = x\n"), "");
}

TEST(GitIdentity, CannotAddOtherSettings) {
    // The value ends with the line, whatever the line says.
    EXPECT_EQ(git_identity("[user]\n\tname = a\\n[core]\\nhooksPath=/x\n"),
              "[user]\n\tname = \"an[core]nhooksPath=/x\"\n");
}

TEST(ObeyedPaths, AreThoseThatGitExecutesOrReadsAsSettings) {
    const auto found = obeyed_paths(
        "[core]\n\thooksPath = .husky ; ours\n\tfsmonitor = tools/watch.sh\n\tworktree = ..\n"
        "[include] path = ../shared.conf\n"
        "[includeIf \"gitdir:/x/\"]\n\tpath = team.conf\n"
        "[filter \"p\"]\n\tsmudge = \"./scripts/smudge --all %f\"\n"
        "[alias]\n\tst = \"!sh ./scripts/st\"\n"
        "[remote \"origin\"]\n\turl = src\n[branch \"main\"]\n\tmerge = refs/heads/main\n"
        "[submodule \"lib\"]\n\tpath = lib\n");
    std::vector<std::string> paths;
    for (const auto& one : found) paths.push_back(one.path);
    for (const char* path : {".husky", "tools/watch.sh", "../shared.conf", "team.conf",
                             "./scripts/smudge", "./scripts/st"})
        EXPECT_THAT(paths, testing::Contains(path));
    for (const char* path : {"..", "src", "refs/heads/main", "lib", "--all"})
        EXPECT_THAT(paths, testing::Not(testing::Contains(path)));
    EXPECT_EQ(found.at(0), (ObeyedPath{".husky", true}));
}

}  // namespace
}  // namespace sandbox
