#include "flow/scheduler/slots.h"

#include <gmock/gmock.h>

namespace scheduler {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Optional;

const domain::AgentId kA{"a"};
const domain::AgentId kB{"b"};
const domain::AgentId kC{"c"};

class SlotsTest : public testing::Test {
protected:
    std::set<domain::AgentId> parked_;
    Slots slots_{1, [this](const domain::AgentId& agent) { return parked_.contains(agent); }};
};

TEST_F(SlotsTest, OneProviderBeingFullSaysNothingAboutAnother) {
    slots_.take(kA, "silent");
    EXPECT_THAT(slots_.full(), ElementsAre("silent"));
    slots_.take(kB, "healthy");
    EXPECT_THAT(slots_.full(), ElementsAre("healthy", "silent"));
}

TEST_F(SlotsTest, AReleasedSlotGoesToTheOneThatHasWaitedLongest) {
    slots_.take(kA, "p");
    slots_.wait(kB, "p");
    slots_.wait(kC, "p");
    EXPECT_THAT(slots_.release(kA), Optional(kB));
    slots_.take(kB, "p");
    EXPECT_THAT(slots_.release(kB), Optional(kC));
    EXPECT_EQ(slots_.release(kB), std::nullopt) << "it has no slot any longer";
    EXPECT_THAT(slots_.full(), IsEmpty());
}

TEST_F(SlotsTest, AParkedTurnLeavesItsSlotToTheNext) {
    slots_.take(kA, "p");
    slots_.wait(kB, "p");
    parked_.insert(kA);
    EXPECT_THAT(slots_.full(), IsEmpty());
    EXPECT_THAT(slots_.next_for_slot_of(kA), Optional(kB));
    slots_.take(kB, "p");
    EXPECT_THAT(slots_.full(), ElementsAre("p"));
    EXPECT_EQ(slots_.next_for_slot_of(kC), std::nullopt);
}

TEST_F(SlotsTest, OneAgentIsCalledForEachProviderThatHasAFreeSlot) {
    slots_.take(kA, "full");
    slots_.wait(kB, "full");
    slots_.wait(kC, "free");
    EXPECT_THAT(slots_.next_for_free(), ElementsAre(kC));
    EXPECT_THAT(slots_.next_for_free(), IsEmpty());
    slots_.forget_waiting();
    EXPECT_EQ(slots_.release(kA), std::nullopt);
}

TEST(Claims, AreBoundedByTheSlotsThatAreFree) {
    Claims claims(2);
    claims.set_used({{"p", 1}});
    auto first = claims.claim("p");
    ASSERT_TRUE(first);
    EXPECT_FALSE(claims.claim("p")) << "one is used, one is claimed";
    EXPECT_TRUE(claims.claim("other"));
    EXPECT_TRUE(claims.has_any("p"));
    first.reset();
    EXPECT_FALSE(claims.has_any("p"));
    EXPECT_TRUE(claims.claim("p"));
    claims.set_used({{"p", 2}});
    EXPECT_FALSE(claims.claim("p"));
}

}  // namespace
}  // namespace scheduler
