#include "base/os/asio_loop.h"

#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <unordered_map>
#include <utility>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>

#include "base/os/timers/wall_timers.h"
#include "base/result.h"

namespace base {
namespace {

// The pool waits for disks, not for processors; a plan runs four calls in parallel by default.
constexpr std::size_t kOffloadThreads = 8;

// Longer delays would overflow the clock's nanoseconds; nothing waits for ten years.
constexpr std::chrono::microseconds kDelayMax = std::chrono::hours(24 * 365 * 10);

struct Timer {
    boost::asio::steady_timer timer;
    Job job;
};

// The kernel's realtime timer, which also reports that the clock was set.
class Timerfd final : public WallSource {
public:
    explicit Timerfd(boost::asio::io_context& context)
        : descriptor_(context, ::timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK | TFD_CLOEXEC)) {}

    // Calls `wake` as WallSource says, until this is destroyed.
    void start(std::function<void()> wake) {
        wake_ = std::move(wake);
        wait();
    }

    void arm(std::optional<Time> when) override {
        itimerspec spec{};
        if (when) {
            // Zero would disarm it; what lies before 1970 is due now.
            const auto micros = std::max<std::int64_t>(to_micros(*when), 1);
            spec.it_value.tv_sec = micros / 1'000'000;
            spec.it_value.tv_nsec = micros % 1'000'000 * 1000;
        }
        constexpr int kFlags = TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET;
        // Refused once when the clock was set since the last call; the timer is armed anew then.
        if (::timerfd_settime(descriptor_.native_handle(), kFlags, &spec, nullptr) != 0 &&
            errno == ECANCELED)
            ::timerfd_settime(descriptor_.native_handle(), kFlags, &spec, nullptr);
    }

private:
    void wait() {
        descriptor_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                               [this](const boost::system::error_code& error) {
                                   if (error) return;
                                   std::uint64_t count = 0;
                                   // ECANCELED: the clock was set. Either way it is time to check.
                                   (void)!::read(descriptor_.native_handle(), &count, sizeof count);
                                   wait();
                                   wake_();
                               });
    }

    boost::asio::posix::stream_descriptor descriptor_;
    std::function<void()> wake_;
};

// Timers on the wall clock, made with the first of them.
struct Wall {
    explicit Wall(boost::asio::io_context& context) : source(context), timers(clock, source) {
        source.start([this] { timers.check(); });
    }
    SystemClock clock;
    Timerfd source;
    WallTimers timers;
};

}  // namespace

struct AsioLoop::State {
    // Dropping a job may call cancel(), so the map outlives the context, but its timers, which
    // belong to the context, must not: ~State empties it first.
    std::unordered_map<std::uint64_t, Timer> timers;
    std::optional<Wall> wall;
    std::uint64_t timer_last{0};
    boost::asio::io_context context;
    boost::asio::executor_work_guard<boost::asio::io_context::executor_type> guard{
        context.get_executor()};
    std::optional<boost::asio::thread_pool> pool;

    ~State() {
        pool.reset();
        const auto dropped = std::exchange(timers, {});
        if (wall) wall->timers.clear();
        wall.reset();
    }

    void fire(std::uint64_t id) {
        // A cancelled timer is no longer here, even when it had already expired.
        auto node = timers.extract(id);
        if (node) node.mapped().job();
    }
};

AsioLoop::AsioLoop() : state_(std::make_unique<State>()) {}
AsioLoop::~AsioLoop() = default;

void AsioLoop::post(Job job) {
    CHECK(job, "an empty job was posted");
    boost::asio::post(state_->context, std::move(job));
}

Loop::TimerHandle AsioLoop::after(std::chrono::microseconds delay, Job job) {
    CHECK(job, "a timer was set without a job");
    const std::uint64_t id = ++state_->timer_last;
    boost::asio::steady_timer timer(state_->context, std::min(delay, kDelayMax));
    const auto at = state_->timers.emplace(id, Timer{std::move(timer), std::move(job)}).first;
    at->second.timer.async_wait(
        [state = state_.get(), id](const boost::system::error_code&) { state->fire(id); });
    return TimerHandle{id};
}

Loop::TimerHandle AsioLoop::at(Time when, Job job) {
    CHECK(job, "a timer was set without a job");
    if (!state_->wall) state_->wall.emplace(state_->context);
    const std::uint64_t id = ++state_->timer_last;
    state_->wall->timers.add(id, when, std::move(job));
    return TimerHandle{id};
}

void AsioLoop::cancel(TimerHandle timer) {
    if (state_->wall && state_->wall->timers.cancel(static_cast<std::uint64_t>(timer))) return;
    // Extracted before it is destroyed: the job's destructor may come back here.
    const auto node = state_->timers.extract(static_cast<std::uint64_t>(timer));
}

void AsioLoop::offload(Job work, Job done) {
    CHECK(work && done, "an empty job was offloaded");
    if (!state_->pool) state_->pool.emplace(kOffloadThreads);
    boost::asio::post(*state_->pool,
                      [this, work = std::move(work), done = std::move(done)]() mutable {
                          std::exception_ptr error;
                          try {
                              work();
                          } catch (...) {
                              error = std::current_exception();
                          }
                          work = nullptr;  // What it owns is gone before `done` runs.
                          post([error = std::move(error), done = std::move(done)]() mutable {
                              if (error) std::rethrow_exception(error);
                              done();
                          });
                      });
}

void AsioLoop::finish_offloaded() {
    if (!state_->pool) return;
    state_->pool->join();
    state_->pool.reset();  // Its threads are gone; a later offload() starts new ones.
}

boost::asio::io_context& AsioLoop::context() {
    return state_->context;
}

void AsioLoop::run() {
    while (!state_->context.stopped()) {
        try {
            state_->context.run();
        } catch (...) {
            if (!on_error) throw;
            on_error(std::current_exception());
        }
    }
    state_->context.restart();
}

void AsioLoop::stop() {
    state_->context.stop();
}

}  // namespace base
