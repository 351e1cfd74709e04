#include "agent/context/guidance.h"

#include <sys/stat.h>

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace context {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;

class GuidanceFiles : public testing::Test {
protected:
    GuidanceFiles() {
        std::string name = (fs::temp_directory_path() / "holon-guidance-XXXXXX").string();
        top_ = fs::canonical(::mkdtemp(name.data()));
        for (const char* folder : {"user/.agents", "home", "project/sub", "copy", "other"})
            fs::create_directories(top_ / folder);
    }
    ~GuidanceFiles() override { fs::remove_all(top_); }

    void write(const std::string& file, const std::string& text) {
        std::ofstream(top_ / file) << text;
    }
    GuidanceRoots roots(const std::string& anchor = "project") const {
        return {.user_home = top_ / "user",
                .agent_home = top_ / "home",
                .workspace = domain::WorkspaceEntry{
                    .workspace_anchor = anchor.empty() ? "" : (top_ / anchor).string()}};
    }
    std::vector<std::string> texts(const GuidanceRoots& where) const {
        std::vector<std::string> list;
        for (const auto& guidance : read_guidance(where)) list.push_back(guidance.text);
        return list;
    }
    fs::path top_;
};

TEST_F(GuidanceFiles, AreThoseOfTheUserTheAgentAndTheWorkspaceInThisOrder) {
    EXPECT_THAT(texts(roots()), IsEmpty());
    write("user/.agents/AGENTS.md", "user");
    write("home/AGENTS.md", "agent");
    write("home/CLAUDE.md", "not for agents");
    write("project/AGENTS.md", "project");
    write("project/CLAUDE.md", "older");
    write("project/sub/AGENTS.md", "sub");
    EXPECT_THAT(texts(roots()), ElementsAre("user", "agent", "project"));
    const auto list = guidance_sources(roots());
    EXPECT_THAT(list, ElementsAre(GuidanceSource{GuidanceScope::UserGlobal, GuidanceKind::AgentsMd,
                                                 (top_ / "user/.agents/AGENTS.md").string()},
                                  GuidanceSource{GuidanceScope::Agent, GuidanceKind::AgentsMd,
                                                 (top_ / "home/AGENTS.md").string()},
                                  GuidanceSource{GuidanceScope::Workspace, GuidanceKind::AgentsMd,
                                                 (top_ / "project/AGENTS.md").string()}));
    fs::remove(top_ / "project/AGENTS.md");
    EXPECT_THAT(texts(roots()), ElementsAre("user", "agent", "older"));
    EXPECT_EQ(guidance_sources(roots())[2].kind, GuidanceKind::ClaudeMdFallback);
    EXPECT_THAT(texts({.agent_home = top_ / "home"}), ElementsAre("agent"));
}

TEST_F(GuidanceFiles, OfAHomeThatIsAlsoTheWorkspaceAreNotRepeated) {
    write("home/AGENTS.md", "agent");
    EXPECT_THAT(texts(roots("home")), ElementsAre("agent"));
}

TEST_F(GuidanceFiles, ComeFromTheAnchorOfAWorktree) {
    write("project/AGENTS.md", "project");
    write("copy/AGENTS.md", "copy");
    auto where = roots();
    where.workspace->execution_root = where.workspace->cwd = (top_ / "copy").string();
    EXPECT_THAT(texts(where), ElementsAre("project"));
}

// A link would send a private key to the model.
TEST_F(GuidanceFiles, AreReadThroughNoLinkThatLeavesTheirFolder) {
    write("key", "secret");
    write("other/AGENTS.md", "secret");
    write("project/CLAUDE.md", "be kind");
    fs::create_symlink(top_ / "key", top_ / "home/AGENTS.md");
    fs::create_symlink("/proc/self/environ", top_ / "project/AGENTS.md");
    EXPECT_THAT(texts(roots()), ElementsAre("be kind"));
    // The whole workspace was replaced by a link.
    fs::create_directory_symlink(top_ / "other", top_ / "linked");
    EXPECT_THAT(texts(roots("linked")), IsEmpty());
    // Inside the folder a link is as good as the file.
    fs::remove(top_ / "project/AGENTS.md");
    fs::create_symlink("sub/rules.md", top_ / "project/AGENTS.md");
    write("project/sub/rules.md", "rules");
    EXPECT_THAT(texts(roots()), ElementsAre("rules"));
}

TEST_F(GuidanceFiles, AreRegularFilesOfABoundedSize) {
    ASSERT_EQ(::mkfifo((top_ / "home/AGENTS.md").c_str(), 0600), 0);
    write("project/AGENTS.md", std::string(kGuidanceBytesMax + 1, 'x'));
    EXPECT_THAT(texts(roots()), IsEmpty());
    write("project/AGENTS.md", std::string(kGuidanceBytesMax, 'x'));
    EXPECT_EQ(texts(roots()).size(), 1U);
}

}  // namespace
}  // namespace context
