// Copies of the database, as operators ask for them. They need the file only: no agent, no model
// and no daemon.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "base/typed.h"

namespace service {

struct Backup {
    std::string file;  // Absolute.
    std::int64_t bytes{0};
    std::int64_t schema_version{0};  // Of the database that was copied.
};
BOOST_DESCRIBE_STRUCT(Backup, (), (file, bytes, schema_version))

class Backups {
public:
    virtual ~Backups() = default;

    // Copies the database of the home, as it is at one moment, to `file`, or to a new file in
    // <home>/backups. A daemon may serve the home meanwhile. On return the copy is on disk and
    // readable by its owner only. Conflict: `file` exists; it is never replaced. NotFound: the home
    // has no database. After any failure there is no copy. Blocks; any thread may call.
    virtual base::Result<Backup> make(const std::optional<std::string>& file) = 0;
};

}  // namespace service
