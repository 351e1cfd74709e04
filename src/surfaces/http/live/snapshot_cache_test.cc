#include "surfaces/http/live/snapshot_cache.h"

#include <gtest/gtest.h>

#include "tests/http/fixture.h"
#include "tests/support/fake_loop.h"

namespace test_http {
namespace {

using http_surface::SnapshotCache;

class SnapshotCacheTest : public testing::Test {
protected:
    FakeService service_;
    test_support::FakeLoop loop_;
    SnapshotCache cache_{service_, loop_, [](base::Job task) { task(); }};

    void put(const std::string& body) { cache_.put("main", cache_.generation("main"), body); }
    std::string found() {
        const auto body = cache_.find("main");
        return body ? *body : "-";
    }
    void watch_main() {
        put("first");  // Only subscribes to events.
        loop_.run();
    }
};

TEST_F(SnapshotCacheTest, KeepsNothingBeforeItReceivesEvents) {
    put("first");
    EXPECT_EQ(found(), "-");
    put("second");
    EXPECT_EQ(found(), "-");
    loop_.run();
    put("third");
    EXPECT_EQ(found(), "third");
}

TEST_F(SnapshotCacheTest, ForgetsWhatAnEventMadeOld) {
    watch_main();
    put("old");
    service_.add_events("main", 1);
    loop_.run();
    EXPECT_EQ(found(), "-");
    put("new");
    service_.add_events("other", 1);
    loop_.run();
    EXPECT_EQ(found(), "new");
}

TEST_F(SnapshotCacheTest, DoesNotKeepWhatWasMadeBeforeAnEvent) {
    watch_main();
    const auto began = cache_.generation("main");
    service_.add_events("main", 1);
    loop_.run();
    cache_.put("main", began, "stale");
    EXPECT_EQ(found(), "-");
}

TEST_F(SnapshotCacheTest, ForgetsEverythingAfterAWrite) {
    watch_main();
    put("old");
    const auto began = cache_.generation("main");
    cache_.forget_all();
    EXPECT_EQ(found(), "-");
    cache_.put("main", began, "stale");
    EXPECT_EQ(found(), "-");
}

TEST_F(SnapshotCacheTest, KeepsABoundedNumberOfAgents) {
    for (std::size_t i = 0; i < http_surface::kSnapshotsMax + 5; ++i)
        cache_.put(fmt::format("agent-{}", i), 0, "x");
    loop_.run();
    EXPECT_EQ(service_.watchers(), http_surface::kSnapshotsMax);
}

}  // namespace
}  // namespace test_http
