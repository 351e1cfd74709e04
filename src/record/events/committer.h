// Commit, publish, continue: the one way in which the runtime changes its records.
//
// A step loads facts, decides and writes inside one transaction. When the transaction is safe, its
// events are published and the step continues on the loop. A step that fails changes nothing.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/os/lifetime.h"
#include "base/os/loop.h"
#include "record/events/events.h"
#include "store/store.h"

namespace events {

// What happens when the store cannot commit for a reason that may pass (another process holds the
// lock, the disk is full): Unavailable and Io.
enum class OnFault {
    Report,  // The continuation receives the error and decides.
    Retry    // The step is committed again, with growing pauses, for as long as its owner exists.
};
inline constexpr std::chrono::milliseconds kCommitRetryFirst{100};
inline constexpr std::chrono::milliseconds kCommitRetryMax{10'000};
// How long commit_now() and write_now() retry while another process holds the store's lock.
inline constexpr std::chrono::milliseconds kNowPatience{30'000};

// May the same commit succeed later without anybody changing anything?
bool is_passing_fault(const base::Error& error);

struct CommitOptions {
    store::Durability durability{store::Durability::Process};  // The work may require more.
    OnFault on_fault{OnFault::Report};
    // How long retries may take in all before the continuation receives the error. 0: no bound.
    std::chrono::milliseconds patience{0};
};
// For a step that somebody waits for: retried as long as commit_now() is.
inline constexpr CommitOptions kRetryWhileAwaited{.on_fault = OnFault::Retry,
                                                  .patience = kNowPatience};

// Shared by everything on one loop. What it refers to outlives the store's last write. Copies are
// cheap and equal.
class Committer {
public:
    struct Parts {
        store::Store& store;
        base::Loop& loop;
        base::Clock& clock;
        base::Ids& ids;
        Feed& feed;
        domain::BriefChannels brief_channels{};
        std::chrono::milliseconds now_patience{kNowPatience};
    };
    // Runs inside the transaction, on a thread of the store, perhaps more than once: it captures
    // values, nothing that belongs to the loop.
    template <class T>
    using Work = std::move_only_function<base::Result<T>(Log&)>;
    // Runs on the loop.
    template <class T>
    using Then = std::move_only_function<void(base::Result<T>)>;

    explicit Committer(Parts parts) : parts_(parts) {}

    // Commits `work`, publishes its events and calls `then` once with its result. Work that has not
    // begun when the owner goes is dropped, as by a crash; the owner's end waits for work that has
    // begun. What was committed stays, but nothing is published and `then` is not called. Both
    // functions are destroyed on the loop. Called on the loop.
    template <class T>
    void commit(const base::Lifetime& owner, CommitOptions options, Work<T> work, Then<T> then) {
        submit(std::make_unique<Step<T>>(owner.watch(), options, std::move(work), std::move(then)));
    }

    // Commits `work`, to disk, before it returns; its events are published on the loop. While
    // another process holds the store's lock, it is retried with growing pauses, up to
    // `now_patience`; then, and for any other fault, the caller receives the error, and nothing was
    // changed. For operators' threads and background work: it blocks.
    template <class T>
    base::Result<T> commit_now(const base::Lifetime::Watch& owner, Work<T> work) {
        std::optional<T> result;
        TRY(write_now(owner, [&](Log& log) -> base::Status {
            result = TRY(work(log));
            return {};
        }));
        return std::move(*result);
    }
    base::Status write_now(const base::Lifetime::Watch& owner,
                           const std::function<base::Status(Log&)>& work);

    // Runs `work` in the background, where it may block, and calls `then` once on the loop with its
    // result, unless the owner is gone. The owner's end waits for work that has begun. What `work`
    // throws arrives as Internal. Both are destroyed on the loop. Called on the loop.
    template <class T>
    void background(const base::Lifetime& owner, std::move_only_function<base::Result<T>()> work,
                    Then<T> then) {
        base::run_in_background<T>(parts_.loop, owner, std::move(work), std::move(then));
    }

    // Loads from a snapshot of the store, in the background; else as background().
    template <class T>
    void load(const base::Lifetime& owner,
              std::move_only_function<base::Result<T>(store::Tx&)> work, Then<T> then) {
        background<T>(
            owner,
            [&store = parts_.store, work = std::move(work)]() mutable -> base::Result<T> {
                std::optional<T> result;
                TRY(store.read([&](store::Tx& tx) -> base::Status {
                    result = TRY(work(tx));
                    return {};
                }));
                return std::move(*result);
            },
            std::move(then));
    }

private:
    // A step on its way. Owned by the loop, except while the store works on it.
    struct Pending {
        Pending(base::Lifetime::Watch watch, CommitOptions asked)
            : owner(std::move(watch)), options(asked) {}
        virtual ~Pending() = default;
        Pending(const Pending&) = delete;
        Pending& operator=(const Pending&) = delete;
        virtual base::Status execute(Log& log) = 0;
        virtual void finish(const base::Status& status) = 0;

        base::Lifetime::Watch owner;
        CommitOptions options;
        std::vector<Committed> events{};
        std::chrono::milliseconds pause{kCommitRetryFirst};  // Before the next retry.
        std::chrono::milliseconds waited{0};                 // Before all retries so far.
    };
    template <class T>
    struct Step final : Pending {
        Step(base::Lifetime::Watch watch, CommitOptions asked, Work<T> do_work, Then<T> do_then)
            : Pending(std::move(watch), asked),
              work(std::move(do_work)),
              then(std::move(do_then)) {}
        base::Status execute(Log& log) override {
            result = TRY(work(log));
            return {};
        }
        void finish(const base::Status& status) override {
            if (status)
                then(std::move(*result));
            else
                then(std::unexpected(status.error()));
        }

        Work<T> work;
        Then<T> then;
        std::optional<T> result{};
    };

    void submit(std::unique_ptr<Pending> pending) const;
    void settle(std::unique_ptr<Pending> pending, const base::Status& status) const;

    Parts parts_;
};

}  // namespace events
