#include "agent/skills/catalogue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/skills/scratch_for_test.h"

namespace skills {
namespace {

namespace fs = std::filesystem;
using domain::SkillScope;
using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> ids(const Catalogue& catalogue) {
    std::vector<std::string> list;
    for (const auto& skill : catalogue.skills) list.push_back(skill.skill_id);
    return list;
}

class Skills : public testing::Test {
protected:
    Places places() const {
        return {scratch.at("user"), scratch.at("home"), scratch.at("project")};
    }
    void skill(const std::string& folder) {
        scratch.write(folder + "/SKILL.md", "---\nname: x\ndescription: d\n---\nbody\n");
    }
    Scratch scratch;
};

// contract: SKILL-01, SKILL-02
TEST_F(Skills, AreFoldersWithASkillFileInThreeScopes) {
    skill("user/.agents/skills/one");
    skill("home/skills/two");
    skill("project/.agents/skills/three");
    scratch.write("home/skills/none/README.md", "no skill");
    scratch.write("home/skills/SKILL.md", "not in a folder of its own");
    const auto found = discover(places());
    EXPECT_THAT(ids(found), ElementsAre("agent:two", "user:one", "workspace:three"));
    EXPECT_EQ(found.skills[0],
              (domain::Skill{.skill_id = "agent:two",
                             .name = "x",
                             .description = "d",
                             .path = scratch.at("home/skills/two/SKILL.md").string(),
                             .scope = SkillScope::Agent}));
    EXPECT_THAT(
        found.roots,
        ElementsAre(domain::SkillRoot{SkillScope::User, scratch.at("user/.agents/skills").string()},
                    domain::SkillRoot{SkillScope::Agent, scratch.at("home/skills").string()},
                    domain::SkillRoot{SkillScope::Workspace,
                                      scratch.at("project/.agents/skills").string()}));
}

// contract: SKILL-03, SKILL-04, SKILL-05, SKILL-06
TEST_F(Skills, ComeFromTheFirstRootOfTheirScopeThatExists) {
    struct Scope {
        std::string below;
        std::string prefix;
        std::vector<std::string> roots;  // The first one last.
    };
    for (const auto& [below, prefix, roots] :
         {Scope{"user", "user", {".claude/skills", ".codex/skills", ".agents/skills"}},
          Scope{"home", "agent", {".claude/skills", ".codex/skills", ".agents/skills", "skills"}},
          Scope{"project", "workspace", {".claude/skills", ".codex/skills", ".agents/skills"}}}) {
        for (std::size_t i = 0; i < roots.size(); ++i) {
            skill(below + "/" + roots[i] + "/s" + std::to_string(i));
            EXPECT_THAT(ids(discover(places())), ElementsAre(prefix + ":s" + std::to_string(i)));
        }
        // An empty root is a root.
        fs::remove_all(
            scratch.at(below + "/" + roots.back() + "/s" + std::to_string(roots.size() - 1)));
        EXPECT_THAT(ids(discover(places())), IsEmpty()) << below;
        fs::remove_all(scratch.at(below));
    }
}

// contract: SKILL-07, SKILL-08, SKILL-09
TEST_F(Skills, OfTheUserAreForTheDefaultAgentOnly) {
    skill("user/.agents/skills/one");
    skill("home/skills/two");
    skill("project/.agents/skills/three");
    domain::Agent agent{.agent_id = {"a"}};
    agent.active_workspace_entry =
        domain::WorkspaceEntry{.workspace_anchor = scratch.at("project").string()};
    const auto seen = [&](domain::AgentKind kind) {
        agent.identity.kind = kind;
        return ids(discover(places_of(agent, scratch.at("user"), scratch.at("home"))));
    };
    EXPECT_THAT(seen(domain::AgentKind::Default),
                ElementsAre("agent:two", "user:one", "workspace:three"));
    EXPECT_THAT(seen(domain::AgentKind::Named), ElementsAre("agent:two", "workspace:three"));
    EXPECT_THAT(seen(domain::AgentKind::Child), ElementsAre("agent:two", "workspace:three"));
    // At home the same folder is not a second scope.
    agent.active_workspace_entry->workspace_anchor = scratch.at("home").string();
    skill("home/.agents/skills/four");
    EXPECT_THAT(seen(domain::AgentKind::Named), ElementsAre("agent:two"));
}

TEST_F(Skills, MayBeLinkedFoldersButNotLinkedFiles) {
    skill("elsewhere/linked");
    scratch.write("key", "the secret of the user");
    fs::create_directories(scratch.at("home/skills/bad"));
    fs::create_directory_symlink(scratch.at("elsewhere/linked"), scratch.at("home/skills/linked"));
    fs::create_symlink(scratch.at("key"), scratch.at("home/skills/bad/SKILL.md"));
    EXPECT_THAT(ids(discover(places())), ElementsAre("agent:linked"));
}

TEST(SkillFile, IsDescribedByItsFrontMatter) {
    struct Case {
        const char* text;
        Described said;
    };
    for (const auto& [text, said] : std::vector<Case>{
             {"---\nname: pdf\ndescription: \"Read: PDF files\"\nlicense: MIT\n---\n# x\n",
              {"pdf", "Read: PDF files"}},
             {"---\nname: pdf\ndescription: >\n  Reads\n  files.\n---\n", {"pdf", "Reads files."}},
             {"---\nname: pdf\nmetadata:\n  version: 1\ndescription: |-\n  One.\n  Two.\n---\n",
              {"pdf", "One. Two."}},
             // Not YAML, and common.
             {"---\nname: pdf\ndescription: Use it when: a file is a PDF\n---\n",
              {"pdf", "Use it when: a file is a PDF"}},
             {"\xEF\xBB\xBF---\r\nname: pdf\r\ndescription: d\r\n---\r\nbody\r\n", {"pdf", "d"}},
             {"# Title\n\nFirst paragraph,\ntwo lines.\n\nSecond.\n",
              {"folder", "First paragraph, two lines."}},
             {"---\nname: unclosed\n", {"folder", "--- name: unclosed"}},
             {"", {"folder", std::nullopt}},
             {"---\nname: [a, b]\ndescription: {x: y}\n---\n", {"folder", std::nullopt}},
             {"---\nname: \"a\\nb\\e[31m\"\n---\n", {"a b\\x1b[31m", std::nullopt}}})
        EXPECT_EQ(describe(text, "folder"), said) << text;
}

}  // namespace
}  // namespace skills
