#include "base/os/signals.h"

#include <csignal>

#include <gtest/gtest.h>

namespace base {
namespace {

TEST(Signals, AreLetGoOfAlsoWhenTheLoopDoesNotRunAgain) {
    struct sigaction before{};
    sigaction(SIGUSR2, nullptr, &before);
    AsioLoop loop;
    {
        const Signals signals(loop, {SIGUSR2}, [](int) {});
    }
    struct sigaction after{};
    sigaction(SIGUSR2, nullptr, &after);
    EXPECT_EQ(after.sa_handler, before.sa_handler);
}

}  // namespace
}  // namespace base
