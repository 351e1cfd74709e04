#include "store/sql/sqlite/job.h"

#include "store/sql/sql_tx.h"

namespace sqlite {

namespace {

thread_local bool inside_work = false;

class InsideWork {
public:
    InsideWork() { inside_work = true; }
    ~InsideWork() { inside_work = false; }
    InsideWork(const InsideWork&) = delete;
    InsideWork& operator=(const InsideWork&) = delete;
};

std::string what(const std::exception_ptr& thrown) {
    try {
        std::rethrow_exception(thrown);
    } catch (const std::exception& error) {
        return error.what();
    } catch (...) {
        return "an exception without a text";
    }
}

}  // namespace

Status Job::result() && {
    if (thrown) std::rethrow_exception(thrown);
    return std::move(outcome);
}

Status Job::result_without_throw() {
    if (thrown)
        return base::fail(base::ErrorCode::Internal, "a write was undone because it threw: {}",
                          what(thrown));
    return std::move(outcome);
}

void run_work(Job& job, sql::Connection& connection, sql::Access access) {
    const InsideWork inside;
    sql::SqlTx tx(connection, access, job.durability);
    try {
        job.outcome = job.work(tx);
        if (job.outcome && !tx.doomed()) job.outcome = tx.settle();
        if (job.outcome && tx.doomed()) job.outcome = std::unexpected(*tx.doomed());
        job.durability = tx.durability();
    } catch (...) {
        job.thrown = std::current_exception();
    }
}

void check_not_inside_work() {
    CHECK(!inside_work, "work handed to a store does not call a store");
}

}  // namespace sqlite
