#include "bench/support/store_raw.h"

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include <sqlite3.h>

namespace bench {

namespace {

void expect(bool fine, sqlite3* db) {
    if (fine) return;
    std::fprintf(stderr, "sqlite: %s\n", sqlite3_errmsg(db));
    std::exit(1);
}

void text(sqlite3_stmt* statement, int index, std::string_view value) {
    sqlite3_bind_text64(statement, index, value.data(), value.size(), SQLITE_STATIC, SQLITE_UTF8);
}

}  // namespace

RawDatabase::RawDatabase(const std::filesystem::path& migrated) {
    expect(sqlite3_open_v2(migrated.c_str(), &db_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX,
                           nullptr) == SQLITE_OK,
           db_);
    expect(sqlite3_exec(db_,
                        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
                        "PRAGMA wal_autocheckpoint = 2000; PRAGMA temp_store = MEMORY;"
                        "PRAGMA cache_size = -16384;",
                        nullptr, nullptr, nullptr) == SQLITE_OK,
           db_);
    begin_ = prepare("BEGIN IMMEDIATE");
    commit_ = prepare("COMMIT");
    find_ = prepare("SELECT id FROM messages WHERE id = ?1");
    head_ = prepare(
        "INSERT INTO stream_heads (agent_id, stream, seq) VALUES (?1, ?2, 1) "
        "ON CONFLICT (agent_id, stream) DO UPDATE SET seq = stream_heads.seq + 1 RETURNING seq");
    message_ = prepare(
        "INSERT INTO messages (id, agent_id, seq, dedupe_key, record) "
        "VALUES (?1, ?2, ?3, ?4, ?5)");
    entry_ = prepare(
        "INSERT INTO queue_entries (message_id, agent_id, seq, priority, status, tries, "
        "created_at, updated_at) VALUES (?1, ?2, ?3, ?4, 'queued', 0, ?5, ?5)");
    event_ = prepare("INSERT INTO events (agent_id, event_seq, record) VALUES (?1, ?2, ?3)");
    statistics_ = prepare(
        "INSERT INTO agent_statistics (agent_id, record) VALUES (?1, ?2) "
        "ON CONFLICT (agent_id) DO UPDATE SET record = excluded.record");
}

RawDatabase::~RawDatabase() {
    for (auto* statement : all_) sqlite3_finalize(statement);
    sqlite3_close(db_);
}

sqlite3_stmt* RawDatabase::prepare(const char* sql) {
    sqlite3_stmt* statement = nullptr;
    expect(sqlite3_prepare_v3(db_, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr) ==
               SQLITE_OK,
           db_);
    all_.push_back(statement);
    return statement;
}

void RawDatabase::run(sqlite3_stmt* statement) {
    expect(sqlite3_step(statement) == SQLITE_DONE, db_);
    sqlite3_reset(statement);
}

long long RawDatabase::number(sqlite3_stmt* statement) {
    expect(sqlite3_step(statement) == SQLITE_ROW, db_);
    const long long value = sqlite3_column_int64(statement, 0);
    run(statement);
    return value;
}

void RawDatabase::admit(const RawAdmission& admission) {
    text(find_, 1, admission.message_id);
    run(find_);
    text(head_, 1, admission.agent_id);
    text(head_, 2, "message");
    const long long seq = number(head_);
    text(message_, 1, admission.message_id);
    text(message_, 2, admission.agent_id);
    sqlite3_bind_int64(message_, 3, seq);
    sqlite3_bind_null(message_, 4);
    text(message_, 5, admission.message);
    run(message_);
    text(entry_, 1, admission.message_id);
    text(entry_, 2, admission.agent_id);
    sqlite3_bind_int64(entry_, 3, seq);
    sqlite3_bind_int64(entry_, 4, 2);
    sqlite3_bind_int64(entry_, 5, 1'700'000'000'000'000);
    run(entry_);
    text(head_, 1, admission.agent_id);
    text(head_, 2, "event");
    const long long event_seq = number(head_);
    text(event_, 1, admission.agent_id);
    sqlite3_bind_int64(event_, 2, event_seq);
    text(event_, 3, admission.event);
    run(event_);
    text(statistics_, 1, admission.agent_id);
    text(statistics_, 2, admission.statistics);
    run(statistics_);
}

void RawSingle::admit(const RawAdmission& admission) {
    const std::lock_guard lock(mutex_);
    database_.begin();
    database_.admit(admission);
    database_.commit();
}

RawGrouped::RawGrouped(const std::filesystem::path& migrated)
    : database_(migrated), thread_([this] { commit_groups(); }) {}

RawGrouped::~RawGrouped() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
        arrived_.notify_one();
    }
    thread_.join();
}

void RawGrouped::admit(const RawAdmission& admission) {
    std::unique_lock lock(mutex_);
    waiting_.push_back(&admission);
    const long long mine = groups_taken_ + 1;
    arrived_.notify_one();
    committed_.wait(lock, [&] { return groups_committed_ >= mine; });
}

void RawGrouped::commit_groups() {
    std::unique_lock lock(mutex_);
    for (;;) {
        arrived_.wait(lock, [&] { return stopping_ || !waiting_.empty(); });
        if (waiting_.empty()) return;
        const auto group = std::move(waiting_);
        waiting_.clear();
        ++groups_taken_;
        lock.unlock();
        database_.begin();
        for (const auto* admission : group) database_.admit(*admission);
        database_.commit();
        lock.lock();
        groups_committed_ = groups_taken_;
        committed_.notify_all();
    }
}

}  // namespace bench
