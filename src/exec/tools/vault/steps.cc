#include "exec/tools/vault/steps.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <ranges>

#include "exec/tools/vault/diff.h"
#include "exec/tools/vault/names.h"
#include "exec/tools/vault/walk.h"

namespace vault {
namespace {

constexpr mode_t kFileMode = 0666;  // Less the umask, as any program makes files.
constexpr mode_t kFolderMode = 0777;
constexpr int kTemporaryNamesMax = 100;

constexpr std::string_view kReadAgain = "Read it again and decide anew.";

// A file that is not there yet for anybody who lists the folder by its real name.
struct Temporary {
    base::Fd file;
    std::string name;
};

Outcome<Temporary> make_temporary(const Spot& spot, std::string_view path, mode_t mode) {
    static std::atomic<unsigned> next{0};
    for (int tries = 0; tries < kTemporaryNamesMax; ++tries) {
        Temporary made{.name = fmt::format("{}{}-{}", kTemporaryPrefix, ::getpid(), next++)};
        made.file.reset(::openat(spot.fd(), made.name.c_str(),
                                 O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
        if (made.file) return made;
        if (errno != EEXIST) break;
    }
    return refused("Creating a file beside", path, errno);
}

// A new name is durable only when the folder that lists it is.
Outcome<void> flush(const Spot& spot, std::string_view path, Durability durability) {
    if (durability == Durability::EachCall && ::fsync(spot.fd()) != 0)
        return broken("Flushing the folder of", path, errno);
    return {};
}

Outcome<void> fill(int file, std::string_view bytes, std::string_view path, Durability durability) {
    if (!base::write_all(file, bytes)) return broken("Writing", path, errno);
    if (durability == Durability::EachCall && ::fsync(file) != 0)
        return broken("Flushing", path, errno);
    return {};
}

Outcome<void> write_new(const Spot& spot, const CreateFile& step, Durability durability) {
    if (durability == Durability::RunEnd) {
        // Nothing is promised about a power cut yet, so the file may be born under its own name.
        // One write of a whole note is as good as atomic for whoever looks on.
        const base::Fd file(::openat(spot.fd(), spot.name.c_str(),
                                     O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                                     kFileMode));
        if (!file) return refused("Creating", step.path, errno);
        auto filled = fill(file.get(), step.bytes, step.path, durability);
        if (!filled) ::unlinkat(spot.fd(), spot.name.c_str(), 0);
        return filled;
    }
    const Temporary made = TRY(make_temporary(spot, step.path, kFileMode));
    auto done = fill(made.file.get(), step.bytes, step.path, durability);
    if (done && ::renameat2(spot.fd(), made.name.c_str(), spot.fd(), spot.name.c_str(),
                            RENAME_NOREPLACE) != 0)
        done = refused("Creating", step.path, errno);
    if (!done) {
        ::unlinkat(spot.fd(), made.name.c_str(), 0);
        return done;
    }
    return flush(spot, step.path, durability);
}

bool same_state(const struct stat& a, const struct stat& b) {
    return a.st_dev == b.st_dev && a.st_ino == b.st_ino && a.st_size == b.st_size &&
           a.st_mtim.tv_sec == b.st_mtim.tv_sec && a.st_mtim.tv_nsec == b.st_mtim.tv_nsec;
}

// Puts the temporary file in place of the one that was read, and looks at what came out: a file
// that somebody changed in between goes back where it was.
Outcome<void> exchange(const Spot& spot, const Temporary& made, const struct stat& read,
                       std::string_view path) {
    const int folder = spot.fd();
    if (::renameat2(folder, made.name.c_str(), folder, spot.name.c_str(), RENAME_EXCHANGE) != 0) {
        // Some file systems cannot exchange; there the last look was the one before.
        if (errno == EINVAL &&
            ::renameat(folder, made.name.c_str(), folder, spot.name.c_str()) == 0)
            return {};
        return refused("Replacing", path, errno);
    }
    struct stat out{};
    if (::fstatat(folder, made.name.c_str(), &out, AT_SYMLINK_NOFOLLOW) == 0 &&
        same_state(out, read))
        return {};
    if (::renameat2(folder, made.name.c_str(), folder, spot.name.c_str(), RENAME_EXCHANGE) != 0)
        return broken("Putting back", path, errno);
    return conflict(path, "was changed by somebody else in this moment", kReadAgain);
}

Outcome<void> replace(const Root& root, std::string_view path, std::string_view before_etag,
                      std::string_view after, Durability durability) {
    const Content old = TRY(root.read(path, kFileBytesMax, false));
    if (etag(old.bytes) != before_etag)
        return conflict(path, "has changed since it was read", kReadAgain);
    const Spot spot = TRY(root.spot(path));
    const Temporary made = TRY(make_temporary(spot, path, 0600));
    auto done = fill(made.file.get(), after, path, durability);
    // The owner may differ only when we are allowed to set it; otherwise the file becomes ours.
    if (done && (old.status.st_uid != ::geteuid() || old.status.st_gid != ::getegid()) &&
        ::fchown(made.file.get(), old.status.st_uid, old.status.st_gid) != 0 && errno != EPERM)
        done = broken("Setting the owner of", path, errno);
    if (done && ::fchmod(made.file.get(), old.status.st_mode & 07777U) != 0)
        done = broken("Setting the mode of", path, errno);
    if (done) done = exchange(spot, made, old.status, path);
    ::unlinkat(spot.fd(), made.name.c_str(), 0);  // The old file, or ours if it failed.
    if (!done) return done;
    return flush(spot, path, durability);
}

Outcome<void> move(const Root& root, std::string_view from, std::string_view to,
                   Durability durability) {
    const Spot old = TRY(root.spot(from));
    const Spot now = TRY(root.spot(to));
    if (::renameat2(old.fd(), old.name.c_str(), now.fd(), now.name.c_str(), RENAME_NOREPLACE) !=
        0) {
        // Here it means another file system below the vault, not a way out of it.
        if (errno == EXDEV)
            return unfit(to, "lies on another file system than what is moved",
                         "Copy the file and delete the old one.");
        if (errno == EINVAL)
            return unfit(to, "lies inside the folder that is moved", "Choose another target.");
        return refused("Renaming", errno == ENOENT ? from : to, errno);
    }
    TRY(flush(now, to, durability));
    return flush(old, from, durability);
}

// Performs one step and notes it; what a failed step had begun, it has taken back itself.
class Performer {
public:
    Performer(const Root& root, results::ArtifactSink& sink, Durability durability)
        : root_(root), sink_(sink), durability_(durability) {}

    Outcome<void> operator()(const MakeFolder& step) {
        const Spot spot = TRY(root_.spot(step.path));
        if (::mkdirat(spot.fd(), spot.name.c_str(), kFolderMode) != 0)
            return refused("Creating", step.path, errno);
        done.undo.push_back({.action = Action::Mkdir, .path = step.path});
        done.effects.created.push_back({step.path, domain::PathKind::Folder});
        return flush(spot, step.path, durability_);
    }

    Outcome<void> operator()(const CreateFile& step) {
        const Spot spot = TRY(root_.spot(step.path));
        TRY(write_new(spot, step, durability_));
        done.undo.push_back(
            {.action = Action::Create, .path = step.path, .afterEtag = etag(step.bytes)});
        done.effects.created.push_back({step.path, domain::PathKind::File});
        return {};
    }

    Outcome<void> operator()(const ModifyFile& step) {
        auto artifact = sink_.store("before", step.before);
        if (!artifact)
            return Failure(domain::ToolError{.kind = "artifact_write_failed",
                                             .message = "The content before the change could not "
                                                        "be kept: " +
                                                        artifact.error().message,
                                             .recovery_hint = "Free disk space and try again."});
        const std::string before = etag(step.before), after = etag(step.after);
        TRY(replace(root_, step.path, before, step.after, durability_));
        done.undo.push_back({.action = Action::Modify,
                             .path = step.path,
                             .beforeEtag = before,
                             .afterEtag = after,
                             .beforeArtifact = std::move(*artifact)});
        done.effects.modified.push_back({step.path, domain::PathKind::File, before, after});
        return {};
    }

    Outcome<void> operator()(const Move& step) {
        TRY(move(root_, step.from, step.to, durability_));
        // Without an etag: moving back loses nothing, also when the content has changed since.
        done.undo.push_back({.action = Action::Rename, .path = step.to, .from = step.from});
        if (step.trash)
            done.effects.deleted.push_back({step.from, step.kind, true});
        else
            done.effects.renamed.push_back({step.from, step.to});
        return {};
    }

    Performed done;

private:
    const Root& root_;
    results::ArtifactSink& sink_;
    Durability durability_;
};

void take_all_back(const Root& root, const std::vector<UndoEntry>& undo, domain::ToolError& error) {
    json::array not_restored;
    for (const auto& entry : undo | std::views::reverse)
        if (!take_back(root, entry)) not_restored.push_back(json::value(shown(entry.path)));
    if (not_restored.empty()) return;
    if (!error.details || !error.details->is_object()) error.details = json::object{};
    error.details->get_object()["not_restored"] = std::move(not_restored);
}

Outcome<void> must_still_be(const Root& root, const UndoEntry& entry) {
    if (!entry.afterEtag) return {};
    const Content now = TRY(root.read(entry.path, kFileBytesMax, false));
    if (etag(now.bytes) != *entry.afterEtag)
        return conflict(entry.path, "has changed since", "Restore it by hand.");
    return {};
}

Outcome<std::string> bytes_before(const UndoEntry& entry) {
    if (!entry.beforeArtifact)
        return unfit(entry.path, "was changed without keeping what it was", "Restore it by hand.");
    auto bytes = base::read_file(*entry.beforeArtifact, kFileBytesMax);
    if (!bytes || (entry.beforeEtag && etag(*bytes) != *entry.beforeEtag))
        return unfit(entry.path, "has lost the copy of what it was", "Restore it by hand.");
    return std::move(*bytes);
}

Outcome<void> restore_bytes(const Root& root, const UndoEntry& entry) {
    const std::string bytes = TRY(bytes_before(entry));
    return replace(root, entry.path, entry.afterEtag.value_or(""), bytes, Durability::EachCall);
}

Outcome<void> create_again(const Root& root, const UndoEntry& entry) {
    const CreateFile file{entry.path, TRY(bytes_before(entry))};
    return write_new(TRY(root.spot(entry.path)), file, Durability::EachCall);
}

Outcome<void> remove(const Root& root, const UndoEntry& entry, int flags) {
    const Spot spot = TRY(root.spot(entry.path));
    if (::unlinkat(spot.fd(), spot.name.c_str(), flags) != 0) {
        if (errno == ENOTEMPTY)
            return conflict(entry.path, "has something in it now", "Remove it by hand.");
        return refused("Removing", entry.path, errno);
    }
    return flush(spot, entry.path, Durability::EachCall);
}

}  // namespace

Outcome<Performed> perform(const Root& root, std::span<const Step> steps,
                           results::ArtifactSink& sink, Durability durability) {
    Performer performer(root, sink, durability);
    for (const auto& step : steps) {
        auto done = std::visit(performer, step);
        if (done) continue;
        take_all_back(root, performer.done.undo, done.error());
        return std::unexpected(std::move(done).error());
    }
    performer.done.effects.side_effects_observed = !steps.empty();
    return std::move(performer.done);
}

Outcome<void> take_back(const Root& root, const UndoEntry& entry) {
    switch (entry.action) {
        case Action::Create:
            TRY(must_still_be(root, entry));
            return remove(root, entry, 0);
        case Action::Mkdir:
            return remove(root, entry, AT_REMOVEDIR);
        case Action::Modify:
            return restore_bytes(root, entry);
        case Action::Rename:
            TRY(must_still_be(root, entry));
            return move(root, entry.path, entry.from.value_or(""), Durability::EachCall);
        case Action::Delete:
            return create_again(root, entry);
    }
    return {};
}

json::object describe(std::span<const Step> steps) {
    json::array creates, modifies, renames, deletes;
    for (const auto& step : steps) {
        if (const auto* folder = std::get_if<MakeFolder>(&step)) {
            creates.push_back(json::value(folder->path));
        } else if (const auto* file = std::get_if<CreateFile>(&step)) {
            creates.push_back(json::value(file->path));
        } else if (const auto* change = std::get_if<ModifyFile>(&step)) {
            modifies.push_back(
                json::object{{"path", change->path},
                             {"diff", unified_diff(change->path, change->before, change->after)}});
        } else if (const auto* moved = std::get_if<Move>(&step)) {
            if (moved->trash)
                deletes.push_back(json::value(moved->from));
            else
                renames.push_back(json::object{{"from", moved->from}, {"to", moved->to}});
        }
    }
    json::object preview;
    if (!creates.empty()) preview["creates"] = std::move(creates);
    if (!modifies.empty()) preview["modifies"] = std::move(modifies);
    if (!renames.empty()) preview["renames"] = std::move(renames);
    if (!deletes.empty()) preview["deletes"] = std::move(deletes);
    return preview;
}

}  // namespace vault
