// Many jobs, one commit.
#pragma once

#include <span>

#include "store/sql/sqlite/job.h"

namespace sqlite {

// Runs the jobs in order inside one transaction and commits it, as durable as the most demanding of
// them asks. A job that fails or throws is undone by itself. When this returns, every job has its
// outcome: success means committed.
void run_group(Connection& connection, std::span<Job* const> jobs);

}  // namespace sqlite
