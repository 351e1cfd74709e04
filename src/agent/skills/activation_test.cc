#include "agent/skills/activation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skills {
namespace {

using domain::ActivationSource;
using domain::ActivationState;
using domain::LoadReason;
using testing::ElementsAre;
using testing::IsEmpty;

const domain::Skill kPdf{.skill_id = "agent:pdf",
                         .name = "PDF",
                         .path = "/h/main/skills/pdf/SKILL.md",
                         .scope = domain::SkillScope::Agent};
const domain::Skill kLint{.skill_id = "workspace:lint",
                          .name = "lint",
                          .path = "/p/.agents/skills/lint/SKILL.md",
                          .scope = domain::SkillScope::Workspace};

std::vector<Use> uses(std::string_view command, const std::string& cwd = "/p") {
    return uses_of({.skills = {kPdf, kLint}}, command,
                   {.cwd = cwd, .anchor = "/p", .user_home = "/h"});
}

TEST(SkillUse, IsACommandThatNamesTheSkillFileOrAScript) {
    const std::vector<std::string> reads{
        "sed -n 1,20p /h/main/skills/pdf/SKILL.md", "cat '/h/main/skills/pdf/SKILL.md'|head",
        "cat ~/main/skills/pdf/SKILL.md", "cat \"$HOME/main/skills/pdf/SKILL.md\""};
    for (const auto& command : reads)
        EXPECT_THAT(uses(command), ElementsAre(Use{kPdf, LoadReason::ReadSkillMd, kPdf.path}))
            << command;
    EXPECT_THAT(uses("cat SKILL.md", "/h/main/skills/pdf"),
                ElementsAre(Use{kPdf, LoadReason::ReadSkillMd, kPdf.path}));
    EXPECT_THAT(
        uses("./scripts/run.py --all", "/h/main/skills/pdf"),
        ElementsAre(Use{kPdf, LoadReason::RunSkillScript, "/h/main/skills/pdf/scripts/run.py"}));
    EXPECT_THAT(uses("python3 .agents/skills/lint/scripts/a/b.py x"),
                ElementsAre(Use{kLint, LoadReason::RunSkillScript,
                                "/p/.agents/skills/lint/scripts/a/b.py"}));
    EXPECT_THAT(
        uses("ls /p/.agents/skills/lint/scripts"),
        ElementsAre(Use{kLint, LoadReason::RunSkillScript, "/p/.agents/skills/lint/scripts"}));
    // Reading it counts for more than running a script of it; two skills are two uses.
    EXPECT_THAT(uses("cat .agents/skills/lint/SKILL.md && .agents/skills/lint/scripts/x; cat "
                     "/h/main/skills/pdf/SKILL.md"),
                ElementsAre(Use{kPdf, LoadReason::ReadSkillMd, kPdf.path},
                            Use{kLint, LoadReason::ReadSkillMd, kLint.path}));
}

TEST(SkillUse, IsNothingElse) {
    for (const char* command :
         {"ls /h/main/skills/pdf", "cat /h/main/skills/pdf/SKILL.md.bak",
          "cat /other/h/main/skills/pdf/SKILL.md", "cat /h/main/skills/pdf2/SKILL.md",
          "cat SKILL.md", "scripts/build.sh", "cat /h/main/skills/pdf/references/a.md"})
        EXPECT_THAT(uses(command), IsEmpty()) << command;
    EXPECT_TRUE(may_use_skill("cat SKILL.md"));
    EXPECT_FALSE(may_use_skill("make test"));
}

TEST(SkillActivation, LastsForATurnAndIsKeptByOneThatCompletes) {
    std::vector<domain::ActiveSkill> active;
    EXPECT_FALSE(activate(active, {kPdf}, {"main"}, 3, "one"));
    EXPECT_EQ(active, (std::vector{domain::ActiveSkill{.skill_id = "agent:pdf",
                                                       .name = "PDF",
                                                       .path = kPdf.path,
                                                       .agent_id = "main",
                                                       .activated_at_turn = 3,
                                                       .session = "one"}}));
    EXPECT_THAT(at_turn_start(active, "one"), IsEmpty()) << "the turn did not complete";
    promote(active);
    EXPECT_EQ(active[0].activation_state, ActivationState::SessionActive);
    EXPECT_EQ(at_turn_start(active, "one"), active);
    // Used again, it is a skill of the turn.
    EXPECT_TRUE(activate(active, {kPdf}, {"main"}, 4, "one"));
    EXPECT_EQ(active.size(), 1U);
    EXPECT_EQ(active[0].activation_state, ActivationState::TurnActive);
}

TEST(SkillActivation, OfAnEarlierRuntimeIsRestored) {
    std::vector<domain::ActiveSkill> active;
    activate(active, {kPdf}, {"main"}, 1, "one");
    promote(active);
    activate(active, {kLint}, {"main"}, 2, "one");
    const auto seen = shown(active, "two");
    EXPECT_EQ(seen[0].activation_source, ActivationSource::Restored);
    EXPECT_EQ(seen[0].activation_state, ActivationState::SessionActive);
    EXPECT_EQ(seen[1].activation_source, ActivationSource::ImplicitFromCatalog);
    ASSERT_EQ(at_turn_start(active, "two").size(), 1U);
    EXPECT_EQ(at_turn_start(active, "two")[0].activation_source, ActivationSource::Restored);
}

TEST(SkillActivation, IsBounded) {
    std::vector<domain::ActiveSkill> active;
    for (std::size_t i = 0; i < kActiveMax + 5; ++i)
        activate(active, {{.skill_id = std::to_string(i)}}, {"main"}, 1, "one");
    EXPECT_EQ(active.size(), kActiveMax);
    EXPECT_EQ(active.front().skill_id, "5");
}

// contract: SKILL-21
TEST(SkillActivation, KnowsAReasonThatNothingGivesYet) {
    EXPECT_EQ(base::enum_from<LoadReason>("prompt_injection"), LoadReason::PromptInjection);
    for (const char* command : {"cat /h/main/skills/pdf/SKILL.md", "/h/main/skills/pdf/scripts/x"})
        for (const auto& use : uses(command)) EXPECT_NE(use.reason, LoadReason::PromptInjection);
}

}  // namespace
}  // namespace skills
