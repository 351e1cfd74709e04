#include "flow/retention/rest.h"

#include <gtest/gtest.h>

#include "tests/support/fake_loop.h"

namespace retention {
namespace {

TEST(Rest, GivesMemoryBackOnceAfterEachTimeOfWork) {
    int released = 0;
    test_support::FakeLoop loop;
    const auto begun = loop.now();
    events::Feed feed;
    Rest rest([&] { ++released; }, loop, feed);
    loop.run();
    EXPECT_EQ(released, 1) << "after the start";
    EXPECT_EQ(loop.now() - begun, kRestAfter);
    for (int n = 0; n < 3; ++n) feed.publish({events::Committed{}});
    loop.run();
    EXPECT_EQ(released, 2);
    EXPECT_EQ(rest.rests(), 2);
    loop.run();
    EXPECT_EQ(released, 2) << "at rest nothing is timed";
}

}  // namespace
}  // namespace retention
