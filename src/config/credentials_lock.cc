#include "config/credentials_lock.h"

#include <fcntl.h>
#include <sys/file.h>

#include <thread>

namespace config {

base::Result<std::optional<CredentialsLock>> try_lock_credentials(
    const std::filesystem::path& home) {
    const auto path = home / "credentials.lock";
    CredentialsLock lock(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!lock) return base::fail_errno("open " + path.string());
    if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) return std::optional<CredentialsLock>{};
    return std::optional(std::move(lock));
}

base::Result<CredentialsLock> lock_credentials(const std::filesystem::path& home) {
    TRY(base::make_folders(home, 0700));
    for (int tries = 0; tries < kCredentialsLockTries; ++tries) {
        if (auto lock = TRY(try_lock_credentials(home))) return std::move(*lock);
        std::this_thread::sleep_for(kCredentialsLockStep);
    }
    return base::fail(base::ErrorCode::Conflict,
                      "another process is changing the credentials; try again");
}

}  // namespace config
