#include "service/local/agents/deltas.h"

#include <gtest/gtest.h>

namespace service {
namespace {

TEST(Deltas, ReachThoseWhoWatchTheAgentWhileTheyHoldTheirToken) {
    Deltas deltas;
    std::string seen;
    auto token = deltas.watch("a", [&](const Delta& delta) { seen += delta.text; });
    const auto other = deltas.watch("b", [&](const Delta&) { seen += "wrong"; });
    deltas.publish({"a"}, {.text = "one "});
    deltas.publish({"c"}, {.text = "nobody's"});
    deltas.publish({"a"}, {.text = "two"});
    token.reset();
    deltas.publish({"a"}, {.text = "late"});
    EXPECT_EQ(seen, "one two");
}

TEST(Deltas, AnAgentIsWatchedWhileSomebodyHoldsAToken) {
    Deltas deltas;
    EXPECT_FALSE(deltas.is_watched({"a"}));
    auto token = deltas.watch("a", [](const Delta&) {});
    EXPECT_TRUE(deltas.is_watched({"a"}));
    EXPECT_FALSE(deltas.is_watched({"b"}));
    token.reset();
    EXPECT_FALSE(deltas.is_watched({"a"}));
}

}  // namespace
}  // namespace service
