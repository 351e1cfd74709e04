#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "flow/scheduler/scheduler.h"

namespace scheduler {
namespace {

namespace fs = std::filesystem;

// A link would send a private key to the model.
TEST(Guidance, IsReadThroughNoLink) {
    std::string name = (fs::temp_directory_path() / "holon-guidance-XXXXXX").string();
    const fs::path top = fs::canonical(::mkdtemp(name.data()));
    for (const char* folder : {"home", "project", "other"}) fs::create_directory(top / folder);
    std::ofstream(top / "key") << "secret";
    std::ofstream(top / "other/AGENTS.md") << "secret";
    std::ofstream(top / "project/CLAUDE.md") << "be kind";
    fs::create_symlink(top / "key", top / "home/AGENTS.md");
    fs::create_symlink("/proc/self/environ", top / "project/AGENTS.md");
    domain::WorkspaceEntry entry{.workspace_anchor = (top / "project").string()};
    auto list = read_guidance(top / "home", entry);
    ASSERT_EQ(list.size(), 1U);
    EXPECT_EQ(list[0].text, "be kind");
    // The whole workspace was replaced by a link.
    fs::create_directory_symlink(top / "other", top / "linked");
    entry.workspace_anchor = (top / "linked").string();
    EXPECT_TRUE(read_guidance(top / "home", entry).empty());
    fs::remove_all(top);
}

}  // namespace
}  // namespace scheduler
