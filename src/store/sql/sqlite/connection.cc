#include "store/sql/sqlite/connection.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>

#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

namespace sqlite {

using base::ErrorCode;
using base::fail;

namespace {

constexpr std::string_view kMemory = ":memory:";

// The log is copied into the database at 8 MB: rarely enough to share the copying of hot pages,
// often enough that one copy stays short. What a burst left behind is cut back to 32 MB.
constexpr const char* kWriterPragmas =
    "PRAGMA page_size = 4096;"
    "PRAGMA journal_mode = WAL;"
    "PRAGMA synchronous = FULL;"
    "PRAGMA wal_autocheckpoint = 2000;"
    "PRAGMA journal_size_limit = 33554432;";
constexpr const char* kCommonPragmas =
    "PRAGMA foreign_keys = OFF;"
    "PRAGMA temp_store = MEMORY;"
    "PRAGMA cell_size_check = ON;"
    "PRAGMA cache_size = -16384;";

// There may be several of these, and what one does not hold, the kernel does.
constexpr const char* kReaderPragmas =
    "PRAGMA query_only = ON;"
    "PRAGMA cache_size = -2048;";

constexpr std::chrono::milliseconds kOpenRetryPause{5};

// More places of statements than the program has literals: some are made as they are needed.
constexpr std::size_t kPlacesMax = 1024;

class StatementRow final : public sql::Row {
public:
    explicit StatementRow(sqlite3_stmt* statement) : statement_(statement) {}
    bool is_null(int column) const override {
        return sqlite3_column_type(statement_, column) == SQLITE_NULL;
    }
    std::int64_t integer(int column) const override {
        return sqlite3_column_int64(statement_, column);
    }
    std::string_view text(int column) const override {
        const auto* bytes = sqlite3_column_text(statement_, column);
        const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_, column));
        return bytes ? std::string_view(reinterpret_cast<const char*>(bytes), size)
                     : std::string_view();
    }

private:
    sqlite3_stmt* statement_;
};

// A statement goes back to its start when we leave it, or it would hold its locks.
class Reset {
public:
    explicit Reset(sqlite3_stmt* statement) : statement_(statement) {}
    ~Reset() { sqlite3_reset(statement_); }
    Reset(const Reset&) = delete;
    Reset& operator=(const Reset&) = delete;

private:
    sqlite3_stmt* statement_;
};

int bind(sqlite3_stmt* statement, int index, const sql::Param& param) {
    if (const auto* number = std::get_if<std::int64_t>(&param.value))
        return sqlite3_bind_int64(statement, index, *number);
    if (const auto* text = std::get_if<std::string_view>(&param.value))
        // A null pointer would bind NULL, and an empty view may have one.
        return sqlite3_bind_text64(statement, index, text->data() ? text->data() : "", text->size(),
                                   SQLITE_STATIC, SQLITE_UTF8);
    return sqlite3_bind_null(statement, index);
}

// SQLite would create the file with the umask's mode; its log files then copy ours.
Status create_private(const std::filesystem::path& file) {
    const int fd = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return fail(ErrorCode::Io,
                    "cannot open the database {}: {}. Check that its folder exists and that you "
                    "may write there.",
                    file.string(), std::strerror(errno));
    ::close(fd);
    return {};
}

}  // namespace

void Connection::CloseDatabase::operator()(sqlite3* db) const {
    sqlite3_close_v2(db);
}

void Connection::FinalizeStatement::operator()(sqlite3_stmt* statement) const {
    sqlite3_finalize(statement);
}

Connection::~Connection() = default;

std::unexpected<base::Error> Connection::failure(int code) const {
    const std::string detail = sqlite3_errmsg(db_.get());
    switch (code & 0xff) {
        case SQLITE_CONSTRAINT:
            return fail(ErrorCode::Conflict, "the database {} refused a change: {}", name_, detail);
        case SQLITE_BUSY:
        case SQLITE_LOCKED:
            return fail(ErrorCode::Unavailable,
                        "the database {} is in use by another process that did not release it in "
                        "time. Nothing was changed; try again, or stop the other process.",
                        name_);
        case SQLITE_FULL:
            return fail(ErrorCode::Io,
                        "the disk that holds the database {} is full. Nothing was changed; free "
                        "some space and try again.",
                        name_);
        case SQLITE_IOERR:
            return fail(ErrorCode::Io,
                        "reading or writing the database {} failed: {} (code {}). Check the disk "
                        "and its system log.",
                        name_, detail, code);
        case SQLITE_READONLY:
        case SQLITE_PERM:
        case SQLITE_AUTH:
            return fail(ErrorCode::Io,
                        "the database {} cannot be written: {}. Check the permissions of the file "
                        "and its folder.",
                        name_, detail);
        case SQLITE_CANTOPEN:
            return fail(ErrorCode::Io,
                        "the database {} cannot be opened: {}. Check that its folder exists and "
                        "that you may write there.",
                        name_, detail);
        case SQLITE_CORRUPT:
            return fail(ErrorCode::Corrupt,
                        "the database {} is damaged: {}. Stop, keep a copy of the file and its "
                        "-wal file, and restore a backup or run 'sqlite3 FILE .recover'.",
                        name_, detail);
        case SQLITE_NOTADB:
            return fail(ErrorCode::Corrupt,
                        "{} is not a database of this program. Name another file, or move this one "
                        "away.",
                        name_);
        case SQLITE_TOOBIG:
            return fail(ErrorCode::InvalidInput, "a value is too large for the database {}", name_);
        default:
            return fail(ErrorCode::Internal, "the database {} failed: {} (code {})", name_, detail,
                        code);
    }
}

Result<std::unique_ptr<Connection>> Connection::open(const ConnectionOptions& options) {
    const std::string name = options.file.string();
    const bool in_memory = name == kMemory;
    const bool writes = options.access == sql::Access::Write;
    if (writes && !in_memory) TRY(create_private(options.file));
    const int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE |
                      (writes ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY);
    sqlite3* raw = nullptr;
    const int code = sqlite3_open_v2(name.c_str(), &raw, flags, nullptr);
    std::unique_ptr<Connection> connection(
        new Connection(std::unique_ptr<sqlite3, CloseDatabase>(raw), name));
    if (code != SQLITE_OK) return connection->failure(code);
    TRY(connection->set_up(options));
    return connection;
}

Status Connection::set_up(const ConnectionOptions& options) {
    sqlite3_busy_timeout(db_.get(), static_cast<int>(options.busy_timeout.count()));
    TRY(run_script(kCommonPragmas));
    if (options.access == sql::Access::Write) return set_up_writer(options.busy_timeout);
    return run_script(kReaderPragmas);
}

// Two processes that make one file at the same time meet in the switch to the log, where SQLite
// answers "busy" at once: there the busy timeout does not apply.
Status Connection::set_up_writer(std::chrono::milliseconds timeout) {
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    for (;;) {
        auto status = run_script(kWriterPragmas);
        const bool busy = !status && status.error().code == ErrorCode::Unavailable;
        if (!busy || std::chrono::steady_clock::now() >= deadline) return status;
        std::this_thread::sleep_for(kOpenRetryPause);
    }
}

Result<std::unique_ptr<Connection>> Connection::open_bytes(const std::string& bytes) {
    auto connection = TRY(open({.file = kMemory}));
    auto* copy = static_cast<unsigned char*>(sqlite3_malloc64(bytes.size()));
    if (!copy && !bytes.empty()) throw std::bad_alloc();
    if (!bytes.empty()) std::memcpy(copy, bytes.data(), bytes.size());
    const auto size = static_cast<sqlite3_int64>(bytes.size());
    const int code =
        sqlite3_deserialize(connection->db_.get(), "main", copy, size, size,
                            SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE);
    if (code != SQLITE_OK) return connection->failure(code);
    return connection;
}

Result<sqlite3_stmt*> Connection::prepare(std::string_view statement) {
    if (const auto place = placed_.find(statement.data());
        place != placed_.end() && place->second.text == statement)
        return place->second.statement;
    auto found = statements_.find(statement);
    if (found == statements_.end()) {
        TRY(prepare_new(statement));
        found = statements_.find(statement);
    }
    if (placed_.size() >= kPlacesMax) placed_.clear();
    placed_.insert_or_assign(statement.data(), Placed{found->first, found->second.get()});
    return found->second.get();
}

Result<sqlite3_stmt*> Connection::prepare_new(std::string_view statement) {
    // "$2" would be a name to SQLite, numbered by its first appearance; "?2" is the number.
    std::string text(statement);
    std::ranges::replace(text, '$', '?');
    sqlite3_stmt* raw = nullptr;
    const int code = sqlite3_prepare_v3(db_.get(), text.data(), static_cast<int>(text.size()),
                                        SQLITE_PREPARE_PERSISTENT, &raw, nullptr);
    if (code != SQLITE_OK) return failure(code);
    statements_.emplace(std::string(statement), Statement(raw));
    return raw;
}

Result<sqlite3_stmt*> Connection::bound(std::string_view statement, sql::Params params) {
    sqlite3_stmt* prepared = TRY(prepare(statement));
    CHECK(sqlite3_bind_parameter_count(prepared) == static_cast<int>(params.size()),
          "a statement binds all its parameters");
    int index = 0;
    for (const auto& param : params) {
        const int code = bind(prepared, ++index, param);
        if (code != SQLITE_OK) return failure(code);
    }
    return prepared;
}

// After a full disk or an I/O error SQLite may have rolled back by itself. What follows would then
// be committed statement by statement.
Status Connection::check_transaction() const {
    if (!begun_ || in_transaction()) return {};
    return fail(ErrorCode::Io, "the database {} has undone this transaction after an error", name_);
}

Result<std::int64_t> Connection::execute(std::string_view statement, sql::Params params) {
    TRY(check_transaction());
    sqlite3_stmt* prepared = TRY(bound(statement, params));
    const Reset reset(prepared);
    int code = SQLITE_ROW;
    while (code == SQLITE_ROW) code = sqlite3_step(prepared);
    if (code != SQLITE_DONE) return failure(code);
    return sqlite3_changes64(db_.get());
}

Status Connection::query(std::string_view statement, sql::Params params, const sql::Visit& visit) {
    TRY(check_transaction());
    sqlite3_stmt* prepared = TRY(bound(statement, params));
    const Reset reset(prepared);
    const StatementRow row(prepared);
    int code = sqlite3_step(prepared);
    for (; code == SQLITE_ROW; code = sqlite3_step(prepared)) TRY(visit(row));
    if (code != SQLITE_DONE) return failure(code);
    return {};
}

Status Connection::run_script(std::string_view script) {
    const int code =
        sqlite3_exec(db_.get(), std::string(script).c_str(), nullptr, nullptr, nullptr);
    if (code != SQLITE_OK) return failure(code);
    return {};
}

Status Connection::control(std::string_view statement) {
    sqlite3_stmt* prepared = TRY(prepare(statement));
    const int code = sqlite3_step(prepared);
    // The message belongs to the step; resetting would not lose it, but may replace it.
    Status outcome;
    if (code != SQLITE_DONE) outcome = failure(code);
    sqlite3_reset(prepared);
    return outcome;
}

Status Connection::begin(sql::Access access) {
    TRY(control(access == sql::Access::Write ? "BEGIN IMMEDIATE" : "BEGIN"));
    begun_ = true;
    return {};
}

Status Connection::commit() {
    TRY(check_transaction());
    TRY(control("COMMIT"));
    begun_ = false;
    return {};
}

void Connection::rollback() {
    begun_ = false;
    // It fails only where SQLite has rolled back already, which is what we want.
    if (in_transaction()) (void)control("ROLLBACK");
}

bool Connection::in_transaction() const {
    return sqlite3_get_autocommit(db_.get()) == 0;
}

Result<sql::Size> Connection::size() {
    const auto value_of = [this](std::string_view pragma) -> Result<std::int64_t> {
        std::int64_t value = 0;
        TRY(query(pragma, {}, [&](const sql::Row& row) -> Status {
            value = row.integer(0);
            return {};
        }));
        return value;
    };
    const std::int64_t page = TRY(value_of("PRAGMA page_size"));
    const std::int64_t free = TRY(value_of("PRAGMA freelist_count"));
    const std::int64_t all = TRY(value_of("PRAGMA page_count"));
    return sql::Size{.used_bytes = (all - free) * page, .free_bytes = free * page};
}

Status Connection::savepoint() {
    TRY(check_transaction());
    return control("SAVEPOINT job");
}

Status Connection::release_savepoint() {
    TRY(check_transaction());
    return control("RELEASE job");
}

Status Connection::undo_to_savepoint() {
    TRY(check_transaction());
    TRY(control("ROLLBACK TO job"));
    return control("RELEASE job");
}

Status Connection::set_durability(store::Durability durability) {
    if (durability == durability_) return {};
    // In WAL mode NORMAL writes the same log in the same order, and leaves the sync to later.
    TRY(run_script(durability == store::Durability::Disk ? "PRAGMA synchronous = FULL"
                                                         : "PRAGMA synchronous = NORMAL"));
    durability_ = durability;
    return {};
}

Status Connection::sync() {
    if (durability_ == store::Durability::Disk) return {};
    sqlite3_file* log = nullptr;
    if (sqlite3_file_control(db_.get(), "main", SQLITE_FCNTL_JOURNAL_POINTER,
                             static_cast<void*>(&log)) != SQLITE_OK ||
        !log || !log->pMethods)
        return {};  // A database in memory has no log.
    const int code = log->pMethods->xSync(log, SQLITE_SYNC_NORMAL);
    return code == SQLITE_OK ? Status{} : failure(code);
}

void Connection::release_memory() {
    sqlite3_db_release_memory(db_.get());
}

void Connection::checkpoint() {
    // Best effort: whatever stays in the log is read from there.
    sqlite3_wal_checkpoint_v2(db_.get(), nullptr, SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
}

Status Connection::copy_to(const std::filesystem::path& target) {
    sqlite3* raw = nullptr;
    const int opened = sqlite3_open_v2(
        target.c_str(), &raw, SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE | SQLITE_OPEN_READWRITE,
        nullptr);
    Connection copy(std::unique_ptr<sqlite3, CloseDatabase>(raw), target.string());
    if (opened != SQLITE_OK) return copy.failure(opened);
    // A copy that is cut short is thrown away, so it needs no journal, and the caller syncs it.
    TRY(copy.run_script("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"));
    sqlite3_backup* backup = sqlite3_backup_init(raw, "main", db_.get(), "main");
    if (!backup) return copy.failure(sqlite3_errcode(raw));
    // All pages in one step, which is one snapshot: in between, a writer would make it start over.
    const int stepped = sqlite3_backup_step(backup, -1);
    const int finished = sqlite3_backup_finish(backup);
    if (stepped != SQLITE_DONE) return copy.failure(stepped);
    if (finished != SQLITE_OK) return copy.failure(finished);
    return {};
}

Result<std::string> Connection::serialize() {
    constexpr std::size_t kWriteVersion = 18, kReadVersion = 19;
    sqlite3_int64 size = 0;
    unsigned char* bytes = sqlite3_serialize(db_.get(), "main", &size, 0);
    if (!bytes) return failure(sqlite3_errcode(db_.get()));
    std::string copy(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
    sqlite3_free(bytes);
    // The header may ask for a write-ahead log, which a database in memory cannot have.
    if (copy.size() > kReadVersion) copy[kWriteVersion] = copy[kReadVersion] = 1;
    return copy;
}

}  // namespace sqlite
