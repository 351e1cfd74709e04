#include "base/os/lifetime.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>

namespace base {
namespace {

TEST(Lifetime, AGuardedCallbackRunsOnlyWhileItsObjectExists) {
    int calls = 0;
    std::optional<Lifetime> object(std::in_place);
    auto callback = object->guard([&](int n) { calls += n; });
    callback(2);
    object.reset();
    callback(3);
    EXPECT_EQ(calls, 2);
}

TEST(Lifetime, NothingStaysWithAnObjectThatIsGone) {
    std::optional<Lifetime> object(std::in_place);
    const auto watch = object->watch();
    EXPECT_FALSE(watch.expired());
    EXPECT_TRUE(watch.stay());
    object.reset();
    EXPECT_TRUE(watch.expired());
    EXPECT_FALSE(watch.stay());
}

TEST(Lifetime, TheObjectOutlivesWhatHasBegunOnAnotherThread) {
    std::optional<Lifetime> object(std::in_place);
    std::promise<void> begun;
    std::promise<void> proceed;
    std::atomic<bool> finished{false};
    std::thread worker([&, watch = object->watch()] {
        const auto stay = watch.stay();
        begun.set_value();
        proceed.get_future().wait();
        finished = true;
    });
    begun.get_future().wait();
    std::thread destroyer([&] {
        object.reset();
        EXPECT_TRUE(finished) << "it waited";
    });
    proceed.set_value();
    destroyer.join();
    worker.join();
}

}  // namespace
}  // namespace base
