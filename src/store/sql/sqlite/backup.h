// Copies of a database that others use meanwhile. Everything here blocks; any thread may call.
#pragma once

#include <cstdint>
#include <filesystem>

#include "base/result.h"
#include "base/time.h"

namespace sqlite {

// Copies made before a migration that are kept in one folder; the oldest go first.
inline constexpr std::size_t kAutomaticBackupsMax = 3;

struct BackupMade {
    std::int64_t bytes{0};
    std::int64_t schema_version{0};  // The highest migration in the copy; 0 when it has none.
};

// Copies the database `from`, as it is at one moment, to the new file `to` with mode 0600. Readers
// and writers of `from` continue meanwhile, and nothing of it is changed or migrated: a database of
// a newer program is copied, too. On return `to` is on disk; after a failure or a crash there is no
// such file. NotFound: there is no database. Conflict: something is at `to`; it is left alone. The
// folder of `to` must exist.
base::Result<BackupMade> back_up(const std::filesystem::path& from,
                                 const std::filesystem::path& to);

// "holon-20310102T030405.678901Z", so that the order of names is that of times.
std::string backup_name(base::Time now);

// Copies `from` to `folder` (made with mode 0700 where it is missing) under backup_name() and
// `version`, and then removes all such copies but the newest kAutomaticBackupsMax. Copies with
// other names are never removed.
base::Status back_up_before_migration(const std::filesystem::path& from,
                                      const std::filesystem::path& folder, std::int64_t version,
                                      base::Time now);

}  // namespace sqlite
