#include "exec/sandbox/settings/system_settings.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <mutex>
#include <optional>
#include <utility>

#include "base/os/fs/memory_file.h"
#include "base/os/fs/open_path.h"
#include "exec/sandbox/program/plan.h"

namespace sandbox {
namespace {

namespace fs = std::filesystem;
using Kind = Part::Kind;

constexpr std::size_t kTextBytesMax = std::size_t{1} << 20;
// What is larger is mounted: that takes as long as two small copies, of which each is freed, too.
constexpr std::size_t kCopiedFilesMax = 2;
constexpr std::size_t kCopiedBytesMax = std::size_t{16} << 10;
constexpr std::int64_t kCopiedFileBytesMax = std::int64_t{16} << 10;

constexpr const char* kSettingsFiles[] = {"adduser.conf",
                                          "alpine-release",
                                          "apt/sources.list",
                                          "arch-release",
                                          "bash.bashrc",
                                          "bashrc",
                                          "bindresvport.blacklist",
                                          "ca-certificates.conf",
                                          "csh.cshrc",
                                          "debian_version",
                                          "default/locale",
                                          "environment",
                                          "ethertypes",
                                          "fedora-release",
                                          "gai.conf",
                                          "gitattributes",
                                          "gitconfig",
                                          "group",
                                          "host.conf",
                                          "hosts",
                                          "inputrc",
                                          "issue",
                                          "ld.so.cache",
                                          "ld.so.conf",
                                          "locale.alias",
                                          "locale.conf",
                                          "locale.gen",
                                          "localtime",
                                          "login.defs",
                                          "lsb-release",
                                          "magic",
                                          "mailcap",
                                          "man_db.conf",
                                          "manpath.config",
                                          "mime.types",
                                          "nanorc",
                                          "networks",
                                          "nsswitch.conf",
                                          "os-release",
                                          "passwd",
                                          "pki/tls/cert.pem",
                                          "pki/tls/openssl.cnf",
                                          "profile",
                                          "protocols",
                                          "redhat-release",
                                          "resolv.conf",
                                          "rpc",
                                          "services",
                                          "shells",
                                          "ssl/cert.pem",
                                          "ssl/openssl.cnf",
                                          "subgid",
                                          "subuid",
                                          "system-release",
                                          "timezone",
                                          "vimrc",
                                          "wgetrc",
                                          "zprofile",
                                          "zsh/zprofile",
                                          "zsh/zshenv",
                                          "zsh/zshrc",
                                          "zshenv",
                                          "zshrc"};
constexpr const char* kSettingsFolders[] = {"R",
                                            "alternatives",
                                            "crypto-policies",
                                            "fonts",
                                            "java-11-openjdk",
                                            "java-17-openjdk",
                                            "java-21-openjdk",
                                            "java-25-openjdk",
                                            "ld.so.conf.d",
                                            "perl",
                                            "pki/ca-trust",
                                            "pki/tls/certs",
                                            "profile.d",
                                            "python3",
                                            "python3.10",
                                            "python3.11",
                                            "python3.12",
                                            "python3.13",
                                            "python3.14",
                                            "ssl/certs",
                                            "terminfo",
                                            "texmf"};

// What lstat() or stat() reported of a path; zeros for one that is missing. A change of the file
// changes it.
using Look = std::array<std::int64_t, 8>;

Look look_of(const struct stat& info) {
    return {static_cast<std::int64_t>(info.st_dev),
            static_cast<std::int64_t>(info.st_ino),
            static_cast<std::int64_t>(info.st_mode),
            static_cast<std::int64_t>(info.st_size),
            info.st_mtim.tv_sec,
            info.st_mtim.tv_nsec,
            info.st_ctim.tv_sec,
            info.st_ctim.tv_nsec};
}

// The path itself, and what it leads to.
std::pair<Look, Look> look_at(const std::string& path) {
    struct stat info{};
    if (::lstat(path.c_str(), &info) != 0) return {};
    const Look itself = look_of(info);
    if (!S_ISLNK(info.st_mode)) return {itself, itself};
    return {itself, ::stat(path.c_str(), &info) == 0 ? look_of(info) : Look{}};
}

bool is_in_usr(const std::string& path) {
    return path.starts_with("/usr/");
}

}  // namespace

// One reading of the settings, with everything it looked at.
class SettingsCache::Reading {
public:
    explicit Reading(std::string folder) : folder_(std::move(folder)) {
        for (const char* name : kSettingsFolders) read_folder(folder_ + "/" + name);
        for (const char* name : kSettingsFiles) read_file(folder_ + "/" + name);
    }
    bool is_current() const {
        return std::ranges::all_of(
            seen_, [](const auto& one) { return look_at(one.first) == one.second; });
    }
    std::vector<Part> take_parts() { return std::exchange(parts_, {}); }
    const std::vector<std::string>& mounted() const { return mounted_; }

private:
    // Before it is read: a change while it is read makes the reading outdated.
    bool is_readable(const std::string& path) {
        seen_.emplace_back(path, look_at(path));
        return (seen_.back().second.second[2] & S_IROTH) != 0;
    }

    std::string inside(const std::string& path) const {
        return kSettingsFolder + path.substr(folder_.size());
    }

    void read_file(const std::string& path) {
        // What only its owner may read is no setting that programs need.
        if (!is_readable(path)) return;
        std::error_code failed;
        const bool is_link = fs::is_symlink(fs::symlink_status(path, failed));
        const auto target = is_link ? fs::canonical(path, failed).string() : std::string();
        if (!is_link && seen_.back().second.first[3] > kCopiedFileBytesMax)
            mounted_.push_back(path);
        else if (is_in_usr(target))
            parts_.push_back({.kind = Kind::Link, .path = inside(path), .source = target});
        else if (auto text = base::read_file(path, kTextBytesMax))
            parts_.push_back({.kind = Kind::File, .path = inside(path), .text = std::move(*text)});
    }

    void read_folder(const std::string& path) {
        seen_.emplace_back(path, look_at(path));
        if (!base::open_without_links(path, O_PATH | O_DIRECTORY)) return;
        const std::size_t parts = parts_.size();
        const std::size_t seen = seen_.size();
        std::size_t bytes = 0;
        if (copy_folder(path, parts + kCopiedFilesMax, bytes)) return;
        // What is mounted shows its changes by itself.
        parts_.resize(parts);
        seen_.resize(seen);
        mounted_.push_back(path);
    }

    // Copies a small folder; fails for one that costs less to mount. Its links lead into the
    // system, or nowhere.
    bool copy_folder(const std::string& folder, std::size_t parts_max, std::size_t& bytes) {
        std::error_code failed;
        for (const auto& entry : fs::directory_iterator(folder, failed)) {
            const std::string path = entry.path().string();
            if (parts_.size() >= parts_max || !is_readable(path)) return false;
            const auto status = entry.symlink_status(failed);
            if (failed) return false;
            if (fs::is_directory(status)) {
                if (!copy_folder(path, parts_max, bytes)) return false;
            } else if (fs::is_symlink(status)) {
                const auto to = fs::read_symlink(path, failed).string();
                if (failed || !is_in_usr(to)) return false;
                parts_.push_back({.kind = Kind::Link, .path = inside(path), .source = to});
            } else {
                if (!fs::is_regular_file(status)) return false;
                auto text = base::read_file(path, kCopiedBytesMax);
                if (!text) return false;
                bytes += text->size();
                if (bytes > kCopiedBytesMax) return false;
                parts_.push_back(
                    {.kind = Kind::File, .path = inside(path), .text = std::move(*text)});
            }
        }
        return !failed;
    }

    const std::string folder_;
    std::vector<std::pair<std::string, std::pair<Look, Look>>> seen_;
    std::vector<Part> parts_;
    std::vector<std::string> mounted_;
};

SettingsCache::SettingsCache(std::string folder) : folder_(std::move(folder)) {}
SettingsCache::~SettingsCache() = default;

base::Result<SystemSettings> SettingsCache::read() {
    const std::lock_guard lock(mutex_);
    if (reading_ && reading_->is_current()) return settings_;
    auto reading = std::make_unique<Reading>(folder_);
    auto file = TRY(base::make_memory_file("holon-settings", encode(reading->take_parts()),
                                           base::MemoryFile::Data));
    settings_ = {.file = std::make_shared<const base::Fd>(std::move(file)),
                 .mounted = reading->mounted()};
    reading_ = std::move(reading);
    return settings_;
}

base::Result<SystemSettings> system_settings() {
    static SettingsCache cache(kSettingsFolder);
    return cache.read();
}

}  // namespace sandbox
