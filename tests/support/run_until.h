// Runs the real loop in a test until something has happened.
#pragma once

#include <chrono>
#include <functional>

#include "base/os/asio_loop.h"
#include "tests/support/eventually.h"

namespace test_support {

using namespace std::chrono_literals;

// False when `condition` does not hold within `limit`. The condition may be made true by a task of
// the loop or by another thread.
bool run_until(base::AsioLoop& loop, const std::function<bool()>& condition,
               std::chrono::milliseconds limit = kEventually);

}  // namespace test_support
