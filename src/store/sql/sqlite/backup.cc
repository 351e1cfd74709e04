#include "store/sql/sqlite/backup.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "base/os/files.h"
#include "base/text.h"
#include "store/sql/sqlite/connection.h"

namespace sqlite {

using base::ErrorCode;
using base::fail;
using std::filesystem::path;

namespace {

constexpr std::string_view kAutomaticMark = "-schema-";

// The copy under a name of its own until it is whole; gone with this object unless it was
// published.
class Draft {
public:
    explicit Draft(path file) : file_(std::move(file)) {}
    ~Draft() {
        if (!file_.empty()) ::unlink(file_.c_str());
    }
    Draft(const Draft&) = delete;
    Draft& operator=(const Draft&) = delete;

    const path& file() const { return file_; }

    Status create() {
        fd_.reset(::open(file_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
        if (fd_ && ::fchmod(fd_.get(), 0600) == 0) return {};
        auto failed = base::fail_errno(fmt::format("create {}", file_.string()));
        if (!fd_) file_.clear();
        return failed;
    }

    // Syncs the content first: a name must never stand for a file that a power cut emptied.
    Status publish(const path& to) {
        if (::fsync(fd_.get()) != 0) return base::fail_errno("flush " + file_.string());
        if (::renameat2(AT_FDCWD, file_.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) != 0)
            return errno == EEXIST ? taken(to) : base::fail_errno("create " + to.string());
        file_.clear();
        const base::Fd folder(::open(to.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        if (!folder || ::fsync(folder.get()) != 0)
            return base::fail_errno("flush " + to.parent_path().string());
        return {};
    }

    static std::unexpected<base::Error> taken(const path& to) {
        return fail(ErrorCode::Conflict,
                    "{} exists already, and a backup never replaces a file. Name another one.",
                    to.string());
    }

private:
    path file_;
    base::Fd fd_;
};

// Of a copy that is not in use. A database without the table is one that no program has migrated.
std::int64_t schema_version(Connection& connection) {
    std::int64_t version = 0;
    (void)connection.query("SELECT MAX(number) FROM schema_migrations", {},
                           [&](const sql::Row& row) -> Status {
                               version = row.integer(0);
                               return {};
                           });
    return version;
}

bool is_automatic(const path& file) {
    const std::string name = file.filename().string();
    return name.starts_with("holon-") && name.ends_with(".db") && name.contains(kAutomaticMark);
}

void remove_old(const path& folder) {
    std::vector<path> copies;
    std::error_code failed;
    for (const auto& entry : std::filesystem::directory_iterator(folder, failed))
        if (is_automatic(entry.path())) copies.push_back(entry.path());
    std::ranges::sort(copies, std::ranges::greater());
    // One that cannot be removed costs space, and is tried again with the next.
    for (std::size_t i = kAutomaticBackupsMax; i < copies.size(); ++i)
        std::filesystem::remove(copies[i], failed);
}

}  // namespace

Result<BackupMade> back_up(const path& from, const path& to) {
    std::error_code failed;
    if (!std::filesystem::exists(from, failed))
        return fail(ErrorCode::NotFound, "there is no database {}; nothing was copied",
                    from.string());
    if (std::filesystem::exists(std::filesystem::symlink_status(to, failed)))
        return Draft::taken(to);
    Draft draft(path(to) += fmt::format(".part-{}", ::getpid()));
    TRY(draft.create());
    const auto source = TRY(Connection::open({.file = from, .access = sql::Access::Read}));
    TRY(source->copy_to(draft.file()));
    const auto bytes = static_cast<std::int64_t>(std::filesystem::file_size(draft.file(), failed));
    const std::int64_t version = schema_version(*source);
    TRY(draft.publish(to));
    return BackupMade{.bytes = bytes, .schema_version = version};
}

std::string backup_name(base::Time now) {
    std::string name = "holon-" + base::to_text(now);
    // "holon-2031-01-02T03:04:05.678901Z" without what other systems do not take in names.
    std::erase(name, ':');
    constexpr std::size_t kPrefix = std::string_view("holon-").size();
    name.erase(std::remove(name.begin() + kPrefix, name.end(), '-'), name.end());
    return name;
}

Status back_up_before_migration(const path& from, const path& folder, std::int64_t version,
                                base::Time now) {
    const auto made = [&]() -> Status {
        TRY(base::make_folders(folder, 0700));
        TRY(back_up(from,
                    folder / fmt::format("{}{}{}.db", backup_name(now), kAutomaticMark, version)));
        return {};
    }();
    if (!made)
        return fail(made.error().code,
                    "the database needs an upgrade, and no copy of it could be made before: {}. "
                    "Nothing was changed; free some space in {} and start again.",
                    made.error().message, folder.string());
    remove_old(folder);
    return {};
}

}  // namespace sqlite
