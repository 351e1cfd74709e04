// Skills as agents discover and use them, and as operators install them; on the built program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/scan/engine/encodings.h"
#include "base/text.h"
#include "tests/e2e/program.h"
#include "tests/support/fake_model_server.h"

namespace e2e {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

class Skills : public testing::Test {
protected:
    Skills() {
        program.script({says("Hello.")});
        EXPECT_EQ(program.run({"run", "--agent", "k", "--create-agent", "hi"}).exit_code, 0);
        make_skill(program.agent_home("k") / "skills/pdf");
        make_skill(program.repo() / ".agents/skills/lint");
    }
    void make_skill(const fs::path& folder) {
        fs::create_directories(folder / "scripts");
        const std::string name = folder.filename().string();
        program.write(folder / "SKILL.md", "---\nname: " + name + "\ndescription: About " + name +
                                               "\n---\nBODY-MARK of " + name + "\n");
        program.write(folder / "scripts/run.sh", "echo ran\n");
    }
    std::string pdf(const std::string& file) const {
        return (program.agent_home("k") / "skills/pdf" / file).string();
    }
    // One turn that makes these rounds and then says that it is done.
    void turn(json::array rounds) {
        rounds.push_back(says("Done."));
        program.script(std::move(rounds));
        EXPECT_EQ(program.run({"run", "--agent", "k", "go on"}).exit_code, 0);
    }
    std::vector<json::value> activated() { return program.events("k", "skill_activated"); }
    json::array active() {
        return program.json_of({"status", "--agent", "k", "--json"})
            .at("skills")
            .at("active_skills")
            .as_array();
    }
    std::string prompt() { return program.run({"debug", "prompt", "--agent", "k", "x"}).out; }

    Program program;
};

// contract: SKILL-10, SKILL-12, SKILL-13, SKILL-14, SKILL-15
TEST_F(Skills, AreInThePromptByNameAndInactiveUntilTheyAreUsed) {
    turn({});
    const std::string text = prompt();
    EXPECT_THAT(text, HasSubstr("- [agent] pdf :: " + pdf("SKILL.md") + " (About pdf)"));
    EXPECT_THAT(text, HasSubstr("- [workspace] lint :: "));
    EXPECT_THAT(text, HasSubstr("open its SKILL.md before you follow its workflow"));
    EXPECT_THAT(text, Not(HasSubstr("BODY-MARK")));
    EXPECT_THAT(text, Not(HasSubstr("## active_skills")));
    EXPECT_THAT(activated(), IsEmpty());
    EXPECT_THAT(active(), IsEmpty());
    const auto skills = program.json_of({"status", "--agent", "k", "--json"}).at("skills");
    EXPECT_THAT(skills.at("discoverable_skills").as_array(), SizeIs(2));
    EXPECT_THAT(skills.at("discovered_roots").as_array(), SizeIs(2));
}

// contract: INSTR-11
TEST_F(Skills, AreGuidanceBetweenTheInstructionsAndTheTools) {
    program.write(program.agent_home("k") / "AGENTS.md", "AGENT-MARK\n");
    program.write(program.repo() / "AGENTS.md", "PROJECT-MARK\n");
    const std::string text = prompt();
    std::size_t last = 0;
    for (const char* part : {"## instruction_precedence", "## turn_modes", "AGENT-MARK",
                             "PROJECT-MARK", "## skills_usage_contract", "## tool_file_changes"}) {
        const auto at = text.find(part);
        ASSERT_NE(at, std::string::npos) << part;
        EXPECT_GT(at, last) << part;
        last = at;
    }
}

// contract: SKILL-11, SKILL-16, SKILL-17, SKILL-22, SKILL-23, SKILL-25, SKILL-27
TEST_F(Skills, AreActiveOnceTheirFileWasRead) {
    turn({runs("cat " + pdf("SKILL.md") + " && false")});
    EXPECT_THAT(activated(), IsEmpty()) << "the command failed";
    turn({runs("sed -n 1,20p " + pdf("SKILL.md"))});
    const auto events = activated();
    ASSERT_THAT(events, SizeIs(1)) << "and none for the promotion";
    const auto& data = events[0].at("data");
    EXPECT_EQ(base::string_at(data, "skill_id"), "agent:pdf");
    EXPECT_EQ(base::string_at(data, "activation_state"), "turn_active");
    EXPECT_EQ(base::string_at(data, "load_reason"), "read_skill_md");
    EXPECT_EQ(base::string_at(data, "path"), pdf("SKILL.md"));
    EXPECT_EQ(base::string_at(data, "entrypoint_path"), pdf("SKILL.md"));
    ASSERT_THAT(active(), SizeIs(1));
    EXPECT_EQ(base::string_at(active()[0], "activation_state"), "session_active");
    EXPECT_THAT(prompt(), HasSubstr("[session_active] agent:pdf :: " + pdf("SKILL.md")));
}

// contract: SKILL-19, SKILL-26
TEST_F(Skills, AreActiveOnceAScriptOfTheirsRan) {
    turn({runs("sh " + pdf("scripts/run.sh") + "; exit 3")});
    EXPECT_THAT(activated(), IsEmpty());
    turn({runs("sh .agents/skills/lint/scripts/run.sh")});
    const auto events = activated();
    ASSERT_THAT(events, SizeIs(1));
    const auto& data = events[0].at("data");
    const auto folder = fs::canonical(program.repo()) / ".agents/skills/lint";
    EXPECT_EQ(base::string_at(data, "load_reason"), "run_skill_script");
    EXPECT_EQ(base::string_at(data, "path"), (folder / "scripts/run.sh").string());
    EXPECT_EQ(base::string_at(data, "entrypoint_path"), (folder / "SKILL.md").string());
    EXPECT_EQ(base::string_at(active()[0], "skill_id"), "workspace:lint");
}

// contract: SKILL-18, SKILL-20
TEST_F(Skills, AreActiveOnceABatchUsedThem) {
    const json::array items{json::object{{"cmd", "cat " + pdf("SKILL.md")}},
                            json::object{{"cmd", "sh .agents/skills/lint/scripts/run.sh"}},
                            json::object{{"cmd", "true"}}};
    turn({calls("ExecCommandBatch", {{"items", items}})});
    std::vector<std::string> reasons;
    for (const auto& event : activated())
        reasons.push_back(base::string_at(event.at("data"), "load_reason"));
    EXPECT_THAT(reasons, ElementsAre("read_skill_md", "run_skill_script"));
}

// contract: SKILL-22, SKILL-24
TEST_F(Skills, OfATurnThatFailedAreDroppedAndOthersRestoredByTheNextProcess) {
    program.script({runs("cat " + pdf("SKILL.md")), runs("true"), says("Done.")});
    EXPECT_EQ(program.run({"run", "--agent", "k", "--max-turns", "1", "go on"}).exit_code, 4);
    for (const auto& skill : active())
        EXPECT_EQ(base::string_at(skill, "activation_state"), "turn_active");
    turn({});
    EXPECT_THAT(active(), IsEmpty());
    turn({runs("cat " + pdf("SKILL.md"))});
    ASSERT_THAT(active(), SizeIs(1));  // Each command is a process of its own.
    EXPECT_EQ(base::string_at(active()[0], "activation_source"), "restored");
    EXPECT_EQ(base::string_at(active()[0], "activation_state"), "session_active");
    turn({runs("cat " + pdf("SKILL.md"))});
    EXPECT_EQ(activated().back().at("data").at("repeated"), true);
}

TEST_F(Skills, AreInstalledAndRemovedByTheOperator) {
    make_skill(program.folder() / "mine");
    const auto names = [&] {
        std::vector<std::string> list;
        const auto answer = program.json_of({"skills", "list", "--agent", "k", "--json"});
        EXPECT_EQ(base::string_at(answer, "agent_id"), "k");
        for (const auto& skill : answer.at("skills").as_array())
            list.push_back(base::string_at(skill, "skill_id") + " " +
                           base::string_at(skill, "install_mode"));
        return list;
    };
    EXPECT_THAT(names(), ElementsAre("agent:pdf copied"));
    const auto install = [&](std::vector<std::string> words) {
        words.insert(words.begin(), {"skills", "install", "--agent", "k"});
        return program.run(words);
    };
    EXPECT_EQ(install({"../mine"}).exit_code, 0);
    EXPECT_EQ(install({"ghx"}).exit_code, 0);
    EXPECT_THAT(names(), ElementsAre("agent:ghx builtin", "agent:mine linked", "agent:pdf copied"));
    const auto again = install({"ghx"});
    EXPECT_EQ(again.exit_code, 1);
    EXPECT_THAT(again.err, HasSubstr("holon skills uninstall ghx"));
    EXPECT_THAT(prompt(), HasSubstr("- [agent] ghx :: "));
    const auto shown = program.json_of({"skills", "show", "mine", "--agent", "k", "--json"});
    EXPECT_THAT(base::string_at(shown, "text"), HasSubstr("BODY-MARK of mine"));
    for (const char* name : {"ghx", "mine"})
        EXPECT_EQ(program.run({"skills", "uninstall", name, "--agent", "k"}).exit_code, 0);
    EXPECT_THAT(names(), ElementsAre("agent:pdf copied"));
    EXPECT_TRUE(fs::exists(program.folder() / "mine/SKILL.md"));
    EXPECT_THAT(program.events("k", "skill_installed"), SizeIs(2));
    EXPECT_THAT(program.events("k", "skill_uninstalled"), SizeIs(2));
    EXPECT_EQ(install({"--skill", "x", "ghx"}).exit_code, 2);
    EXPECT_EQ(install({"--builtin", "--remote", "ghx"}).exit_code, 2);
}

// A skill as others write them, from a repository, used at once.
TEST_F(Skills, OfARepositoryWorkUnchanged) {
    test_support::FakeModelServer github;
    program.environment["HOLON_TEMPLATE_GITHUB_API_BASE"] =
        "http://127.0.0.1:" + std::to_string(github.port());
    const auto file = [&](const std::string& text) {
        github.enqueue(test_support::with_body(base::json_text(json::object{
            {"type", "file"}, {"encoding", "base64"}, {"content", scan::base64(text)}})));
    };
    const auto folder = [&](json::array entries) {
        github.enqueue(test_support::with_body(base::json_text(entries)));
    };
    const std::string skill =
        "---\nname: csv\ndescription: Count rows\nlicense: MIT\n---\nRun it.\n";
    file(skill);  // It is there,
    folder({json::object{{"name", "SKILL.md"}, {"type", "file"}},
            json::object{{"name", "scripts"}, {"type", "dir"}}});  // and this is in it.
    file(skill);
    folder({json::object{{"name", "count.sh"}, {"type", "file"}}});
    file("#!/bin/sh\necho counted\n");
    EXPECT_EQ(program.run({"skills", "install", "--remote", "o/r@csv", "--agent", "k"}).exit_code,
              0);
    const std::string script = (program.agent_home("k") / "skills/csv/scripts/count.sh").string();
    turn({runs(script)});
    ASSERT_THAT(activated(), SizeIs(1));
    EXPECT_EQ(base::string_at(activated()[0].at("data"), "path"), script);
    github.always(test_support::status_reply(500));
    EXPECT_EQ(program.run({"skills", "install", "--remote", "o/r@other", "--agent", "k"}).exit_code,
              1);
}

}  // namespace
}  // namespace e2e
