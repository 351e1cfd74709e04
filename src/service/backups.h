// The database as a file: copies, checks, repairs, sizes and the removal of old records, as
// operators ask for them. They need the file only: no agent, no model and no daemon.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "base/typed.h"

namespace service {

struct Backup {
    std::string file;  // Absolute.
    std::int64_t bytes{0};
    std::int64_t schema_version{0};  // Of the database that was copied.
};
BOOST_DESCRIBE_STRUCT(Backup, (), (file, bytes, schema_version))

// A row whose record cannot be read.
struct BrokenRow {
    std::string table;
    std::string key;
    std::string error;
};
BOOST_DESCRIBE_STRUCT(BrokenRow, (), (table, key, error))

struct StoreCheck {
    bool ok{true};
    std::int64_t tables{0};
    std::int64_t rows{0};
    std::vector<std::string> damage{};  // Of the file itself, in SQLite's words.
    std::vector<BrokenRow> broken{};
};
BOOST_DESCRIBE_STRUCT(StoreCheck, (), (ok, tables, rows, damage, broken))

struct StoreRepair {
    std::string backup;  // The copy that was made before.
    std::vector<BrokenRow> quarantined{};
    std::vector<std::string> actions{};
    StoreCheck after{};
};
BOOST_DESCRIBE_STRUCT(StoreRepair, (), (backup, quarantined, actions, after))

// What was, or would be, removed.
struct StoreRemoved {
    std::int64_t messages{0};  // Each with its attempts, prompts, tool calls and transcript.
    std::int64_t events{0};
    std::int64_t other_rows{0};
    std::int64_t agents{0};  // Temporary ones whose run did not complete.
    std::int64_t files{0};
    std::int64_t file_bytes{0};
    friend bool operator==(const StoreRemoved&, const StoreRemoved&) = default;
};
BOOST_DESCRIBE_STRUCT(StoreRemoved, (), (messages, events, other_rows, agents, files, file_bytes))

struct StoreTable {
    std::string table;
    std::int64_t rows{0};
};
BOOST_DESCRIBE_STRUCT(StoreTable, (), (table, rows))

// How much is stored, and what retention makes of it.
struct StoreStatus {
    std::string file;  // Absolute.
    std::int64_t database_bytes{0};
    std::int64_t free_bytes{0};  // Within the file, for new records.
    std::int64_t file_bytes{0};  // Of agents and plans.
    std::int64_t budget_bytes{0};
    bool is_over_budget{false};
    bool retention_enabled{true};
    std::int64_t max_age_days{0};
    // An older version made the home, and no start has announced yet what would go.
    bool awaits_notice{false};
    std::optional<base::Time> deletes_from{};  // Nothing is removed unasked before this.
    std::optional<StoreRemoved> announced{};   // What would have gone when that was announced.
    std::optional<base::Time> last_pass_at{};
    StoreRemoved last_pass{};
    StoreRemoved total{};
    std::vector<StoreTable> tables{};
};
BOOST_DESCRIBE_STRUCT(StoreStatus, (),
                      (file, database_bytes, free_bytes, file_bytes, budget_bytes, is_over_budget,
                       retention_enabled, max_age_days, awaits_notice, deletes_from, announced,
                       last_pass_at, last_pass, total, tables))

struct StorePruned {
    bool dry_run{false};
    StoreRemoved removed{};
    bool is_over_budget{false};  // Afterwards; what is left is too young or still needed.
};
BOOST_DESCRIBE_STRUCT(StorePruned, (), (dry_run, removed, is_over_budget))

class Backups {
public:
    virtual ~Backups() = default;

    // Copies the database of the home, as it is at one moment, to `file`, or to a new file in
    // <home>/backups. A daemon may serve the home meanwhile. On return the copy is on disk and
    // readable by its owner only. Conflict: `file` exists; it is never replaced. NotFound: the home
    // has no database. After any failure there is no copy. Blocks; any thread may call.
    virtual base::Result<Backup> make(const std::optional<std::string>& file) = 0;

    // Checks the file and decodes every record. Changes nothing; a daemon may serve the home
    // meanwhile. NotFound: the home has no database. Blocks; any thread may call.
    virtual base::Result<StoreCheck> check() = 0;

    // Copies the database, then takes out the rows that cannot be read, which it keeps with their
    // bytes, and builds the indexes anew. Conflict while a daemon serves the home; without a copy
    // nothing is changed. Blocks; any thread may call.
    virtual base::Result<StoreRepair> repair() = 0;

    // Sizes, and what retention will do. Migrates the database. NotFound: the home has none. A
    // daemon may serve the home meanwhile. Blocks; any thread may call.
    virtual base::Result<StoreStatus> status() = 0;

    // Removes what is older than the configured age or beyond the disk budget and not needed any
    // more, in small transactions, now; also when retention is off or its notice is not over. With
    // `dry_run` it only counts. A daemon may serve the home meanwhile; after a crash a repeated
    // call continues. NotFound: the home has no database. Blocks; any thread may call.
    virtual base::Result<StorePruned> prune(bool dry_run) = 0;
};

}  // namespace service
