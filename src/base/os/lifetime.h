// Work that outlives its object does nothing, and an object outlives the work that uses it.
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "base/os/loop.h"
#include "base/result.h"

namespace base {

// A member of an object that hands out callbacks and work. Declare it as the last member, so that
// it ends first: from then on nothing guarded begins, and its destructor returns when what has
// begun on other threads is over.
class Lifetime {
    struct State {
        std::mutex mutex;
        std::condition_variable left;
        bool is_over{false};
        int inside{0};  // Work that runs now on other threads.
    };

public:
    // While one of these exists, the object does. Not on the thread that destroys the object.
    class Stay {
    public:
        explicit Stay(std::shared_ptr<State> state) : state_(std::move(state)) {}
        Stay(Stay&& other) noexcept = default;
        Stay& operator=(Stay&&) = delete;
        ~Stay() {
            if (!state_) return;
            const std::lock_guard lock(state_->mutex);
            --state_->inside;
            state_->left.notify_all();
        }

    private:
        std::shared_ptr<State> state_;
    };

    // Any thread may use a watch.
    class Watch {
    public:
        // Is the object gone, or going? On the object's own thread the answer stays true until
        // something is destroyed there; on others, use stay().
        bool expired() const {
            const std::lock_guard lock(state_->mutex);
            return state_->is_over;
        }
        // Keeps the object until the value is destroyed; nothing when it is gone.
        std::optional<Stay> stay() const {
            const std::lock_guard lock(state_->mutex);
            if (state_->is_over) return std::nullopt;
            ++state_->inside;
            return std::optional<Stay>(std::in_place, state_);
        }

    private:
        friend class Lifetime;
        explicit Watch(std::shared_ptr<State> state) : state_(std::move(state)) {}
        std::shared_ptr<State> state_;
    };

    Lifetime() = default;
    ~Lifetime() {
        std::unique_lock lock(state_->mutex);
        state_->is_over = true;
        state_->left.wait(lock, [this] { return state_->inside == 0; });
    }
    Lifetime(const Lifetime&) = delete;
    Lifetime& operator=(const Lifetime&) = delete;

    Watch watch() const { return Watch(state_); }

    // `callback`, but nothing once the object is gone; for callbacks on the object's own thread. It
    // may capture the object by reference.
    template <class F>
    auto guard(F callback) const {
        return [watch = watch(), callback = std::move(callback)](auto&&... args) mutable {
            if (!watch.expired()) callback(std::forward<decltype(args)>(args)...);
        };
    }

private:
    std::shared_ptr<State> state_{std::make_shared<State>()};
};

// Runs `work` in the background, where it may block, and calls `then` once on the loop with its
// result, unless the owner is gone. The owner's end waits for work that has begun; work that has
// not begun by then never does. What `work` throws arrives as Internal. Both functions are
// destroyed on the loop. Called on the loop, which outlives the owner.
template <class T>
void run_in_background(Loop& loop, const Lifetime& owner, std::move_only_function<Result<T>()> work,
                       std::move_only_function<void(Result<T>)> then) {
    struct Working {
        std::move_only_function<Result<T>()> work;
        std::move_only_function<void(Result<T>)> then;
        std::optional<Result<T>> result;
    };
    auto working =
        std::make_unique<Working>(Working{std::move(work), std::move(then), std::nullopt});
    auto* const inside = working.get();
    loop.offload(
        [inside, watch = owner.watch()] {
            const auto stay = watch.stay();
            if (!stay) return;
            try {
                inside->result = inside->work();
            } catch (const std::exception& error) {
                inside->result = fail(ErrorCode::Internal, "{}", error.what());
            }
        },
        [watch = owner.watch(), working = std::move(working)]() mutable {
            if (!watch.expired()) working->then(std::move(*working->result));
        });
}

}  // namespace base
