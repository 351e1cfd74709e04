// The same admissions by hand: the C API of SQLite, the statements of store/sql, texts encoded
// beforehand. What our store is measured against.
#pragma once

#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

struct sqlite3;
struct sqlite3_stmt;

namespace bench {

struct RawAdmission {
    std::string message_id;
    std::string agent_id;
    std::string message;  // Encoded records.
    std::string event;
    std::string statistics;
};

class RawDatabase {
public:
    explicit RawDatabase(const std::filesystem::path& migrated);
    ~RawDatabase();
    RawDatabase(const RawDatabase&) = delete;
    RawDatabase& operator=(const RawDatabase&) = delete;

    void begin() { run(begin_); }
    void commit() { run(commit_); }
    void admit(const RawAdmission& admission);

private:
    sqlite3_stmt* prepare(const char* sql);
    void run(sqlite3_stmt* statement);
    long long number(sqlite3_stmt* statement);

    sqlite3* db_{nullptr};
    std::vector<sqlite3_stmt*> all_;
    sqlite3_stmt *begin_, *commit_, *find_, *head_, *message_, *entry_, *event_, *statistics_;
};

// One commit for each admission, one caller at a time.
class RawSingle {
public:
    explicit RawSingle(const std::filesystem::path& migrated) : database_(migrated) {}
    void admit(const RawAdmission& admission);

private:
    std::mutex mutex_;
    RawDatabase database_;
};

// One thread commits whatever waits, without savepoints: one bad job would undo its group.
class RawGrouped {
public:
    explicit RawGrouped(const std::filesystem::path& migrated);
    ~RawGrouped();
    void admit(const RawAdmission& admission);

private:
    void commit_groups();

    RawDatabase database_;
    std::mutex mutex_;
    std::condition_variable arrived_, committed_;
    std::vector<const RawAdmission*> waiting_;
    long long groups_taken_{0}, groups_committed_{0};
    bool stopping_{false};
    std::thread thread_;
};

}  // namespace bench
