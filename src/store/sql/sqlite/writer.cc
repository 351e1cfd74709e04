#include "store/sql/sqlite/writer.h"

#include "store/sql/sqlite/group.h"

namespace sqlite {

namespace {

// How often the writer lets others run before it takes a group that is smaller than the last one.
constexpr int kGatherYieldsMax = 16;

}  // namespace

Writer::Writer(Connection& connection) : connection_(connection) {}

Writer::~Writer() {
    {
        const Lock lock(mutex_);
        stopping_ = true;
        changed_.notify_all();
    }
    if (thread_.joinable()) thread_.join();
    connection_.checkpoint();
}

std::shared_ptr<Writer::Group> Writer::join(Job& job) {
    if (waiting_.empty() || waiting_.back()->jobs.size() >= kGroupJobsMax)
        waiting_.push_back(std::make_shared<Group>());
    waiting_.back()->jobs.push_back(&job);
    return waiting_.back();
}

void Writer::wake() {
    if (thread_.joinable()) return changed_.notify_one();
    thread_ = std::thread([this] {
        Lock lock(mutex_);
        work_until(lock, [this] { return stopping_ && waiting_.empty(); });
    });
}

bool Writer::may_run_here() const {
    // After a shared commit the others are about to come back: running alone would make all of them
    // wait for a commit of one.
    return !busy_ && waiting_.empty() && last_jobs_ <= 1;
}

Status Writer::write(store::Durability durability, store::Work work) {
    check_not_inside_work();
    Job job{.durability = durability, .work = std::move(work)};
    Lock lock(mutex_);
    if (may_run_here()) {
        run_here(lock, job);
    } else {
        // Woken first, since starting the thread may throw; it continues when the lock is released.
        wake();
        const auto group = join(job);
        if (std::this_thread::get_id() == thread_.get_id()) {
            // A `done` that writes: nobody else would run the group.
            work_until(lock, [&] { return group->settled.load() == 1; });
        } else {
            lock.unlock();
            group->settled.wait(0);
        }
    }
    return std::move(job).result();
}

void Writer::write_async(store::Durability durability, store::Work work,
                         std::move_only_function<void(Status)> done) {
    check_not_inside_work();
    auto job = std::make_unique<Job>(
        Job{.durability = durability, .work = std::move(work), .done = std::move(done)});
    const Lock lock(mutex_);
    wake();
    join(*job)->owned.push_back(std::move(job));
}

void Writer::run_here(Lock& lock, Job& job) {
    busy_ = true;
    lock.unlock();
    Job* const jobs[] = {&job};
    run_group(connection_, jobs);
    lock.lock();
    busy_ = false;
    if (!waiting_.empty()) wake();
}

void Writer::release_memory() {
    Lock lock(mutex_);
    if (busy_ || !waiting_.empty()) return;
    busy_ = true;
    lock.unlock();
    connection_.release_memory();
    lock.lock();
    busy_ = false;
    if (!waiting_.empty()) wake();
}

void Writer::gather(Lock& lock) {
    for (int i = 0; i < kGatherYieldsMax && waiting_.front()->jobs.size() < last_jobs_; ++i) {
        lock.unlock();
        std::this_thread::yield();
        lock.lock();
    }
}

void Writer::run_next(Lock& lock) {
    busy_ = true;
    gather(lock);
    const auto group = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    run_group(connection_, group->jobs);
    lock.lock();
    busy_ = false;
    last_jobs_ = group->jobs.size();
    lock.unlock();
    // From here on the jobs of waiting callers may be gone.
    group->settled.store(1);
    group->settled.notify_all();
    for (const auto& job : group->owned) {
        job->work = nullptr;
        job->done(job->result_without_throw());
    }
    lock.lock();
}

void Writer::work_until(Lock& lock, const std::function<bool()>& finished) {
    while (!finished()) {
        if (!busy_ && !waiting_.empty())
            run_next(lock);
        else
            changed_.wait(lock);
    }
}

}  // namespace sqlite
