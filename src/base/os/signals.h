// Signals as tasks of the loop.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/os/asio_loop.h"

namespace base {

// While it lives, these signals no longer have their default effect; each calls `on_signal` on the
// loop with its number.
class Signals {
public:
    Signals(AsioLoop& loop, const std::vector<int>& numbers, std::function<void(int)> on_signal);
    ~Signals();

private:
    struct State;
    std::shared_ptr<State> state_;
};

}  // namespace base
