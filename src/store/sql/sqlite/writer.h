// The one writer of a database: takes jobs from any thread and commits them in groups.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "store/sql/sqlite/job.h"

namespace sqlite {

inline constexpr std::size_t kGroupJobsMax = 512;

// Jobs run in the order they came. A caller that finds the writer idle runs its job itself, because
// handing it to another thread and back would cost more than the job; under load everything goes to
// the writer's thread, which starts when it is first needed.
class Writer {
public:
    // Nobody else may use `connection` until the writer is gone.
    explicit Writer(Connection& connection);
    // Finishes the waiting jobs. Nobody may be inside write() any more.
    ~Writer();
    Writer(const Writer&) = delete;
    Writer& operator=(const Writer&) = delete;

    Status write(store::Durability durability, store::Work work);
    // `done` runs on the writer's thread, may call the writer again, and must not throw.
    void write_async(store::Durability durability, store::Work work,
                     std::move_only_function<void(Status)> done);

    // Of the connection, unless there is work.
    void release_memory();

private:
    // Jobs that will be committed together.
    struct Group {
        std::vector<Job*> jobs;
        std::vector<std::unique_ptr<Job>> owned;  // Those nobody waits for.
        std::atomic<int> settled{0};              // 1 once all jobs have their outcome.
    };
    using Lock = std::unique_lock<std::mutex>;

    std::shared_ptr<Group> join(Job& job);  // Under the mutex.
    void wake();                            // Under the mutex.
    bool may_run_here() const;
    void run_here(Lock& lock, Job& job);
    void run_next(Lock& lock);
    void gather(Lock& lock);
    void work_until(Lock& lock, const std::function<bool()>& finished);

    Connection& connection_;  // Of the thread that set busy_.
    std::mutex mutex_;
    std::condition_variable changed_;  // For the writer's thread.
    std::deque<std::shared_ptr<Group>> waiting_;
    bool busy_{false};
    bool stopping_{false};
    std::size_t last_jobs_{1};  // Size of the group before.
    std::thread thread_;
};

}  // namespace sqlite
