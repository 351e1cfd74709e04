#include "agent/skills/install.h"

#include <sys/stat.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/skills/builtin_skills.h"
#include "agent/skills/catalogue.h"
#include "agent/skills/scratch_for_test.h"

namespace skills {
namespace {

namespace fs = std::filesystem;
using base::ErrorCode;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class Install : public testing::Test {
protected:
    Install() {
        scratch.write("src/pdf/SKILL.md", "---\nname: PDF\ndescription: d\n---\n");
        scratch.write("src/pdf/scripts/run.sh", "#!/bin/sh\n");
        scratch.write("src/pdf/references/a.md", "a");
        ::chmod(scratch.at("src/pdf/scripts/run.sh").c_str(), 0755);
    }
    fs::path home() const { return scratch.at("home"); }
    Scratch scratch;
};

TEST_F(Install, CopiesTheWholeFolder) {
    const auto tree = read_tree(scratch.at("src/pdf")).value();
    EXPECT_EQ(install_copy(home(), tree), "pdf");
    EXPECT_EQ(scratch.read("home/skills/pdf/references/a.md"), "a");
    EXPECT_EQ(::access(scratch.at("home/skills/pdf/scripts/run.sh").c_str(), X_OK), 0);
    const auto list = list_installed(home());
    ASSERT_THAT(list, SizeIs(1));
    EXPECT_EQ(list[0], (InstalledSkill{.skill_id = "agent:pdf",
                                       .name = "PDF",
                                       .description = "d",
                                       .path = scratch.at("home/skills/pdf/SKILL.md").string(),
                                       .install_mode = "copied"}));
    const auto again = install_copy(home(), tree);
    EXPECT_EQ(again.error().kind, "skill_already_installed");
    EXPECT_EQ(again.error().code, ErrorCode::Conflict);
}

TEST_F(Install, LinksAFolder) {
    EXPECT_EQ(install_link(home(), scratch.at("src/pdf")), "pdf");
    const auto list = list_installed(home());
    ASSERT_THAT(list, SizeIs(1));
    EXPECT_EQ(list[0].install_mode, "linked");
    EXPECT_EQ(list[0].link_target, scratch.at("src/pdf").string());
    EXPECT_TRUE(uninstall(home(), "pdf"));
    EXPECT_TRUE(scratch.has("src/pdf/SKILL.md")) << "only the link goes";
    EXPECT_THAT(list_installed(home()), IsEmpty());
    EXPECT_EQ(install_link(home(), scratch.at("src")).error().code, ErrorCode::NotFound);
}

TEST_F(Install, TakesNoLinkAndNoPipeIntoACopy) {
    scratch.write("key", "secret");
    fs::create_symlink(scratch.at("key"), scratch.at("src/pdf/references/key.md"));
    EXPECT_EQ(read_tree(scratch.at("src/pdf")).error().code, ErrorCode::Refused);
    EXPECT_FALSE(scratch.has("home/skills/pdf"));
}

TEST_F(Install, KeepsEveryPathInItsFolder) {
    for (const char* path : {"../x", "/x", "a/../../x", "a//b", "", "a\\b", "."}) {
        const Tree tree{"bad", {{"SKILL.md", "x"}, {path, "x"}}};
        EXPECT_FALSE(install_copy(home(), tree)) << path;
    }
    for (const char* name : {"..", ".", ".hidden", "a/b", "", "a b"})
        EXPECT_FALSE(install_copy(home(), {name, {{"SKILL.md", "x"}}})) << name;
    EXPECT_FALSE(install_copy(home(), {"none", {{"README.md", "x"}}}));
    EXPECT_THAT(list_installed(home()), IsEmpty());
}

TEST_F(Install, HasTheFourBuiltinSkills) {
    EXPECT_THAT(builtin_skills(), SizeIs(4));
    for (const auto& tree : builtin_skills()) {
        EXPECT_EQ(install_copy(home(), tree), tree.name);
        EXPECT_EQ(describe(tree.files[0].bytes, "-").name, tree.name);
    }
    for (const auto& skill : list_installed(home())) {
        EXPECT_EQ(skill.install_mode, "builtin");
        EXPECT_TRUE(skill.description);
    }
}

TEST_F(Install, ShowsWhatIsBrokenAndRemovesOnlySkills) {
    fs::create_directories(scratch.at("home/skills/empty"));
    fs::create_directory_symlink(scratch.at("gone"), scratch.at("home/skills/dangling"));
    const auto list = list_installed(home());
    ASSERT_THAT(list, SizeIs(2));
    for (const auto& skill : list) EXPECT_TRUE(skill.warning) << skill.name;
    EXPECT_EQ(uninstall(home(), "empty").error().code, ErrorCode::Refused);
    EXPECT_TRUE(uninstall(home(), "dangling"));
    EXPECT_EQ(uninstall(home(), "never").error().code, ErrorCode::NotFound);
    EXPECT_EQ(uninstall(home(), "../src").error().code, ErrorCode::NotFound);
}

TEST_F(Install, FindsTheUsersSkillsByName) {
    scratch.write("user/.codex/skills/one/SKILL.md", "---\nname: tool\n---\n");
    EXPECT_EQ(find_named(scratch.at("user"), "one"), scratch.at("user/.codex/skills/one"));
    EXPECT_EQ(find_named(scratch.at("user"), "tool"), scratch.at("user/.codex/skills/one"));
    scratch.write("user/.codex/skills/tool/SKILL.md", "x");
    EXPECT_EQ(find_named(scratch.at("user"), "tool").error().code, ErrorCode::Conflict);
    EXPECT_EQ(find_named(scratch.at("user"), "other").error().code, ErrorCode::NotFound);
}

}  // namespace
}  // namespace skills
