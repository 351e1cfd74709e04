// The real store, and what needs nothing but the store: the gate and backups.
#pragma once

#include <memory>

#include "base/result.h"
#include "base/time.h"
#include "config/config.h"
#include "flow/retention/keeper.h"
#include "service/backups.h"
#include "service/gate.h"
#include "store/sql/sqlite/repair/check.h"
#include "store/store.h"

namespace app {

// Opens the database of the home, makes both where they are missing, and migrates it. A database
// that needs a migration is copied to <home>/backups first. Starts no thread but the store's
// writer.
base::Result<std::unique_ptr<store::Store>> open_store(const config::Config& config);

// What `holon doctor` says of the database, after a check of a few seconds at most: the members of
// service::StoreCheck and `is_whole`, or {ok, error}; and its sizes and the state of retention, as
// far as the database has them.
json::object store_report(const config::Config& config);

// Opening compiles no rules and starts no thread but the store's writer.
base::Result<std::unique_ptr<service::Gate>> open_gate(const config::Config& config);

// What retention works with in this home.
retention::Parts retention_parts(const config::Config& config, store::Store& store,
                                 base::Clock& clock);

service::StoreCheck check_of(sqlite::CheckReport report);

// Works on the file of the database. Only repair(), status() and prune() open it for writing, and
// migrate it.
class FileBackups final : public service::Backups {
public:
    FileBackups(const config::Config& config, base::Clock& clock)
        : config_(config), clock_(clock) {}
    base::Result<service::Backup> make(const std::optional<std::string>& file) override;
    base::Result<service::StoreCheck> check() override;
    base::Result<service::StoreRepair> repair() override;
    base::Result<service::StoreStatus> status() override;
    base::Result<service::StorePruned> prune(bool dry_run) override;

private:
    const config::Config& config_;
    base::Clock& clock_;
};

}  // namespace app
