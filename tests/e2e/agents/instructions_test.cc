// What the built program shows of an agent's standing instructions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "tests/e2e/program.h"

namespace e2e {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

class Instructions : public testing::Test {
protected:
    Instructions() {
        program.script({says("Hello.")});
        EXPECT_EQ(program.run({"run", "--agent", "k", "--create-agent", "hi"}).exit_code, 0);
    }
    std::string prompt() {
        return program.run({"debug", "prompt", "--agent", "k", "what now"}).out;
    }
    std::string repo() const { return fs::canonical(program.repo()).string(); }

    Program program;
};

// contract: INSTR-25, INSTR-26
TEST_F(Instructions, AreShownWithTheirSourcesAndTheExecutionContext) {
    program.write(program.agent_home("k") / "AGENTS.md", "Be brief.\n");
    program.write(program.repo() / "CLAUDE.md", "Use make.\n");
    const std::string text = prompt();
    const std::string home = fs::canonical(program.agent_home("k")).string();
    for (const std::string& line :
         {"\n- agent agents_md " + home + "/AGENTS.md\n",
          "\n- workspace claude_md_fallback " + repo() + "/CLAUDE.md\n",
          "\nagent_home: " + home + "\n", std::string("\nworkspace_id: ws-"),
          "\nworkspace_anchor: " + repo() + "\n", "\nexecution_root: " + repo() + "\n",
          "\ncwd: " + repo() + "\n", std::string("\nexecution_policy: backend host_local. ")})
        EXPECT_THAT(text, HasSubstr(line));
    program.write(program.repo() / "AGENTS.md", "Use ninja.\n");
    EXPECT_THAT(prompt(), HasSubstr("\n- workspace agents_md " + repo() + "/AGENTS.md\n"));
}

// contract: INSTR-27
TEST_F(Instructions, AreNamedInTheStatusAndNotQuoted) {
    program.write(program.agent_home("k") / "AGENTS.md", "AGENT-MARK\n");
    program.write(program.repo() / "AGENTS.md", "PROJECT-MARK\n");
    fs::create_directories(program.folder() / ".agents");
    program.write(program.folder() / ".agents/AGENTS.md", "USER-MARK\n");
    const auto status = program.json_of({"status", "--agent", "k", "--json"});
    EXPECT_EQ(
        status.at("loaded_agents_md"),
        (json::value{
            {"user_global_source",
             {{"scope", "user_global"},
              {"kind", "agents_md"},
              {"path", (program.folder() / ".agents/AGENTS.md").string()}}},
            {"agent_source",
             {{"scope", "agent"},
              {"kind", "agents_md"},
              {"path", (program.agent_home("k") / "AGENTS.md").string()}}},
            {"workspace_source",
             {{"scope", "workspace"}, {"kind", "agents_md"}, {"path", repo() + "/AGENTS.md"}}}}));
    const std::string body = base::json_text(status);
    for (const char* mark : {"AGENT-MARK", "PROJECT-MARK", "USER-MARK"})
        EXPECT_THAT(body, Not(HasSubstr(mark)));
    EXPECT_THAT(prompt(), HasSubstr("USER-MARK"));
}

}  // namespace
}  // namespace e2e
