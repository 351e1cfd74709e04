// The system's settings that confined commands may read: named files and folders of /etc, none of
// which holds credentials.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/os/files.h"
#include "base/result.h"

namespace sandbox {

struct SystemSettings {
    // The files and links, as encode() of their parts; a sealed memory file.
    std::shared_ptr<const base::Fd> file;
    // Folders and files that cost less to mount than to copy.
    std::vector<std::string> mounted{};
};

class SettingsCache {
public:
    explicit SettingsCache(std::string folder);
    ~SettingsCache();

    // The settings as they are now. Files that only their owner may read are left out, and links
    // that lead elsewhere than into /usr become copies. What an earlier call read is given again as
    // long as no file, folder or link of it changed. Unavailable when the kernel has no sealed
    // memory files. Blocks on the file system; any thread.
    base::Result<SystemSettings> read();

private:
    class Reading;
    const std::string folder_;
    std::mutex mutex_;
    std::unique_ptr<const Reading> reading_;
    SystemSettings settings_{};
};

// Those of /etc, from a cache of this process.
base::Result<SystemSettings> system_settings();

}  // namespace sandbox
