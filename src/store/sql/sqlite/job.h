// One unit of work and how it went, on whichever thread it runs.
#pragma once

#include <exception>

#include "store/sql/sqlite/connection.h"
#include "store/store.h"

namespace sqlite {

struct Job {
    store::Durability durability{store::Durability::Disk};  // Raised by the work.
    store::Work work;
    std::move_only_function<void(Status)> done{};  // Empty when a caller waits for it.
    Status outcome{};
    std::exception_ptr thrown{};

    bool succeeded() const { return outcome.has_value() && !thrown; }
    // For a waiting caller: rethrows what the work threw.
    Status result() &&;
    // For `done`, which must not see an exception: Internal when the work threw.
    Status result_without_throw();
};

// Runs the work of `job` inside the transaction the connection is in.
void run_work(Job& job, sql::Connection& connection, sql::Access access);

// Throws Bug when the calling thread is inside the work of a job.
void check_not_inside_work();

}  // namespace sqlite
