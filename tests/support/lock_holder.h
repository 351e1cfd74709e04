// Another process that holds the write lock of a database, and a store that meets it.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <functional>

#include "base/os/files.h"
#include "store/sql/sqlite/connection.h"
#include "store/sql/sqlite/sqlite_store.h"

namespace test_support {

// Made before this process opens the database, and while it has one thread: the other process is a
// copy of this one.
class LockHolder {
public:
    explicit LockHolder(const std::filesystem::path& file) {
        int orders[2], answers[2];
        CHECK(::pipe(orders) == 0 && ::pipe(answers) == 0, "pipes can be made");
        base::Fd hears(orders[0]), says(answers[1]);
        order_.reset(orders[1]);
        answer_.reset(answers[0]);
        child_ = ::fork();
        CHECK(child_ >= 0, "a process can be made");
        if (child_ != 0) return;
        order_.reset();
        answer_.reset();
        serve(file, hears, says);
    }
    ~LockHolder() { release(); }
    LockHolder(const LockHolder&) = delete;
    LockHolder& operator=(const LockHolder&) = delete;

    // From here on nobody else can write to the database.
    void hold() {
        char byte = 'x';
        CHECK(::write(order_.get(), &byte, 1) == 1 && ::read(answer_.get(), &byte, 1) == 1,
              "the other process has the lock");
    }
    // The lock is free when this returns.
    void release() {
        order_.reset();
        if (child_ > 0) ::waitpid(std::exchange(child_, 0), nullptr, 0);
    }

private:
    [[noreturn]] static void serve(const std::filesystem::path& file, const base::Fd& hears,
                                   const base::Fd& says) {
        char byte = 0;
        if (::read(hears.get(), &byte, 1) == 1) {
            const auto connection = sqlite::Connection::open({.file = file});
            if (connection && (*connection)->begin(sql::Access::Write) &&
                ::write(says.get(), &byte, 1) == 1 && ::read(hears.get(), &byte, 1) == 0)
                (*connection)->rollback();
        }
        ::_exit(0);
    }

    base::Fd order_, answer_;
    pid_t child_{0};
};

// A database in a file, whose writes wait for others only a moment. Used on one thread.
class ContendedStore final : public store::Store {
public:
    explicit ContendedStore(const std::filesystem::path& file)
        : inner_(sqlite::open_inline({.file = file, .busy_timeout = std::chrono::milliseconds(5)})
                     .value()) {}
    store::Status write(store::Durability durability, store::Work work) override {
        auto status = inner_->write(durability, std::move(work));
        if (!status && status.error().code == base::ErrorCode::Unavailable) {
            ++failures;
            if (on_failure) on_failure(failures);
        }
        return status;
    }
    void write_async(store::Durability durability, store::Work work,
                     std::move_only_function<void(store::Status)> done) override {
        done(write(durability, std::move(work)));
    }
    store::Status read(store::Work work) override { return inner_->read(std::move(work)); }

    int failures{0};  // Writes that another process kept from happening.
    std::function<void(int failures)> on_failure;

private:
    std::unique_ptr<store::Store> inner_;
};

}  // namespace test_support
