#include "agent/identity/agent_lock.h"

#include <stdlib.h>

#include <gtest/gtest.h>

namespace identity {
namespace {

class AgentLockTest : public testing::Test {
protected:
    std::filesystem::path home_ = [] {
        std::string pattern = testing::TempDir() + "holon-lock-XXXXXX";
        return std::filesystem::path(mkdtemp(pattern.data()));
    }();
    ~AgentLockTest() override { std::filesystem::remove_all(home_); }
    std::filesystem::path file() const { return home_ / ".holon" / "run.lock"; }
};

TEST_F(AgentLockTest, AProcessHoldsAnAgentUntilTheLastCallerIsDone) {
    AgentLocks locks;
    EXPECT_FALSE(locks.still_holds(home_, "a"));
    auto first = locks.take(home_, "a").value();
    auto second = locks.take(home_, "a").value();
    first.reset();
    EXPECT_TRUE(locks.still_holds(home_, "a"));
    EXPECT_FALSE(lock_agent(home_, "a"));
    second.reset();
    EXPECT_FALSE(locks.still_holds(home_, "a"));
    EXPECT_TRUE(lock_agent(home_, "a"));
}

TEST_F(AgentLockTest, ALockWhoseFileWasRemovedOrReplacedIsLost) {
    AgentLocks locks;
    const auto held = locks.take(home_, "a").value();
    std::filesystem::remove(file());
    EXPECT_FALSE(locks.still_holds(home_, "a"));
    const auto other = lock_agent(home_, "a");
    ASSERT_TRUE(other) << "another process can take the agent now";
    EXPECT_FALSE(locks.still_holds(home_, "a"));
    EXPECT_FALSE(locks.take(home_, "a")) << "and this one no longer believes that it has it";
}

}  // namespace
}  // namespace identity
