// How agents come into being: homes, templates, identities; on the built program.
#include <algorithm>
#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/scan/engine/encodings.h"
#include "tests/e2e/program.h"
#include "tests/support/fake_model_server.h"

namespace e2e {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

class Homes : public testing::Test {
protected:
    Homes() { program.script({says("Hello.")}); }

    fs::path templates() const { return program.folder() / ".agents/templates"; }
    void make_template(const std::string& id, const std::string& text,
                       const std::string& skills_json = "") {
        fs::create_directories(templates() / id);
        program.write(templates() / id / "AGENTS.md", text);
        if (!skills_json.empty()) program.write(templates() / id / "skills.json", skills_json);
    }
    std::string agents_md(const std::string& agent) {
        return program.read(program.agent_home(agent) / "AGENTS.md");
    }
    std::vector<std::string> agents() {
        std::vector<std::string> list;
        for (const auto& entry : program.json_of({"agent", "list", "--json"}).as_array())
            list.push_back(base::string_at(entry.at("identity"), "agent_id"));
        return list;
    }
    // The creation fails, and nothing is left of it.
    void expect_refused(const std::string& agent, const std::string& selector) {
        const auto done = program.run({"agent", "create", agent, "--template", selector});
        EXPECT_EQ(done.exit_code, 1) << selector << done.out;
        EXPECT_FALSE(fs::exists(program.agent_home(agent))) << selector;
        EXPECT_THAT(agents(), Not(Contains(agent)));
    }

    Program program;
};

// contract: INIT-01, INIT-02, INIT-04, INIT-05, INIT-20
TEST_F(Homes, AreMadeFromATemplateByIdOrPathOrWithoutOne) {
    make_template("mine", "Be MINE-MARK.\n");
    const auto made = program.json_of({"agent", "create", "a", "--template", "mine", "--json"});
    EXPECT_EQ(base::string_at(made, "agent_id"), "a");
    EXPECT_EQ(agents_md("a"), "Be MINE-MARK.\n");
    program.json_of(
        {"agent", "create", "b", "--template", (templates() / "mine").string(), "--json"});
    EXPECT_EQ(agents_md("b"), "Be MINE-MARK.\n");
    program.json_of({"agent", "create", "c", "--json"});
    EXPECT_TRUE(fs::is_directory(program.agent_home("c") / "memory"));
    EXPECT_FALSE(fs::exists(program.agent_home("c") / "AGENTS.md"));
    // From now on the home counts, not the template.
    make_template("mine", "Be CHANGED-MARK.\n");
    const auto prompt = [&] { return program.run({"debug", "prompt", "--agent", "a", "x"}).out; };
    EXPECT_THAT(prompt(), HasSubstr("MINE-MARK"));
    EXPECT_THAT(prompt(), Not(HasSubstr("CHANGED-MARK")));
    program.write(program.agent_home("a") / "AGENTS.md", "Be OWN-MARK.\n");
    EXPECT_THAT(prompt(), HasSubstr("OWN-MARK"));
    // An agent that exists gets no template.
    EXPECT_EQ(program.run({"agent", "create", "a", "--template", "mine"}).exit_code, 1);
    EXPECT_EQ(program.run({"agent", "create", "a"}).exit_code, 0);
}

TEST_F(Homes, AreNotLeftHalfMade) {
    make_template("broken", "Be broken.\n", R"({"skill_refs": [
        {"kind": "builtin", "name": "ghx"}, {"kind": "builtin", "name": "never"}]})");
    for (const char* selector :
         {"never", "broken", "./mine", "file:///tmp", "/nowhere/at/all", "https://github.com/o/r"})
        expect_refused("k", selector);
}

TEST_F(Homes, AppearWholeOrNotAtAllWhenTheProgramIsKilled) {
    constexpr int kKills = 16;
    for (int i = 0; i < kKills; ++i) {
        auto creating = program.start(
            {"agent", "create", "k" + std::to_string(i), "--template", "holon-github-solve"});
        (void)creating.ends_within(std::chrono::milliseconds(30 * i));
        creating.send(SIGKILL);
        creating.wait();
    }
    // The next process removes what those have left.
    EXPECT_EQ(program.run({"templates", "list"}).exit_code, 0);
    const auto known = agents();
    for (int i = 0; i < kKills; ++i) {
        const std::string agent = "k" + std::to_string(i);
        const bool is_known = std::ranges::find(known, agent) != known.end();
        EXPECT_EQ(fs::exists(program.agent_home(agent)), is_known) << agent;
        if (!is_known) continue;
        for (const char* file : {"AGENTS.md", "memory/self.md", "skills/github-review/SKILL.md",
                                 ".holon/state/template-provenance.json"})
            EXPECT_TRUE(fs::exists(program.agent_home(agent) / file)) << agent << file;
    }
    if (fs::exists(program.home() / "staging"))
        EXPECT_TRUE(fs::is_empty(program.home() / "staging"));
}

TEST_F(Homes, AreMadeFromATemplateOnGithub) {
    test_support::FakeModelServer github;
    program.environment["HOLON_TEMPLATE_GITHUB_API_BASE"] =
        "http://127.0.0.1:" + std::to_string(github.port());
    const auto file = [](const std::string& text) {
        return test_support::with_body(
            base::json_text(json::object{{"type", "file"},
                                         {"encoding", "base64"},
                                         {"content", scan::base64(text)},
                                         {"url", "more than is needed"}}));
    };
    github.enqueue(test_support::status_reply(404));
    github.enqueue(file("From afar.\n"));
    github.enqueue(test_support::status_reply(404));
    const std::string url = "https://github.com/o/r/tree/feature/x/agents/dev";
    program.json_of({"agent", "create", "k", "--template", url, "--json"});
    EXPECT_EQ(agents_md("k"), "From afar.\n");
    const auto asked = github.requests();
    ASSERT_EQ(asked.size(), 3U);
    EXPECT_EQ(asked[0].method, "GET");
    EXPECT_EQ(asked[0].path, "/repos/o/r/contents/x/agents/dev/AGENTS.md?ref=feature");
    EXPECT_EQ(asked[1].path, "/repos/o/r/contents/agents/dev/AGENTS.md?ref=feature%2Fx");
    EXPECT_EQ(asked[2].path, "/repos/o/r/contents/agents/dev/skills.json?ref=feature%2Fx");
    const auto provenance = base::parse_json(program.read(program.agent_home("k") /
                                                          ".holon/state/template-provenance.json"))
                                .value();
    EXPECT_EQ(provenance.at("source"), (json::value{{"kind", "git_hub_url"},
                                                    {"url", url},
                                                    {"owner", "o"},
                                                    {"repo", "r"},
                                                    {"git_ref", "feature/x"},
                                                    {"template_path", "agents/dev"}}));
    github.always(test_support::status_reply(500));
    expect_refused("j", url);
    github.always(test_support::resets());
    expect_refused("j", url);
}

TEST_F(Homes, AreListedByTheirTemplates) {
    make_template("mine", "# Mine\n\nDoes what I say.\n");
    const auto list = program.json_of({"templates", "list", "--json"}).as_array();
    std::vector<std::string> ids;
    for (const auto& entry : list) ids.push_back(base::string_at(entry, "template_id"));
    EXPECT_THAT(ids, testing::ElementsAre("holon-default", "holon-developer", "holon-github-solve",
                                          "holon-release", "holon-reviewer", "mine"));
    EXPECT_TRUE(fs::exists(templates() / "holon-default/AGENTS.md"));
    EXPECT_EQ(base::string_at(list.back(), "description"), "Does what I say.");
}

// contract: IDENT-13, IDENT-14
TEST_F(Homes, AreMadeByTheFirstRunThatMayMakeOne) {
    make_template("mine", "Be mine.\n");
    EXPECT_EQ(program.run({"run", "--agent", "k", "hi"}).exit_code, 1);
    EXPECT_FALSE(fs::exists(program.agent_home("k")));
    const std::vector<std::string> words{"run",        "--agent", "k", "--create-agent",
                                         "--template", "mine",    "hi"};
    EXPECT_EQ(program.run(words).exit_code, 0);
    EXPECT_EQ(agents_md("k"), "Be mine.\n");
    EXPECT_EQ(program.run({"run", "--agent", "k", "--create-agent", "again"}).exit_code, 0);
    EXPECT_EQ(of_kind(program.json_of({"transcript", "--agent", "k", "--json"}), "incoming_message")
                  .size(),
              2U);
    EXPECT_EQ(program.run({"run", "--agent", "j", "--template", "mine", "hi"}).exit_code, 2);
}

// contract: IDENT-10, IDENT-11, IDENT-12
TEST_F(Homes, ComeOnlyFromAnExplicitCreation) {
    EXPECT_EQ(program.run({"run", "hi"}).exit_code, 0);
    for (const auto& words :
         std::vector<std::vector<std::string>>{{"status", "--agent", "ghost"},
                                               {"run", "--agent", "ghost", "hi"},
                                               {"transcript", "--agent", "ghost"}})
        EXPECT_EQ(program.run(words).exit_code, 1);
    EXPECT_THAT(agents(), testing::IsEmpty());
    program.json_of({"agent", "create", "k", "--json"});
    EXPECT_THAT(agents(), testing::ElementsAre("k"));
}

// contract: IDENT-15
TEST_F(Homes, LeaveAnAgentInItsWorkspaceWhereverARunIsStarted) {
    EXPECT_EQ(program.run({"run", "--agent", "k", "--create-agent", "hi"}).exit_code, 0);
    const auto anchor = [&] {
        return base::string_at(
            program.json_of({"status", "--agent", "k", "--json"}).at("execution"),
            "workspace_anchor");
    };
    const std::string before = anchor();
    EXPECT_EQ(before, fs::canonical(program.repo()).string());
    program.started_in = program.folder() / "elsewhere";
    fs::create_directories(program.started_in);
    EXPECT_EQ(program.run({"run", "--agent", "k", "hi"}).exit_code, 0);
    EXPECT_EQ(anchor(), before);
}

// contract: IDENT-44, IDENT-50
TEST_F(Homes, AreShownToTheirAgentsWhoCannotMakeTasksOutOfNothing) {
    program.script({calls("AgentGet", {}), calls("CreateTask", {{"summary", "x"}}), says("Done.")});
    EXPECT_EQ(program.run({"run", "--agent", "k", "--create-agent", "hi"}).exit_code, 0);
    const auto results =
        of_kind(program.json_of({"transcript", "--agent", "k", "--json"}), "tool_results");
    ASSERT_EQ(results.size(), 2U);
    const auto& first = results[0].at("data").at("results").at(0);
    EXPECT_THAT(base::string_at(first, "content"), HasSubstr("Agent: k"));
    const auto& second = results[1].at("data").at("results").at(0);
    EXPECT_EQ(second.at("is_error"), true);
    EXPECT_EQ(base::string_at(second.at("error"), "kind"), "tool_not_exposed_for_round");
}

TEST_F(Homes, OfEarlierVersionsAreCompletedForTheDefaultAgent) {
    EXPECT_EQ(program.run({"run", "--agent", "main", "--create-agent", "hi"}).exit_code, 0);
    const auto home = program.agent_home("main");
    EXPECT_EQ(program.read(home / "AGENTS.md"),
              program.read(templates() / "holon-default/AGENTS.md"));
    for (const char* part : {"AGENTS.md", "README.md", "memory", "notes"})
        fs::remove_all(home / part);
    EXPECT_EQ(program.run({"run", "--agent", "main", "hi"}).exit_code, 0);
    EXPECT_EQ(program.read(home / "AGENTS.md"),
              program.read(templates() / "holon-default/AGENTS.md"));
    program.write(home / "AGENTS.md", "Mine.\n");
    EXPECT_EQ(program.run({"run", "--agent", "main", "hi"}).exit_code, 0);
    EXPECT_EQ(program.read(home / "AGENTS.md"), "Mine.\n");
}

}  // namespace
}  // namespace e2e
