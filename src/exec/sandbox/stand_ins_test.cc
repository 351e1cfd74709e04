#include "exec/sandbox/stand_ins.h"

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

}  // namespace
}  // namespace sandbox
