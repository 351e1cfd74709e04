#include "app/mcp/refusal.h"

#include <gtest/gtest.h>

namespace app {
namespace {

using Backend = domain::SandboxBackend;

config::Sandbox behind(Backend backend) {
    return {.settings = {.backend = backend}};
}

// The kind of the error that a call of the agent gets; empty: it is made.
std::string refused(const config::Sandbox& general, const config::Sandbox& own) {
    const auto error = mcp_refusal({.general = general, .agents = {{"agent", own}}}, {"agent"});
    return error ? error->kind : "";
}

TEST(McpRefusal, AnAgentBehindTheBoundaryOfAllMayCall) {
    for (const auto backend : {Backend::HostLocal, Backend::Bubblewrap}) {
        EXPECT_EQ(refused(behind(backend), behind(backend)), "");
        EXPECT_FALSE(mcp_refusal({.general = behind(backend)}, {"main"}));
    }
}

TEST(McpRefusal, AnAgentThatIsConfinedMoreCloselyWouldGetOut) {
    EXPECT_EQ(refused(behind(Backend::HostLocal), behind(Backend::Bubblewrap)), "policy_denied");
    auto closer = behind(Backend::Bubblewrap);
    closer.settings.limits.processes = 1;
    EXPECT_EQ(refused(behind(Backend::Bubblewrap), closer), "policy_denied");
}

TEST(McpRefusal, AnAgentThatIsNotConfinedMayCall) {
    EXPECT_EQ(refused(behind(Backend::Bubblewrap), behind(Backend::HostLocal)), "");
}

TEST(McpRefusal, AnAgentThatMayStartNoProcessMayNotCall) {
    auto still = behind(Backend::HostLocal);
    still.allow_processes = false;
    EXPECT_EQ(refused(behind(Backend::HostLocal), still), "policy_denied");
}

}  // namespace
}  // namespace app
