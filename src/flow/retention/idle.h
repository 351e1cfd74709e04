// A program that has nothing to do gives memory back: agents that sleep cost nothing.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

#include "base/os/lifetime.h"
#include "base/os/loop.h"
#include "record/events/events.h"

namespace retention {

// So long nothing was committed.
inline constexpr std::chrono::seconds kIdleAfter{5};

// The references are the caller's and outlive this. On the loop.
class IdleRelease {
public:
    // `release` drops what can be had again; it is called on another thread.
    IdleRelease(std::function<void()> release, base::Loop& loop, events::Feed& feed);
    ~IdleRelease();
    IdleRelease(const IdleRelease&) = delete;
    IdleRelease& operator=(const IdleRelease&) = delete;

    // How often memory was given back.
    std::int64_t releases() const { return releases_; }

private:
    void note();
    void check(std::uint64_t seen);

    std::function<void()> release_;
    base::Loop& loop_;
    std::shared_ptr<void> subscription_;
    std::uint64_t commits_{0};  // Seen so far.
    bool watches_{false};       // A timer runs; an idle program has none.
    base::Loop::TimerHandle timer_{};
    std::int64_t releases_{0};
    base::Lifetime lifetime_;
};

}  // namespace retention
