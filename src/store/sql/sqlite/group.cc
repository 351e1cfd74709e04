#include "store/sql/sqlite/group.h"

namespace sqlite {

using store::Durability;

namespace {

void fail_all(std::span<Job* const> jobs, const base::Error& error) {
    for (Job* job : jobs)
        if (job->succeeded()) job->outcome = std::unexpected(error);
}

// A job that is alone needs no savepoint: its end is the end of the transaction.
Status run_alone(Connection& connection, Job& job) {
    run_work(job, connection, sql::Access::Write);
    return {};
}

Status run_among_others(Connection& connection, Job& job) {
    TRY(connection.savepoint());
    run_work(job, connection, sql::Access::Write);
    return job.succeeded() ? connection.release_savepoint() : connection.undo_to_savepoint();
}

bool needs_disk(std::span<Job* const> jobs) {
    return std::ranges::any_of(jobs, [](const Job* job) {
        return job->succeeded() && job->durability == Durability::Disk;
    });
}

// An error here is one of the transaction, so of every job in it.
Status run_jobs(Connection& connection, std::span<Job* const> jobs) {
    const bool alone = jobs.size() == 1;
    for (Job* job : jobs)
        TRY(alone ? run_alone(connection, *job) : run_among_others(connection, *job));
    if (std::ranges::none_of(jobs, &Job::succeeded)) return connection.rollback(), Status{};
    TRY(connection.commit());
    // What the works required beyond what their callers had asked for.
    return needs_disk(jobs) ? connection.sync() : Status{};
}

// What callers ask for is known before, and then the commit itself waits for the disk: should the
// disk fail, nothing has happened.
Status begin(Connection& connection, std::span<Job* const> jobs) {
    const bool disk = std::ranges::any_of(
        jobs, [](const Job* job) { return job->durability == Durability::Disk; });
    TRY(connection.set_durability(disk ? Durability::Disk : Durability::Process));
    return connection.begin(sql::Access::Write);
}

}  // namespace

void run_group(Connection& connection, std::span<Job* const> jobs) {
    if (const Status begun = begin(connection, jobs); !begun) return fail_all(jobs, begun.error());
    if (const Status ended = run_jobs(connection, jobs); !ended) {
        connection.rollback();
        fail_all(jobs, ended.error());
    }
}

}  // namespace sqlite
