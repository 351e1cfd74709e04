// One SQLite connection behind the sql::Connection seam: the only file pair that calls the C API.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <unordered_map>

#include "store/sql/connection.h"
#include "store/store.h"

struct sqlite3;
struct sqlite3_stmt;

namespace sqlite {

using base::Result;
using base::Status;

struct ConnectionOptions {
    std::filesystem::path file;  // ":memory:" for a database that dies with its connection.
    sql::Access access{sql::Access::Write};
    std::chrono::milliseconds busy_timeout{5000};
};

class Connection final : public sql::Connection {
public:
    // Creates the file, readable by its owner only, when it is not there and access is Write.
    static Result<std::unique_ptr<Connection>> open(const ConnectionOptions& options);
    // A database in memory that starts with the bytes that serialize() gave.
    static Result<std::unique_ptr<Connection>> open_bytes(const std::string& bytes);
    ~Connection() override;
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    Result<std::int64_t> execute(std::string_view statement, sql::Params params) override;
    Status query(std::string_view statement, sql::Params params, const sql::Visit& visit) override;
    Status run_script(std::string_view script) override;
    Status begin(sql::Access access) override;
    Status commit() override;
    void rollback() override;
    bool in_transaction() const override;
    Result<sql::Size> size() override;
    Status savepoint() override;
    Status release_savepoint() override;
    Status undo_to_savepoint() override;

    // What the commits from now on survive. Not inside a transaction.
    Status set_durability(store::Durability durability);
    // Waits until every commit so far survives a power cut. Returns at once when they do already. A
    // failure (Io) leaves the commits in place, but a power cut may undo them.
    Status sync();
    // Gives back the pages that are in memory. Not inside a transaction.
    void release_memory();
    // Moves what the log holds into the database file, as far as readers allow.
    void checkpoint();
    // Copies the database, as it is at one moment, over the existing file `target`, which nobody
    // else uses. Other connections may write to this database meanwhile. Does not sync `target`.
    Status copy_to(const std::filesystem::path& target);
    // The whole database as one string of bytes.
    Result<std::string> serialize();

    sqlite3* handle() { return db_.get(); }  // For tests that look at query plans.

private:
    struct CloseDatabase {
        void operator()(sqlite3* db) const;
    };
    struct FinalizeStatement {
        void operator()(sqlite3_stmt* statement) const;
    };
    using Statement = std::unique_ptr<sqlite3_stmt, FinalizeStatement>;
    struct TextHash {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const {
            return std::hash<std::string_view>{}(text);
        }
    };

    Connection(std::unique_ptr<sqlite3, CloseDatabase> db, std::string name)
        : db_(std::move(db)), name_(std::move(name)) {}

    Status set_up(const ConnectionOptions& options);
    Status set_up_writer(std::chrono::milliseconds timeout);
    Result<sqlite3_stmt*> prepare(std::string_view statement);
    Result<sqlite3_stmt*> prepare_new(std::string_view statement);
    Result<sqlite3_stmt*> bound(std::string_view statement, sql::Params params);
    Status check_transaction() const;
    Status control(std::string_view statement);  // BEGIN, COMMIT and their kin.
    std::unexpected<base::Error> failure(int code) const;

    std::unique_ptr<sqlite3, CloseDatabase> db_;
    std::string name_;  // For messages.
    bool begun_{false};
    store::Durability durability_{store::Durability::Disk};
    std::unordered_map<std::string, Statement, TextHash, std::equal_to<>> statements_;
    // The same by where their texts are: nearly all are literals, and comparing one costs less than
    // hashing it. What is at a place may have changed, so the text is compared.
    struct Placed {
        std::string_view text;  // In `statements_`.
        sqlite3_stmt* statement;
    };
    std::unordered_map<const char*, Placed> placed_;
};

}  // namespace sqlite
