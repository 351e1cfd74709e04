// The real store, and what needs nothing but the store: the gate and backups.
#pragma once

#include <memory>

#include "base/result.h"
#include "base/time.h"
#include "config/config.h"
#include "service/backups.h"
#include "service/gate.h"
#include "store/store.h"

namespace app {

// Opens the database of the home, makes both where they are missing, and migrates it. A database
// that needs a migration is copied to <home>/backups first. Starts no thread but the store's
// writer.
base::Result<std::unique_ptr<store::Store>> open_store(const config::Config& config);

// Opening compiles no rules and starts no thread but the store's writer.
base::Result<std::unique_ptr<service::Gate>> open_gate(const config::Config& config);

// Works on the file of the database, which it neither opens for writing nor migrates.
class FileBackups final : public service::Backups {
public:
    FileBackups(const config::Config& config, base::Clock& clock)
        : config_(config), clock_(clock) {}
    base::Result<service::Backup> make(const std::optional<std::string>& file) override;

private:
    const config::Config& config_;
    base::Clock& clock_;
};

}  // namespace app
