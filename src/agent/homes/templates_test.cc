#include "agent/homes/templates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/homes/builtin_templates.h"
#include "agent/homes/marker.h"
#include "agent/skills/scratch_for_test.h"
#include "base/json.h"

namespace homes {
namespace {

namespace fs = std::filesystem;
using base::ErrorCode;
using skills::Scratch;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// contract: INIT-03
TEST(TemplateSelector, IsAnIdAPathOrAnAddressAndNothingElse) {
    EXPECT_EQ(parse_selector("holon-default"), Selector(TemplateById{"holon-default"}));
    EXPECT_EQ(parse_selector("/t/mine"), Selector(TemplateAt{"/t/mine"}));
    EXPECT_TRUE(std::holds_alternative<skills::GithubFolder>(
        parse_selector("https://github.com/o/r/tree/main/t").value()));
    for (const char* wrong :
         {"./mine", "a/b", "../x", "..", "file:///t/mine", "~/t", "", "https://github.com/o/r",
          "https://example.com/o/r/tree/m/t", "https://github.com/o/r/blob/main/t", "a b", "a..b"})
        EXPECT_EQ(parse_selector(wrong).error().code, ErrorCode::InvalidInput) << wrong;
}

TEST(SkillRefs, AreOfThreeKinds) {
    EXPECT_THAT(parse_skill_refs(R"({"skill_refs": [
                    {"kind": "builtin", "name": "ghx"}, {"kind": "local", "path": "/s"},
                    {"kind": "github", "package": "o/r@s"}]})")
                    .value(),
                ElementsAre(SkillRef{.kind = SkillRefKind::Builtin, .name = "ghx"},
                            SkillRef{.kind = SkillRefKind::Local, .path = "/s"},
                            SkillRef{.kind = SkillRefKind::Github, .package = "o/r@s"}));
    EXPECT_THAT(parse_skill_refs(R"({"skill_refs": []})").value(), IsEmpty());
    for (const char* wrong :
         {"", "[]", "{}", R"({"skill_refs": [], "more": 1})",
          R"({"skill_refs": [{"kind": "local", "path": "relative"}]})",
          R"({"skill_refs": [{"kind": "builtin"}]})", R"({"skill_refs": [{"kind": "magic"}]})",
          R"({"skill_refs": [{"kind": "builtin", "name": "x", "path": "/x"}]})",
          R"({"skill_refs": ["ghx"]})"})
        EXPECT_FALSE(parse_skill_refs(wrong)) << wrong;
}

class Templates : public testing::Test {
protected:
    TemplateSources sources() const { return {.folder = scratch.at("templates")}; }
    Scratch scratch;
};

TEST_F(Templates, AreFoundByIdAndByPath) {
    scratch.write("templates/mine/AGENTS.md", "Be mine.\n");
    const auto by_id = load_template(sources(), "mine").value();
    EXPECT_EQ(by_id.agents_md, "Be mine.\n");
    EXPECT_EQ(by_id.source, (json::object{{"kind", "template_id"},
                                          {"template_id", "mine"},
                                          {"path", scratch.at("templates/mine").string()}}));
    const auto by_path = load_template(sources(), scratch.at("templates/mine").string()).value();
    EXPECT_EQ(base::string_at(by_path.source, "kind"), "local_path");
    const auto unknown = load_template(sources(), "never");
    EXPECT_EQ(unknown.error().code, ErrorCode::NotFound);
    EXPECT_THAT(unknown.error().message, HasSubstr("mine"));
}

// contract: INIT-07
TEST_F(Templates, HaveAnAgentsMdThatSaysSomething) {
    fs::create_directories(scratch.at("templates/none"));
    scratch.write("templates/blank/AGENTS.md", " \n");
    scratch.write("key", "secret");
    fs::create_directories(scratch.at("templates/linked"));
    fs::create_symlink(scratch.at("key"), scratch.at("templates/linked/AGENTS.md"));
    for (const char* id : {"none", "blank", "linked"}) {
        EXPECT_FALSE(load_template(sources(), id)) << id;
        EXPECT_THAT(load_template(sources(), id).error().message, Not(HasSubstr("secret")));
    }
}

// contract: INIT-08, INIT-09, INIT-10
TEST_F(Templates, NameTheSkillsThatComeWithThem) {
    scratch.write("src/pdf/SKILL.md", "x");
    scratch.write("templates/mine/AGENTS.md", "Be mine.\n");
    scratch.write(
        "templates/mine/skills.json",
        R"({"skill_refs": [{"kind": "builtin", "name": "ghx"}, {"kind": "local", "path": ")" +
            scratch.at("src/pdf").string() + R"("}]})");
    const auto made = load_template(sources(), "mine").value();
    const auto trees = load_skills(sources(), made.skill_refs).value();
    ASSERT_EQ(trees.size(), 2U);
    EXPECT_EQ(trees[0].name, "ghx");
    EXPECT_EQ(trees[1].name, "pdf");
    EXPECT_FALSE(load_skills(sources(), {{.kind = SkillRefKind::Builtin, .name = "never"}}));
    EXPECT_FALSE(load_skills(sources(), {{.kind = SkillRefKind::Builtin, .name = "ghx"},
                                         {.kind = SkillRefKind::Builtin, .name = "ghx"}}));
}

// contract: INIT-11
TEST_F(Templates, GetSkillsOfGithubFromTheInstallerOfSkills) {
    auto from = sources();
    from.fetch = [](const std::string&) {
        return base::Result<skills::Fetched>(skills::Fetched{404, ""});
    };
    skills::Github github(from.fetch, from.github_api);
    for (const char* package : {"o/r@never", "nonsense"})
        EXPECT_EQ(load_skills(from, {{.kind = SkillRefKind::Github, .package = package}}).error(),
                  skills::read_remote(github, package, std::nullopt).error());
}

// contract: INIT-22
TEST_F(Templates, OfTheProgramAreListedBeforeTheUsersOwn) {
    ASSERT_TRUE(seed_templates(scratch.at("templates")));
    scratch.write("templates/mine/AGENTS.md", "# Mine\n\nDoes what I say.\n");
    scratch.write("templates/holon-release/AGENTS.md", "# Edited\n");
    std::vector<std::string> ids;
    for (const auto& entry : list_templates(scratch.at("templates")))
        ids.push_back(entry.catalog_id);
    EXPECT_THAT(ids, ElementsAre("builtin:holon-default", "builtin:holon-developer",
                                 "builtin:holon-github-solve", "builtin:holon-reviewer",
                                 "user_global:holon-release", "user_global:mine"));
    const auto list = list_templates(scratch.at("templates"));
    EXPECT_EQ(list.back().description, "Does what I say.");
    EXPECT_EQ(list[4].description, "Edited");
    EXPECT_THAT(*list[2].included_skills, Contains("github-review"));
}

class Seeding : public Templates {
protected:
    base::Status seed() { return seed_templates(scratch.at("templates")); }
    void mark(const std::string& id, const std::string& text, std::int64_t version) {
        scratch.write("templates/" + id + "/AGENTS.md", text);
        scratch.write("templates/" + id + "/" + kMarkerFile,
                      base::json_text(base::to_json(Marker{id, version, content_hash(text, "")})));
    }
    std::string text(const std::string& id) {
        return scratch.read("templates/" + id + "/AGENTS.md");
    }
};

// contract: INIT-21
TEST_F(Seeding, WritesEveryTemplateOnce) {
    ASSERT_TRUE(seed());
    for (const auto& builtin : builtin_templates()) {
        EXPECT_EQ(text(std::string(builtin.id)), builtin.agents_md);
        EXPECT_EQ(load_template(sources(), builtin.id).value().agents_md, builtin.agents_md);
        EXPECT_TRUE(load_skills(sources(), load_template(sources(), builtin.id)->skill_refs));
    }
    const auto before = fs::last_write_time(scratch.at("templates/holon-default"));
    ASSERT_TRUE(seed());
    EXPECT_EQ(fs::last_write_time(scratch.at("templates/holon-default")), before);
}

// contract: INIT-23
TEST_F(Seeding, RenewsWhatNobodyHasChanged) {
    mark("holon-default", "Of an earlier version.\n", 0);
    ASSERT_TRUE(seed());
    EXPECT_EQ(text("holon-default"), find_builtin("holon-default")->agents_md);
    EXPECT_TRUE(read_seeded(scratch.at("templates/holon-default"))->is_unchanged);
}

// contract: INIT-24
TEST_F(Seeding, LeavesWhatSomebodyHasChangedOrMade) {
    mark("holon-default", "Of an earlier version.\n", 0);
    scratch.write("templates/holon-default/AGENTS.md", "Edited.\n");
    scratch.write("templates/holon-developer/AGENTS.md", "My own, without a mark.\n");
    mark("holon-reviewer", "Of an earlier version.\n", 0);
    scratch.write("templates/holon-reviewer/notes.md", "mine");
    ASSERT_TRUE(seed());
    EXPECT_EQ(text("holon-default"), "Edited.\n");
    EXPECT_EQ(text("holon-developer"), "My own, without a mark.\n");
    EXPECT_EQ(text("holon-reviewer"), "Of an earlier version.\n");
    EXPECT_EQ(scratch.read("templates/holon-reviewer/notes.md"), "mine");
}

TEST_F(Seeding, RestoresALostAgentsMd) {
    ASSERT_TRUE(seed());
    fs::remove(scratch.at("templates/holon-default/AGENTS.md"));
    EXPECT_TRUE(load_template(sources(), "holon-default")) << "it works without its folder";
    ASSERT_TRUE(seed());
    EXPECT_EQ(text("holon-default"), find_builtin("holon-default")->agents_md);
}

}  // namespace
}  // namespace homes
