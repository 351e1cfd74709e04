// The real loop: Boost.Asio behind the Loop seam.
#pragma once

#include <exception>
#include <functional>
#include <memory>

#include "base/os/loop.h"

namespace boost::asio {
class io_context;
}

namespace base {

// One thread calls run(); post() and stop() may be called from any thread, everything else from a
// job of the loop, or before run() starts. I/O adapters built on context() must be gone before
// the loop is. Making a loop starts no thread: offload() starts some when they are needed.
class AsioLoop final : public Loop {
public:
    AsioLoop();
    // Waits for offloaded work that has begun; work that has not begun, and all jobs, are dropped.
    ~AsioLoop() override;
    AsioLoop(const AsioLoop&) = delete;
    AsioLoop& operator=(const AsioLoop&) = delete;

    void post(Job job) override;
    TimerHandle after(std::chrono::microseconds delay, Job job) override;
    // By a timerfd on the realtime clock, which is armed anew when the clock is set.
    TimerHandle at(Time when, Job job) override;
    void cancel(TimerHandle timer) override;
    // When `work` throws, on_error gets the exception and `done` is dropped, both on the loop.
    void offload(Job work, Job done) override;

    // Waits until all offloaded work is over; their `done` stay queued. For the owner of the loop
    // and of what the work uses, before it destroys them. Not while the loop runs.
    void finish_offloaded();

    // For I/O adapters only; its handlers run as jobs of this loop.
    boost::asio::io_context& context();

    // Runs jobs until stop(), waiting while there are none. A stop() that came first makes it
    // return at once. May be called again afterwards; jobs left behind then run.
    void run();
    void stop();

    // Receives the exception of a job; the loop then continues. Unset, the exception leaves run().
    // Set it before run().
    std::function<void(std::exception_ptr)> on_error;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace base
