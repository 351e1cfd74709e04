// How other threads reach the thread of the keys, and how that thread has slow things done.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "surfaces/tui/screen/tty.h"

namespace tui {

// What is to be done on the thread of the keys. Any thread posts.
class Inbox {
public:
    explicit Inbox(const Wake& wake) : wake_(wake) {}
    void post(std::function<void()> what);
    // On the thread of the keys: does what was posted, in order.
    void drain();

private:
    const Wake& wake_;
    std::mutex mutex_;
    std::vector<std::function<void()>> posted_;
};

// Does one thing after the other on a thread of its own: calls of the service, which may block.
class Background {
public:
    explicit Background(Inbox& inbox);
    ~Background();
    Background(const Background&) = delete;
    Background& operator=(const Background&) = delete;

    // Calls `job` over there, and then `then` with its result on the thread of the keys. `then` is
    // called only while `owner` lives, and never after the inbox was drained for the last time.
    template <class Owner, class Job, class Then>
    void run(const std::shared_ptr<Owner>& owner, Job job, Then then) {
        add([this, weak = std::weak_ptr<Owner>(owner), job = std::move(job),
             then = std::move(then)]() mutable {
            if (weak.expired()) return;
            auto result = std::make_shared<decltype(job())>(job());
            inbox_.post([weak, result, then = std::move(then)]() mutable {
                if (const auto alive = weak.lock()) then(std::move(*result));
            });
        });
    }

private:
    void add(std::function<void()> job);
    void work(const std::stop_token& stop);

    Inbox& inbox_;
    std::mutex mutex_;
    std::condition_variable_any changed_;
    std::deque<std::function<void()>> jobs_;
    std::jthread thread_;  // Last: it uses all of the above.
};

}  // namespace tui
