#include "exec/tools/vault/changes/recover.h"

#include <fcntl.h>
#include <unistd.h>

#include <ranges>

#include "exec/tools/vault/changes/rename.h"

namespace vault {
namespace {

bool is_same_file(const Seen& seen, const Intent& intent) {
    return seen.kind == Kind::File && seen.status.st_ino == intent.inode &&
           seen.status.st_dev == intent.device;
}

class Settling {
public:
    explicit Settling(const Root& root) : root_(root) {}

    // Takes one change back. False when it was made and others have changed the file since.
    Outcome<bool> take_back(const Intent& intent) {
        switch (intent.entry.action) {
            case Action::Mkdir:
                return folder_back(intent);
            case Action::Create:
            case Action::Modify:
                rewritten_.insert(intent.entry.path);
                return content_back(intent);
            case Action::Rename:
                return move_back(intent);
            case Action::Delete:
                return file_back(intent);
            case Action::Rmdir:
                if (TRY(root_.look(intent.entry.path)).kind == Kind::Missing)
                    TRY(vault::take_back(root_, intent.entry));
                return true;
        }
        return false;
    }

    Performed folders;

private:
    Outcome<bool> folder_back(const Intent& intent) {
        const auto& path = intent.entry.path;
        if (TRY(root_.look(path)).kind != Kind::Folder) return true;
        if (vault::take_back(root_, intent.entry)) return true;
        folders.undo.insert(folders.undo.begin(), intent.entry);
        folders.effects.created.insert(folders.effects.created.begin(),
                                       {path, domain::PathKind::Folder});
        return true;
    }

    Outcome<bool> content_back(const Intent& intent) {
        const auto& entry = intent.entry;
        const bool was_made =
            intent.inode != 0 && is_same_file(TRY(root_.look(entry.path)), intent);
        // Where a file is renamed by a second name, it may still have its first one.
        bool has_old = false;
        if (was_made && intent.temporary) {
            const Seen aside = TRY(root_.look(*intent.temporary));
            has_old = aside.kind == Kind::File && !is_same_file(aside, intent);
        }
        if (was_made) {
            const Content now = TRY(root_.read(entry.path, kFileBytesMax, false));
            if (etag(now.bytes) != entry.afterEtag) return false;
        }
        // The old file itself is still there: it may have been changed by another program.
        if (has_old) TRY(exchange_back(entry.path, *intent.temporary));
        TRY(drop_temporary(intent));
        if (was_made && !has_old) TRY(vault::take_back(root_, entry));
        return true;
    }

    Outcome<void> exchange_back(const std::string& path, const std::string& temporary) {
        const Spot now = TRY(root_.spot(path));
        const Spot old = TRY(root_.spot(temporary));
        if (::renameat2(now.fd(), now.name.c_str(), old.fd(), old.name.c_str(), RENAME_EXCHANGE) !=
            0)
            return refused("Putting back", path, errno);
        return {};
    }

    Outcome<bool> move_back(const Intent& intent) {
        const Seen now = TRY(root_.look(intent.entry.path));
        const bool is_same =
            now.status.st_ino == intent.inode && now.status.st_dev == intent.device;
        // A later change of the call has put another file in its place.
        const bool was_made =
            now.kind != Kind::Missing && (is_same || rewritten_.contains(intent.entry.path));
        if (!was_made) return true;
        const Seen old = TRY(root_.look(*intent.entry.from));
        if (is_same && is_same_file(old, intent)) return second_name_back(intent);
        if (old.kind != Kind::Missing) return !is_same;
        TRY(vault::take_back(root_, intent.entry));
        return true;
    }

    Outcome<bool> second_name_back(const Intent& intent) {
        const Spot spot = TRY(root_.spot(intent.entry.path));
        if (::unlinkat(spot.fd(), spot.name.c_str(), 0) != 0 && errno != ENOENT)
            return refused("Putting back", intent.entry.path, errno);
        return true;
    }

    Outcome<bool> file_back(const Intent& intent) {
        const auto& path = intent.entry.path;
        const bool is_there = TRY(root_.look(path)).kind != Kind::Missing;
        const Seen aside = TRY(root_.look(*intent.temporary));
        if (is_same_file(aside, intent)) {
            if (is_same_file(TRY(root_.look(path)), intent)) {
                TRY(drop_temporary(intent));
                return true;
            }
            if (is_there) return false;
            const Spot from = TRY(root_.spot(*intent.temporary));
            const Spot to = TRY(root_.spot(path));
            if (!rename_to_free(from, from.name, to, to.name))
                return refused("Putting back", path, errno);
            return true;
        }
        if (is_there) return true;
        TRY(vault::take_back(root_, intent.entry));
        return true;
    }

    Outcome<void> drop_temporary(const Intent& intent) {
        if (!intent.temporary) return {};
        if (TRY(root_.look(*intent.temporary)).kind == Kind::Missing) return {};
        const Spot spot = TRY(root_.spot(*intent.temporary));
        if (::unlinkat(spot.fd(), spot.name.c_str(), 0) != 0 && errno != ENOENT)
            return refused("Removing", *intent.temporary, errno);
        return {};
    }

    const Root& root_;
    std::set<std::string> rewritten_;  // Paths of later changes of the same call.
};

}  // namespace

Outcome<Recovery> recover(const Root& root, const std::filesystem::path& folder,
                          const std::string& call) {
    const Begun begun = TRY(read_intents(folder, call));
    if (begun.ending) return Made{*begun.ending};
    Settling settling(root);
    Unsettled left;
    for (const auto& intent : begun.intents | std::views::reverse)
        if (!TRY(settling.take_back(intent))) left.undo.insert(left.undo.begin(), intent.entry);
    if (!left.undo.empty() || !begun.is_sure) {
        left.undo.insert(left.undo.begin(), settling.folders.undo.begin(),
                         settling.folders.undo.end());
        return left;
    }
    Intents intents(folder, call);
    TRY(intents.reset());
    // Should the process die again before the call is made again, they are still its changes.
    for (const auto& entry : settling.folders.undo) TRY(intents.add({.entry = entry}));
    return NotMade{std::move(settling.folders)};
}

}  // namespace vault
