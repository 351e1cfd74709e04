#include "tests/support/run_until.h"

#include <boost/asio/io_context.hpp>

namespace test_support {

bool run_until(base::AsioLoop& loop, const std::function<bool()>& condition,
               std::chrono::milliseconds limit) {
    constexpr auto kLookEvery = 5ms;  // For conditions that another thread makes true.
    const auto deadline = std::chrono::steady_clock::now() + limit;
    while (!condition()) {
        if (std::chrono::steady_clock::now() >= deadline) return false;
        loop.context().run_one_for(kLookEvery);
    }
    return true;
}

}  // namespace test_support
