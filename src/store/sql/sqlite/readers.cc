#include "store/sql/sqlite/readers.h"

#include <chrono>

namespace sqlite {

namespace {

// A connection reads the schema and prepares its statements, which takes as long as many reads: one
// that is about to come back is better than a new one.
constexpr std::chrono::milliseconds kReaderPatience{2};

}  // namespace

void run_read(Connection& connection, Job& job) {
    job.outcome = connection.begin(sql::Access::Read);
    if (!job.outcome) return;
    run_work(job, connection, sql::Access::Read);
    connection.rollback();
}

Result<std::unique_ptr<Connection>> Readers::borrow() {
    std::unique_lock lock(mutex_);
    if (open_ > 0) returned_.wait_for(lock, kReaderPatience, [this] { return !idle_.empty(); });
    returned_.wait(lock, [this] { return !idle_.empty() || open_ < kReadersMax; });
    if (!idle_.empty()) {
        auto connection = std::move(idle_.back());
        idle_.pop_back();
        return connection;
    }
    ++open_;
    lock.unlock();
    auto connection = Connection::open(options_);
    if (!connection) give_back(nullptr);
    return connection;
}

void Readers::give_back(std::unique_ptr<Connection> connection) {
    const std::lock_guard lock(mutex_);
    if (connection)
        idle_.push_back(std::move(connection));
    else
        --open_;
    returned_.notify_one();
}

void Readers::release_memory() {
    std::vector<std::unique_ptr<Connection>> closed;  // After the lock.
    const std::lock_guard lock(mutex_);
    open_ -= idle_.size();
    closed.swap(idle_);
}

Status Readers::read(store::Work work) {
    check_not_inside_work();
    Job job{.work = std::move(work)};
    auto connection = TRY(borrow());
    run_read(*connection, job);
    give_back(std::move(connection));
    return std::move(job).result();
}

}  // namespace sqlite
