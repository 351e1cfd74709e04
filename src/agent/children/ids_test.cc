#include "agent/children/ids.h"

#include <gtest/gtest.h>

namespace children {
namespace {

TEST(ChildIds, SayBelowWhomAndAreTheSameForTheSameSeed) {
    const auto id = child_id({"main"}, "call-1");
    EXPECT_EQ(id, child_id({"main"}, "call-1"));
    EXPECT_NE(id, child_id({"main"}, "call-2"));
    EXPECT_TRUE(domain::is_agent_id(id.value)) << id.value;
    EXPECT_EQ(id.value.size(), domain::kChildPrefix.size() + 32);
    EXPECT_TRUE(id.value.starts_with(prefix_below("main")));
    EXPECT_FALSE(id.value.starts_with(prefix_below("other")));
}

}  // namespace
}  // namespace children
