// Makes a database usable again whose rows cannot be read. Nothing is thrown away: the whole
// database is copied first, and what is taken out is kept with its bytes in quarantined_rows.
#pragma once

#include "base/time.h"
#include "store/sql/sqlite/repair/check.h"

namespace sqlite {

struct RepairReport {
    std::vector<BrokenRow> quarantined;
    std::vector<std::string> actions;  // What else was done, a sentence each.
    CheckReport after;                 // Not sound: the file itself is damaged; use the backup.
};

// Repairs the database `file`, which no other process may use and of which the caller has a copy.
// Migrates it first. Takes out every row that cannot be read and what cannot continue without it,
// returns timers that were put aside to service, and builds the indexes anew. An agent whose own
// record is lost gets a new one and stays set aside. Each row is a transaction of its own: after a
// failure a second call continues. Blocks.
base::Result<RepairReport> repair(const std::filesystem::path& file, base::Time now);

}  // namespace sqlite
