#include "base/os/signals.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>

namespace base {

struct Signals::State : std::enable_shared_from_this<State> {
    State(boost::asio::io_context& context, std::function<void(int)> callback)
        : set(context), on_signal(std::move(callback)) {}

    void wait() {
        set.async_wait(
            [self = shared_from_this()](const boost::system::error_code& error, int number) {
                if (error) return;
                self->wait();
                self->on_signal(number);
            });
    }

    boost::asio::signal_set set;
    std::function<void(int)> on_signal;
};

Signals::Signals(AsioLoop& loop, const std::vector<int>& numbers,
                 std::function<void(int)> on_signal)
    : state_(std::make_shared<State>(loop.context(), std::move(on_signal))) {
    for (const int number : numbers) state_->set.add(number);
    state_->wait();
}

Signals::~Signals() {
    // The wait that is cancelled ends when the loop next runs, perhaps never: until then it holds
    // the set, so the signals themselves are released here.
    state_->set.cancel();
    state_->set.clear();
}

}  // namespace base
