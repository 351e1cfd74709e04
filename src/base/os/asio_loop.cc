#include "base/os/asio_loop.h"

#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <optional>
#include <system_error>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

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
constexpr std::size_t kOffloadThreadsFirst = 2, kOffloadThreadsMax = 8;

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

// Threads that do one piece of work each. There are more of them when all are busy, up to a bound:
// starting all at once would take longer than most of the work.
class OffloadPool {
public:
    OffloadPool() = default;
    OffloadPool(const OffloadPool&) = delete;
    OffloadPool& operator=(const OffloadPool&) = delete;
    // Drops the work that has not begun.
    ~OffloadPool() {
        pool_.stop();
        join();
    }

    // Runs `work`, and then `done` on the same thread, which is no longer counted as busy.
    void post(Job work, Job done) {
        const std::size_t threads = kOffloadThreadsFirst + more_.size();
        if (++unfinished_ > threads && threads < kOffloadThreadsMax) add_thread();
        boost::asio::post(pool_, [this, work = std::move(work), done = std::move(done)]() mutable {
            work();
            work = nullptr;  // What it owns is gone before `done` runs.
            --unfinished_;
            done();
        });
    }

    // Waits until all work is over. Nothing may be posted afterwards.
    void join() {
        pool_.join();
        for (auto& thread : std::exchange(more_, {})) thread.join();
    }

private:
    void add_thread() {
        try {
            more_.emplace_back([this] { pool_.attach(); });
        } catch (const std::system_error&) {
            // The system gives no more threads: those that are there do the work.
        }
    }

    boost::asio::thread_pool pool_{kOffloadThreadsFirst};
    std::atomic<std::size_t> unfinished_{0};
    std::vector<std::thread> more_;  // Also run the work of the pool.
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
    std::optional<OffloadPool> pool;

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
    if (!state_->pool) state_->pool.emplace();
    const auto error = std::make_shared<std::exception_ptr>();
    state_->pool->post(
        [work = std::move(work), error]() mutable {
            try {
                work();
            } catch (...) {
                *error = std::current_exception();
            }
        },
        [this, done = std::move(done), error]() mutable {
            post([done = std::move(done), error = std::move(error)]() mutable {
                if (*error) std::rethrow_exception(*error);
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
