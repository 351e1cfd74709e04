#include "flow/retention/rest.h"

#include <gtest/gtest.h>

#include "tests/support/fake_loop.h"

namespace retention {
namespace {

class CountingStore final : public store::Store {
public:
    store::Status write(store::Durability, store::Work) override { return {}; }
    void write_async(store::Durability, store::Work,
                     std::move_only_function<void(store::Status)> done) override {
        done({});
    }
    store::Status read(store::Work) override { return {}; }
    void release_memory() override { ++released; }
    int released{0};
};

TEST(Rest, GivesMemoryBackOnceAfterEachTimeOfWork) {
    CountingStore store;
    test_support::FakeLoop loop;
    const auto begun = loop.now();
    events::Feed feed;
    Rest rest(store, loop, feed);
    loop.run();
    EXPECT_EQ(store.released, 1) << "after the start";
    EXPECT_EQ(loop.now() - begun, kRestAfter);
    for (int n = 0; n < 3; ++n) feed.publish({events::Committed{}});
    loop.run();
    EXPECT_EQ(store.released, 2);
    EXPECT_EQ(rest.rests(), 2);
    loop.run();
    EXPECT_EQ(store.released, 2) << "at rest nothing is timed";
}

}  // namespace
}  // namespace retention
