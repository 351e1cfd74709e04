#include "exec/tools/patch/undo.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#include "base/hash.h"
#include "base/text.h"
#include "exec/tools/patch/sweep.h"

namespace patch {
namespace {

constexpr mode_t kModeBits = 07777;
constexpr std::size_t kPathsNamed = 10;

bool is_same_content(const std::optional<FileState>& a, const std::optional<FileState>& b) {
    return a.has_value() == b.has_value() && (!a || a->sha256 == b->sha256);
}

Failure changed_since(const std::vector<std::string>& paths) {
    std::string named;
    json::array all;
    for (const auto& path : paths) {
        if (all.size() < kPathsNamed)
            named += (named.empty() ? "" : ", ") + base::printable(base::to_utf8(path));
        all.push_back(json::value(base::to_utf8(path)));
    }
    if (paths.size() > kPathsNamed)
        named += fmt::format(" and {} more", paths.size() - kPathsNamed);
    return failure(
        "changed_since", fmt::format("{} changed since the patch, so nothing was undone.", named),
        {{"paths", std::move(all)}}, "Undo fewer patches, or restore the named files yourself.");
}

// A file as it is now.
struct Found {
    Spot spot;
    std::optional<FileState> state{};
    std::optional<struct stat> status{};
};

Outcome<Found> look(const Tree& tree, const std::string& path) {
    Found found{.spot = TRY(tree.locate(path))};
    if (!found.spot.exists) return found;
    const OldFile file = TRY(tree.read(found.spot, "undo"));
    found.state = FileState{.sha256 = base::sha256_hex(file.bytes),
                            .mode = static_cast<std::int64_t>(file.status.st_mode & kModeBits)};
    found.status = file.status;
    return found;
}

// The file gets its old mode back, unless somebody has chosen another one since.
struct stat like_before(const FileUndo& file, const Found& found) {
    struct stat like{};
    like.st_uid = ::geteuid();
    like.st_gid = ::getegid();
    like.st_mode = S_IFREG | 0600;
    if (found.status) like = *found.status;
    const bool is_chosen =
        found.state && file.after && file.after->mode != 0 && found.state->mode != file.after->mode;
    if (file.before->mode != 0 && !is_chosen)
        like.st_mode = S_IFREG | (static_cast<mode_t>(file.before->mode) & kModeBits);
    return like;
}

Outcome<Change> change_for(const FileUndo& file, const Found& found, const Kept& kept) {
    Change change{.spot = found.spot, .before = found.status};
    if (!file.before) return change;
    const auto bytes = kept(file.before->artifact.value_or(""));
    if (!bytes || base::sha256_hex(*bytes) != file.before->sha256)
        return failure("undo_not_kept",
                       fmt::format("The content of {} before the patch is no longer kept.",
                                   base::printable(base::to_utf8(file.path))),
                       {{"path", base::to_utf8(file.path)}},
                       "Restore the file from version control.");
    change.after = NewFile{.bytes = *bytes, .like = like_before(file, found)};
    return change;
}

// Folders that the patch made go again where nothing else is in them by now.
void remove_folders(const Undo& undo, const Tree& tree) {
    auto folders = undo.folders;
    std::ranges::sort(folders, std::greater<>());  // What lies inside comes first.
    for (const auto& folder : folders) {
        // A name below it leads to its own folder, opened without links.
        const auto inside = tree.locate(folder + "/x");
        if (!inside || !inside->missing.empty()) continue;
        const auto at = folder.rfind('/');
        const auto parent =
            at == std::string::npos ? tree.locate("x") : tree.locate(folder.substr(0, at) + "/x");
        if (!parent || !parent->missing.empty()) continue;
        const std::string name = at == std::string::npos ? folder : folder.substr(at + 1);
        ::unlinkat(parent->folder->get(), name.c_str(), AT_REMOVEDIR);
    }
}

}  // namespace

Outcome<Undo> composed(std::span<const Undo> newest_first) {
    CHECK(!newest_first.empty(), "there is something to undo");
    Undo out{.root = newest_first.front().root};
    std::map<std::string, FileUndo> files;
    std::vector<std::string> changed;
    for (const auto& undo : newest_first) {
        CHECK(undo.root == out.root, "patches of one root are undone together");
        out.folders.insert(out.folders.end(), undo.folders.begin(), undo.folders.end());
        for (const auto& file : undo.files) {
            const auto [known, is_new] = files.try_emplace(file.path, file);
            if (is_new) continue;
            if (!is_same_content(known->second.before, file.after)) changed.push_back(file.path);
            known->second.before = file.before;
        }
    }
    if (!changed.empty()) return changed_since(changed);
    for (auto& [path, file] : files) out.files.push_back(std::move(file));
    return out;
}

Outcome<std::vector<std::string>> take_back(const Undo& undo, const Kept& kept, bool dry_run) {
    const Tree tree = TRY(Tree::open({undo.root, undo.root}));
    std::vector<std::string> changed, restored;
    std::vector<Change> changes;
    for (const auto& file : undo.files) {
        auto found = look(tree, file.path);
        if (found && is_same_content(found->state, file.before)) continue;
        if (!found || !is_same_content(found->state, file.after)) {
            changed.push_back(file.path);
            continue;
        }
        restored.push_back(file.path);
        changes.push_back(TRY(change_for(file, *found, kept)));
    }
    if (!changed.empty()) return changed_since(changed);
    if (dry_run) return restored;
    TRY(sweep(changes));
    remove_folders(undo, tree);
    return restored;
}

}  // namespace patch
