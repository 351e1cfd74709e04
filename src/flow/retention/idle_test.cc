#include "flow/retention/idle.h"

#include <gtest/gtest.h>

#include "tests/support/fake_loop.h"

namespace retention {
namespace {

TEST(IdleRelease, GivesMemoryBackOnceAfterEachTimeOfWork) {
    int released = 0;
    test_support::FakeLoop loop;
    const auto begun = loop.now();
    events::Feed feed;
    IdleRelease idle([&] { ++released; }, loop, feed);
    loop.run();
    EXPECT_EQ(released, 1) << "after the start";
    EXPECT_EQ(loop.now() - begun, kIdleAfter);
    for (int n = 0; n < 3; ++n) feed.publish({events::Committed{}});
    loop.run();
    EXPECT_EQ(released, 2);
    EXPECT_EQ(idle.releases(), 2);
    loop.run();
    EXPECT_EQ(released, 2) << "nothing is timed while it is idle";
}

}  // namespace
}  // namespace retention
