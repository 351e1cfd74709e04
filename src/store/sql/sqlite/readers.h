// A few connections that only read, each lent to one caller at a time.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "store/sql/sqlite/connection.h"
#include "store/sql/sqlite/job.h"

namespace sqlite {

inline constexpr std::size_t kReadersMax = 4;

class Readers {
public:
    explicit Readers(ConnectionOptions options) : options_(std::move(options)) {}

    // Runs `work` on a snapshot; waits while all connections are lent out. Another one is opened
    // when none comes back soon.
    Status read(store::Work work);
    // Closes the connections that nobody uses: each holds a quarter of a megabyte.
    void release_memory();

private:
    Result<std::unique_ptr<Connection>> borrow();
    void give_back(std::unique_ptr<Connection> connection);

    ConnectionOptions options_;
    std::mutex mutex_;
    std::condition_variable returned_;
    std::vector<std::unique_ptr<Connection>> idle_;
    std::size_t open_{0};
};

// Runs the job on a snapshot of `connection`'s database and leaves its outcome there.
void run_read(Connection& connection, Job& job);

}  // namespace sqlite
