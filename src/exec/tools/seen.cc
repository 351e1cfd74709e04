#include "exec/tools/seen.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/hash.h"
#include "base/os/fs/open_path.h"

namespace tools {
namespace {

namespace fs = std::filesystem;

// How much of a command line is searched for names, and how many words of it are tried.
constexpr std::size_t kCommandCharsMax = 4096;
constexpr std::size_t kWordsMax = 64;
// How many of the changed paths are tried: folders and large files among them have no hash.
constexpr std::size_t kChangedTriedMax = 64;
constexpr std::string_view kBetweenWords = " \t\r\n;|&<>()\"'`=";
// A word with one of these is no name until a shell has worked on it.
constexpr std::string_view kNotInNames = "$*?[]{}~\\!#";

std::string stamp_of(const struct stat& status) {
    return fmt::format("{:x}-{:x}-{:x}-{:x}.{}-{:x}.{}", status.st_dev, status.st_ino,
                       status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec,
                       status.st_ctim.tv_sec, status.st_ctim.tv_nsec);
}

std::optional<std::string> stamp_of(const base::Fd& file) {
    struct stat status{};
    if (::fstat(file.get(), &status) != 0) return std::nullopt;
    return stamp_of(status);
}

base::Result<std::string> read_all(const base::Fd& file, const fs::path& path,
                                   std::size_t bytes_max) {
    std::string bytes;
    std::array<char, std::size_t{64} * 1024> piece{};
    for (;;) {
        const ssize_t got = ::read(file.get(), piece.data(), piece.size());
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return base::fail_errno("read " + path.string());
        if (got == 0) return bytes;
        bytes.append(piece.data(), static_cast<std::size_t>(got));
        if (bytes.size() > bytes_max)
            return base::fail(base::ErrorCode::InvalidInput, "{} is larger than {} bytes",
                              path.string(), bytes_max);
    }
}

struct Version {
    std::string stamp;
    std::string sha256;
};

base::Result<Version> version_of(const fs::path& root, const fs::path& path,
                                 std::size_t bytes_max) {
    const base::Fd file = TRY(base::open_file_beneath(root, path));
    const auto before = stamp_of(file);
    const auto bytes = TRY(read_all(file, path, bytes_max));
    if (!before || stamp_of(file) != before)
        return base::fail(base::ErrorCode::Conflict, "{} is being written to", path.string());
    return Version{*before, base::sha256_hex(bytes)};
}

void add(std::vector<std::string>& list, std::string path) {
    if (std::ranges::find(list, path) == list.end()) list.push_back(std::move(path));
}

std::vector<std::string> changed_by(const domain::Effects& effects) {
    std::vector<std::string> paths;
    if (!effects.observed) return paths;
    const auto try_one = [&](const std::string& path) {
        if (paths.size() < kChangedTriedMax) add(paths, path);
    };
    for (const auto& file : effects.modified) try_one(file.path);
    for (const auto& file : effects.created) try_one(file.path);
    for (const auto& file : effects.renamed) try_one(file.to);
    return paths;
}

}  // namespace

base::Result<std::string> content_hash(const fs::path& root, const fs::path& path,
                                       std::size_t bytes_max) {
    return TRY(version_of(root, path, bytes_max)).sha256;
}

std::vector<std::string> named_paths(const fs::path& root, const CommandWords& command) {
    std::vector<std::string> paths;
    const auto text = std::string_view(command.cmd).substr(0, kCommandCharsMax);
    std::size_t words = 0;
    for (std::size_t at = 0; at < text.size() && words < kWordsMax;) {
        at = text.find_first_not_of(kBetweenWords, at);
        if (at == std::string_view::npos) break;
        const auto end = std::min(text.find_first_of(kBetweenWords, at), text.size());
        const auto word = text.substr(at, end - at);
        at = end;
        ++words;
        if (word.starts_with('-') || word.find_first_of(kNotInNames) != std::string_view::npos)
            continue;
        const auto below = (command.workdir / word).lexically_normal().lexically_relative(root);
        if (below.empty() || below == "." || *below.begin() == "..") continue;
        add(paths, below.string());
    }
    return paths;
}

std::vector<NamedFile> named_files(const fs::path& root, std::span<const CommandWords> commands) {
    std::vector<NamedFile> files;
    for (const auto& command : commands)
        for (auto& path : named_paths(root, command)) {
            if (files.size() == kNamedFilesMax) return files;
            if (std::ranges::find(files, path, &NamedFile::path) != files.end()) continue;
            const auto file = base::open_file_beneath(root, path);
            if (!file) continue;
            if (auto stamp = stamp_of(*file)) files.push_back({std::move(path), std::move(*stamp)});
        }
    return files;
}

domain::SeenFiles seen_files(const fs::path& root, std::span<const NamedFile> named,
                             const domain::Effects& effects) {
    domain::SeenFiles seen{.root = root.string()};
    auto changed = changed_by(effects);
    for (const auto& file : named) {
        if (std::ranges::find(changed, file.path) != changed.end()) continue;
        const auto now = version_of(root, file.path, kSeenFileBytesMax);
        if (now && now->stamp == file.stamp) seen.files.push_back({file.path, now->sha256});
    }
    for (auto& path : changed) {
        if (seen.files.size() >= kSeenFilesMax) break;
        if (auto hash = content_hash(root, path))
            seen.files.push_back({std::move(path), std::move(*hash)});
    }
    return seen;
}

}  // namespace tools
