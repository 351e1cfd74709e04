// Standing instructions in the requests that a model is sent.
#include <fstream>

#include <gmock/gmock.h>

#include "tests/flow/fixture.h"

namespace scheduler {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

class Instructions : public FlowTest {
protected:
    Instructions() {
        std::string name = (fs::temp_directory_path() / "holon-instructions-XXXXXX").string();
        top_ = fs::canonical(::mkdtemp(name.data()));
        for (const char* folder : {"home", "project/sub", "copy", "second"})
            fs::create_directories(top_ / folder);
    }
    ~Instructions() override { fs::remove_all(top_); }

    void write(const std::string& file, const std::string& text) {
        std::ofstream(top_ / file) << text;
    }
    // The agent works here from now on.
    void enter(const domain::WorkspaceEntry& entry) {
        ASSERT_TRUE(store_->write(store::Durability::Disk, [&](store::Tx& tx) -> base::Status {
            auto agent = *TRY(tx.agent(agent_));
            agent.active_workspace_entry = entry;
            return tx.put_agent(agent);
        }));
    }
    void enter(const std::string& folder) { enter(workspace::entry_of_folder(top_ / folder)); }
    // The system part of the request that the next message is sent with.
    std::string asked() {
        model_.emplace(R"({"rounds": [{"text": "ok"}]})", loop_);
        auto made = parts();
        made.home_of = [this](const auto&) { return top_ / "home"; };
        scheduler_.emplace(std::move(made), Options{.model_ref = "scripted/test"});
        send("go on");
        run();
        EXPECT_EQ(model_->requests.size(), 1U);
        return model_->requests.back().frame.system_prompt;
    }
    fs::path top_;
};

// contract: INSTR-01, INSTR-02, INSTR-04
TEST_F(Instructions, OfTheAgentAndItsWorkspaceAreInTheRequest) {
    write("home/AGENTS.md", "AGENT-MARK");
    write("project/AGENTS.md", "PROJECT-MARK");
    write("project/sub/AGENTS.md", "SUB-MARK");
    auto entry = workspace::entry_of_folder(top_ / "project");
    entry.cwd = (top_ / "project/sub").string();
    enter(entry);
    const std::string prompt = asked();
    EXPECT_THAT(prompt, HasSubstr("AGENT-MARK"));
    EXPECT_THAT(prompt, HasSubstr("PROJECT-MARK"));
    EXPECT_THAT(prompt, Not(HasSubstr("SUB-MARK")));
    EXPECT_LT(prompt.find("AGENT-MARK"), prompt.find("PROJECT-MARK"));
}

// contract: INSTR-03
TEST_F(Instructions, FallBackToClaudeMdOnlyWithoutAgentsMd) {
    enter("project");
    write("project/CLAUDE.md", "CLAUDE-MARK");
    EXPECT_THAT(asked(), HasSubstr("CLAUDE-MARK"));
    write("project/AGENTS.md", "PROJECT-MARK");
    const std::string prompt = asked();
    EXPECT_THAT(prompt, HasSubstr("PROJECT-MARK"));
    EXPECT_THAT(prompt, Not(HasSubstr("CLAUDE-MARK")));
}

// contract: INSTR-05
TEST_F(Instructions, OfTheAnchorHoldInAWorktreeOfIt) {
    write("project/AGENTS.md", "PROJECT-MARK");
    write("copy/AGENTS.md", "COPY-MARK");
    auto entry = workspace::entry_of_folder(top_ / "project");
    entry.execution_root = entry.cwd = (top_ / "copy").string();
    entry.projection_kind = domain::ProjectionKind::GitWorktreeRoot;
    enter(entry);
    const std::string prompt = asked();
    EXPECT_THAT(prompt, HasSubstr("PROJECT-MARK"));
    EXPECT_THAT(prompt, Not(HasSubstr("COPY-MARK")));
}

// contract: INSTR-06, INSTR-07, INSTR-09
TEST_F(Instructions, OfTheWorkspaceChangeWithItAndThoseOfTheAgentStay) {
    write("home/AGENTS.md", "AGENT-MARK");
    write("project/AGENTS.md", "PROJECT-MARK");
    write("second/AGENTS.md", "SECOND-MARK");
    enter("project");
    EXPECT_THAT(asked(), testing::AllOf(HasSubstr("AGENT-MARK"), HasSubstr("PROJECT-MARK")));
    enter("second");
    EXPECT_THAT(asked(), testing::AllOf(HasSubstr("AGENT-MARK"), HasSubstr("SECOND-MARK"),
                                        Not(HasSubstr("PROJECT-MARK"))));
}

}  // namespace
}  // namespace scheduler
