#include "agent/homes/homes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/homes/builtin_templates.h"
#include "agent/identity/agent_lock.h"
#include "agent/skills/scratch_for_test.h"
#include "base/json.h"

namespace homes {
namespace {

namespace fs = std::filesystem;
using base::ErrorCode;
using testing::HasSubstr;

class AgentHomes : public testing::Test {
protected:
    AgentHomes() { scratch.write("templates/mine/AGENTS.md", "Be mine.\n"); }

    Homes::Parts parts() const {
        return {.holon_home = scratch.at("holon"),
                .home_of =
                    [this](const domain::AgentId& agent) {
                        return scratch.at("holon/agents/" + agent.value);
                    },
                .templates = {.folder = scratch.at("templates")}};
    }
    base::Result<Creation> create(const std::string& agent,
                                  const std::optional<std::string>& selector) {
        return homes.create({agent}, selector, base::from_micros(0));
    }
    std::string home(const std::string& agent, const std::string& file) const {
        return "holon/agents/" + agent + "/" + file;
    }
    skills::Scratch scratch;
    Homes homes{parts()};
};

// contract: INIT-12, INIT-13, INIT-14, INIT-15, INIT-16, INIT-19
TEST_F(AgentHomes, AreMadeWholeFromATemplate) {
    scratch.write("templates/mine/skills.json",
                  R"({"skill_refs": [{"kind": "builtin", "name": "ghx"}]})");
    create("k", "mine").value().keep();
    EXPECT_EQ(scratch.read(home("k", "AGENTS.md")), "Be mine.\n");
    EXPECT_THAT(scratch.read(home("k", "README.md")), HasSubstr("# Agent home"));
    for (const char* file : {"memory/self.md", "memory/operator.md", "skills/ghx/SKILL.md"})
        EXPECT_TRUE(fs::is_regular_file(scratch.at(home("k", file)))) << file;
    for (const char* folder : {"notes", "work", "skills", ".holon", ".holon/state"})
        EXPECT_TRUE(fs::is_directory(scratch.at(home("k", folder)))) << folder;
    const auto provenance =
        base::parse_json(scratch.read(home("k", ".holon/state/template-provenance.json"))).value();
    EXPECT_EQ(base::string_at(provenance, "selector"), "mine");
    EXPECT_EQ(provenance.at("source").at("template_id"), "mine");
    EXPECT_TRUE(fs::is_empty(scratch.at("holon/staging")));
}

// contract: INIT-17, INIT-18
TEST_F(AgentHomes, AreNotMadeAtAllWhenSomethingIsMissing) {
    scratch.write("templates/broken/AGENTS.md", "Be broken.\n");
    scratch.write("templates/broken/skills.json", R"({"skill_refs": [
        {"kind": "builtin", "name": "ghx"}, {"kind": "local", "path": "/nowhere/at/all"}]})");
    for (const char* selector : {"never", "broken", "/nowhere/at/all", "./relative"}) {
        EXPECT_FALSE(create("k", selector)) << selector;
        EXPECT_FALSE(scratch.has("holon/agents/k")) << selector;
    }
}

TEST_F(AgentHomes, AreRemovedWhenTheAgentIsNotStored) {
    {
        const auto made = create("k", "mine").value();
        EXPECT_TRUE(scratch.has(home("k", "AGENTS.md")));
    }
    EXPECT_FALSE(scratch.has("holon/agents/k"));
    create("k", "mine").value().keep();
    EXPECT_TRUE(scratch.has(home("k", "AGENTS.md")));
}

TEST_F(AgentHomes, ThatWereLeftByADeadProcessAreSweptUnlessTheAgentIsStored) {
    for (const char* agent : {"stored", "lost"}) {
        auto made = create(agent, "mine").value();
        // The process dies: nothing is undone, and its lock is gone.
        fs::copy(scratch.at("holon/staging"), scratch.at("copy"), fs::copy_options::recursive);
        made.keep();
        fs::remove_all(scratch.at("holon/staging"));
        fs::rename(scratch.at("copy"), scratch.at("holon/staging"));
        if (std::string(agent) == "stored") {
            Homes(parts()).prepare([](const domain::AgentId&) { return true; });
            EXPECT_TRUE(scratch.has(home("stored", "AGENTS.md")));
            EXPECT_TRUE(fs::is_empty(scratch.at("holon/staging")));
        }
    }
    Homes(parts()).prepare([](const domain::AgentId& agent) { return agent.value == "stored"; });
    EXPECT_FALSE(scratch.has("holon/agents/lost"));
    EXPECT_TRUE(scratch.has(home("stored", "AGENTS.md")));
    EXPECT_TRUE(fs::is_empty(scratch.at("holon/staging")));
}

TEST_F(AgentHomes, UnderConstructionAreLeftToTheirProcess) {
    const auto made = create("k", "mine").value();
    Homes(parts()).prepare([](const domain::AgentId&) { return false; });
    EXPECT_TRUE(scratch.has(home("k", "AGENTS.md")));
    EXPECT_EQ(Homes(parts()).create({"k"}, "mine", {}).error().code, ErrorCode::Conflict);
}

TEST_F(AgentHomes, WithContentGetNoTemplateAndLoseNothing) {
    scratch.write(home("k", "AGENTS.md"), "My own.\n");
    EXPECT_EQ(create("k", "mine").error().code, ErrorCode::Conflict);
    EXPECT_EQ(scratch.read(home("k", "AGENTS.md")), "My own.\n");
    EXPECT_FALSE(scratch.has(home("k", "notes")));
    create("k", std::nullopt).value().keep();
    EXPECT_EQ(scratch.read(home("k", "AGENTS.md")), "My own.\n");
    EXPECT_TRUE(scratch.has(home("k", "notes")));
    // The lock of the agent is not content.
    {
        const auto lock = identity::lock_agent(scratch.at("holon/agents/j"), "j");
    }
    create("j", "mine").value().keep();
    EXPECT_EQ(scratch.read(home("j", "AGENTS.md")), "Be mine.\n");
}

// contract: INIT-25, INIT-26
TEST_F(AgentHomes, OfTheDefaultAgentComeFromItsTemplateAndKeepWhatIsThere) {
    ASSERT_TRUE(seed_templates(scratch.at("templates")));
    create("main", std::nullopt).value().keep();
    EXPECT_EQ(scratch.read(home("main", "AGENTS.md")),
              scratch.read("templates/holon-default/AGENTS.md"));
    scratch.write(home("main", "AGENTS.md"), "Mine.\n");
    ASSERT_TRUE(homes.complete({"main"}));
    EXPECT_EQ(scratch.read(home("main", "AGENTS.md")), "Mine.\n");
    fs::remove(scratch.at(home("main", "AGENTS.md")));
    ASSERT_TRUE(homes.complete({"main"}));
    EXPECT_EQ(scratch.read(home("main", "AGENTS.md")), find_builtin(kDefaultTemplate)->agents_md);
}

TEST_F(AgentHomes, AreCompletedThroughNoLink) {
    scratch.write("outside/keep", "x");
    fs::create_directories(scratch.at("holon/agents/k"));
    fs::create_directory_symlink(scratch.at("outside"), scratch.at(home("k", "memory")));
    EXPECT_TRUE(homes.complete({"k"}));
    EXPECT_FALSE(scratch.has("outside/self.md"));
    EXPECT_TRUE(scratch.has(home("k", "notes")));
}

}  // namespace
}  // namespace homes
