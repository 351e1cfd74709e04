#include "exec/tools/observe.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "base/os/files.h"
#include "base/text.h"

namespace tools {
namespace {

struct FolderCloser {
    void operator()(DIR* folder) const { closedir(folder); }
};

std::string etag(const Stamp& stamp) {
    return fmt::format("{:x}-{:x}-{:x}", stamp.size, stamp.modified_ns, stamp.inode);
}

Stamp stamp_of(const struct stat& status) {
    const auto kind = S_ISDIR(status.st_mode)   ? domain::PathKind::Folder
                      : S_ISLNK(status.st_mode) ? domain::PathKind::Link
                                                : domain::PathKind::File;
    // A folder's own time and size change with its entries, which are listed themselves.
    if (kind == domain::PathKind::Folder) return {.kind = kind, .inode = status.st_ino};
    return {kind, static_cast<std::uint64_t>(status.st_size),
            status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec, status.st_ino};
}

}  // namespace

FolderSnapshot take_snapshot(const std::filesystem::path& root, std::size_t entries_max,
                             std::span<const char* const> left_out) {
    FolderSnapshot snapshot;
    std::vector<std::string> waiting{""};
    while (!waiting.empty()) {
        const std::string folder = std::move(waiting.back());
        waiting.pop_back();
        base::Fd fd(open((root / folder).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
        if (!fd) {
            if (folder.empty()) return {};
            continue;  // It went away or is not ours to read; its content is unknown.
        }
        const std::unique_ptr<DIR, FolderCloser> entries(fdopendir(fd.get()));
        if (!entries) return {};
        const int open_fd = fd.release();  // closedir() closes it.
        while (const dirent* entry = readdir(entries.get())) {
            const std::string_view name = entry->d_name;
            if (name == "." || name == ".." || name == ".git") continue;
            if (folder.empty() && std::ranges::find(left_out, name) != left_out.end()) continue;
            struct stat status{};
            if (fstatat(open_fd, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
            if (snapshot.entries.size() >= entries_max) return {};
            std::string path =
                folder.empty() ? std::string(name) : folder + "/" + std::string(name);
            if (S_ISDIR(status.st_mode)) waiting.push_back(path);
            snapshot.entries.emplace(std::move(path), stamp_of(status));
        }
    }
    snapshot.complete = true;
    return snapshot;
}

domain::Effects compare(const FolderSnapshot& before, const FolderSnapshot& after) {
    domain::Effects effects;
    if (!before.complete || !after.complete) {
        effects.observed = false;
        return effects;
    }
    std::map<std::string, Stamp> created, deleted;
    for (const auto& [path, stamp] : after.entries) {
        const auto old = before.entries.find(path);
        if (old == before.entries.end()) {
            created.emplace(path, stamp);
        } else if (old->second != stamp && stamp.kind != domain::PathKind::Folder) {
            effects.modified.push_back(
                {base::to_utf8(path), stamp.kind, etag(old->second), etag(stamp)});
        }
    }
    std::map<std::uint64_t, std::string> gone_by_inode;
    for (const auto& [path, stamp] : before.entries)
        if (!after.entries.contains(path)) {
            deleted.emplace(path, stamp);
            if (stamp.kind == domain::PathKind::File) gone_by_inode.emplace(stamp.inode, path);
        }
    for (const auto& [path, stamp] : created) {
        const auto gone = gone_by_inode.find(stamp.inode);
        if (gone != gone_by_inode.end() && deleted.contains(gone->second) &&
            deleted.at(gone->second) == stamp) {
            effects.renamed.push_back({base::to_utf8(gone->second), base::to_utf8(path)});
            deleted.erase(gone->second);
        } else {
            effects.created.push_back({base::to_utf8(path), stamp.kind});
        }
    }
    for (const auto& [path, stamp] : deleted)
        effects.deleted.push_back({base::to_utf8(path), stamp.kind, false});
    std::ranges::sort(effects.modified, {}, &domain::ModifiedPath::path);
    effects.side_effects_observed = !effects.created.empty() || !effects.modified.empty() ||
                                    !effects.deleted.empty() || !effects.renamed.empty();
    return effects;
}

}  // namespace tools
