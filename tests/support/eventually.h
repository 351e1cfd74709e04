// Waits for what another thread or process makes true.
#pragma once

#include <chrono>
#include <thread>

namespace test_support {

// How long a test waits before it fails: far longer than the slowest machine needs.
inline constexpr std::chrono::milliseconds kEventually = std::chrono::seconds(120);

// Checks `condition` until it holds; false when it does not within `limit`.
template <class Condition>
[[nodiscard]] bool eventually(Condition condition, std::chrono::milliseconds limit = kEventually) {
    constexpr auto kCheckEvery = std::chrono::milliseconds(1);
    const auto deadline = std::chrono::steady_clock::now() + limit;
    while (!condition()) {
        if (std::chrono::steady_clock::now() >= deadline) return false;
        std::this_thread::sleep_for(kCheckEvery);
    }
    return true;
}

}  // namespace test_support
