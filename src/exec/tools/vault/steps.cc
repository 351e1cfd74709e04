#include "exec/tools/vault/steps.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <ranges>

#include "exec/tools/vault/names.h"
#include "exec/tools/vault/text/diff.h"
#include "exec/tools/vault/walk.h"

namespace vault {
namespace {

constexpr mode_t kFileMode = 0666;  // Less the umask, as any program makes files.
constexpr mode_t kFolderMode = 0777;
constexpr int kTemporaryNamesMax = 100;

constexpr std::string_view kByHand = "Look at it and restore by hand what you want back.";
constexpr std::string_view kReadAgain = "Read it again and decide anew.";

// A file that does not exist under its real name yet.
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
    return refused("Creating a file next to", path, errno);
}

// A new name is durable only when the folder that lists it is.
Outcome<void> flush(const Spot& spot, std::string_view path) {
    if (::fsync(spot.fd()) != 0) return broken("Flushing the folder of", path, errno);
    return {};
}

Outcome<void> fill(int file, std::string_view bytes, std::string_view path) {
    if (!base::write_all(file, bytes)) return broken("Writing", path, errno);
    if (::fsync(file) != 0) return broken("Flushing", path, errno);
    return {};
}

Outcome<void> write_new(const Spot& spot, const CreateFile& step) {
    const Temporary made = TRY(make_temporary(spot, step.path, kFileMode));
    auto done = fill(made.file.get(), step.bytes, step.path);
    if (done && ::renameat2(spot.fd(), made.name.c_str(), spot.fd(), spot.name.c_str(),
                            RENAME_NOREPLACE) != 0)
        done = refused("Creating", step.path, errno);
    if (!done) {
        ::unlinkat(spot.fd(), made.name.c_str(), 0);
        return done;
    }
    return flush(spot, step.path);
}

bool same_state(const struct stat& a, const struct stat& b) {
    return a.st_dev == b.st_dev && a.st_ino == b.st_ino && a.st_size == b.st_size &&
           a.st_mtim.tv_sec == b.st_mtim.tv_sec && a.st_mtim.tv_nsec == b.st_mtim.tv_nsec;
}

// Puts the temporary file in place of the one that was read, and checks the replaced file: a file
// that was changed in between is put back.
Outcome<void> exchange(const Spot& spot, const Temporary& made, const struct stat& read,
                       std::string_view path) {
    const int folder = spot.fd();
    if (::renameat2(folder, made.name.c_str(), folder, spot.name.c_str(), RENAME_EXCHANGE) != 0) {
        // Some file systems cannot exchange; there the check before the rename is the last one.
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
    return conflict(path, "was just changed by another program", kReadAgain);
}

Outcome<void> replace(const Root& root, std::string_view path, std::string_view before_etag,
                      std::string_view after) {
    const Content old = TRY(root.read(path, kFileBytesMax, false));
    if (etag(old.bytes) != before_etag)
        return conflict(path, "has changed since it was read", kReadAgain);
    const Spot spot = TRY(root.spot(path));
    const Temporary made = TRY(make_temporary(spot, path, 0600));
    auto done = fill(made.file.get(), after, path);
    // The owner may differ only when we are allowed to set it; otherwise the file becomes ours.
    if (done && (old.status.st_uid != ::geteuid() || old.status.st_gid != ::getegid()) &&
        ::fchown(made.file.get(), old.status.st_uid, old.status.st_gid) != 0 && errno != EPERM)
        done = broken("Setting the owner of", path, errno);
    if (done && ::fchmod(made.file.get(), old.status.st_mode & 07777U) != 0)
        done = broken("Setting the mode of", path, errno);
    if (done) done = exchange(spot, made, old.status, path);
    ::unlinkat(spot.fd(), made.name.c_str(), 0);  // The old file, or ours if it failed.
    if (!done) return done;
    return flush(spot, path);
}

Outcome<void> move(const Root& root, std::string_view from, std::string_view to) {
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
    TRY(flush(now, to));
    return flush(old, from);
}

// Renames the file to a temporary name before it is checked, so that exactly the checked file is
// deleted. `release` decides; if it refuses, the file is put back.
Outcome<void> remove_file(const Root& root, const RemoveFile& step,
                          const std::function<Outcome<void>(const std::string& bytes)>& release) {
    static std::atomic<unsigned> next{0};
    const Spot spot = TRY(root.spot(step.path));
    const Spot taken{spot.folder, fmt::format("{}{}-out-{}", kTemporaryPrefix, ::getpid(), next++)};
    if (::renameat2(spot.fd(), spot.name.c_str(), taken.fd(), taken.name.c_str(),
                    RENAME_NOREPLACE) != 0)
        return refused("Removing", step.path, errno);
    const auto judge = [&]() -> Outcome<void> {
        const Content content = TRY(read_at(taken, step.path));
        if (etag(content.bytes) != step.etag)
            return conflict(step.path, "has changed since", kByHand);
        return release(content.bytes);
    };
    auto judged = judge();
    if (judged && ::unlinkat(taken.fd(), taken.name.c_str(), 0) == 0) return flush(spot, step.path);
    if (judged) judged = broken("Removing", step.path, errno);
    if (::renameat2(taken.fd(), taken.name.c_str(), spot.fd(), spot.name.c_str(),
                    RENAME_NOREPLACE) != 0)
        return broken("Putting back", step.path, errno);
    return judged;
}

// Executes one step and records it; a failed step undoes its own partial changes. Without a sink
// nothing is kept.
class Performer {
public:
    Performer(const Root& root, results::ArtifactSink* sink) : root_(root), sink_(sink) {}

    Outcome<void> operator()(const MakeFolder& step) {
        const Spot spot = TRY(root_.spot(step.path));
        if (::mkdirat(spot.fd(), spot.name.c_str(), kFolderMode) != 0) {
            const int why = errno;
            // Another caller created it in this moment: it exists, and is not ours to remove.
            if (why == EEXIST && TRY(root_.look(step.path)).kind == Kind::Folder) return {};
            return refused("Creating", step.path, why);
        }
        done.undo.push_back({.action = Action::Mkdir, .path = step.path});
        done.effects.created.push_back({step.path, domain::PathKind::Folder});
        return flush(spot, step.path);
    }

    Outcome<void> operator()(const CreateFile& step) {
        const Spot spot = TRY(root_.spot(step.path));
        TRY(write_new(spot, step));
        done.undo.push_back(
            {.action = Action::Create, .path = step.path, .afterEtag = etag(step.bytes)});
        done.effects.created.push_back({step.path, domain::PathKind::File});
        return {};
    }

    Outcome<void> operator()(const ModifyFile& step) {
        auto artifact = TRY(keep(step.before));
        const std::string before = etag(step.before), after = etag(step.after);
        TRY(replace(root_, step.path, before, step.after));
        done.undo.push_back({.action = Action::Modify,
                             .path = step.path,
                             .beforeEtag = before,
                             .afterEtag = after,
                             .beforeArtifact = std::move(artifact)});
        done.effects.modified.push_back({step.path, domain::PathKind::File, before, after});
        return {};
    }

    Outcome<void> operator()(const Move& step) {
        TRY(move(root_, step.from, step.to));
        // Without an etag: moving back loses nothing, also when the content has changed since.
        done.undo.push_back({.action = Action::Rename, .path = step.to, .from = step.from});
        if (step.trash)
            done.effects.deleted.push_back({step.from, step.kind, true});
        else
            done.effects.renamed.push_back({step.from, step.to});
        return {};
    }

    Outcome<void> operator()(const RemoveFile& step) {
        std::optional<std::string> artifact;
        TRY(remove_file(root_, step, [&](const std::string& bytes) -> Outcome<void> {
            artifact = TRY(keep(bytes));
            return {};
        }));
        done.undo.push_back({.action = Action::Delete,
                             .path = step.path,
                             .beforeEtag = step.etag,
                             .beforeArtifact = std::move(artifact)});
        done.effects.deleted.push_back({step.path, domain::PathKind::File, false});
        return {};
    }

    Outcome<void> operator()(const RemoveFolder& step) {
        const Spot spot = TRY(root_.spot(step.path));
        if (::unlinkat(spot.fd(), spot.name.c_str(), AT_REMOVEDIR) != 0) {
            if (errno == ENOTEMPTY) return conflict(step.path, "has something in it now", kByHand);
            return refused("Removing", step.path, errno);
        }
        done.undo.push_back({.action = Action::Rmdir, .path = step.path});
        done.effects.deleted.push_back({step.path, domain::PathKind::Folder, false});
        return flush(spot, step.path);
    }

    Performed done;

private:
    Outcome<std::optional<std::string>> keep(std::string_view bytes) {
        if (!sink_) return std::nullopt;
        auto artifact = sink_->store("before", bytes);
        if (artifact) return std::move(*artifact);
        return Failure(domain::ToolError{
            .kind = "artifact_write_failed",
            .message =
                "The content before the change could not be kept: " + artifact.error().message,
            .recovery_hint = "Free disk space and try again."});
    }

    const Root& root_;
    results::ArtifactSink* sink_;
};

// The file that the entry left behind, unchanged.
Outcome<std::string> as_left(const Root& root, const UndoEntry& entry) {
    Content now = TRY(root.read(entry.path, kFileBytesMax, false));
    if (!entry.afterEtag)
        return unfit(entry.path, "was left without a note of what it held", kByHand);
    if (etag(now.bytes) != *entry.afterEtag)
        return conflict(entry.path, "has changed since", kByHand);
    return std::move(now.bytes);
}

Outcome<std::string> bytes_before(const UndoEntry& entry, const Kept& kept) {
    if (!entry.beforeArtifact)
        return unfit(entry.path, "was changed without keeping what it was", kByHand);
    auto bytes = TRY(kept(*entry.beforeArtifact));
    if (entry.beforeEtag && etag(bytes) != *entry.beforeEtag)
        return unfit(entry.path, "has lost the copy of what it was", kByHand);
    return bytes;
}

}  // namespace

void take_back(const Root& root, std::span<const UndoEntry> undo, domain::ToolError& error) {
    json::array not_restored;
    for (const auto& entry : undo | std::views::reverse)
        if (!take_back(root, entry)) not_restored.push_back(json::value(shown(entry.path)));
    if (not_restored.empty()) return;
    if (!error.details || !error.details->is_object()) error.details = json::object{};
    error.details->get_object()["not_restored"] = std::move(not_restored);
}

Outcome<Performed> perform(const Root& root, std::span<const Step> steps,
                           results::ArtifactSink& sink, Performed& folders) {
    Performer performer(root, &sink);
    performer.done = folders;
    for (const auto& step : steps) {
        auto done = std::visit(performer, step);
        if (done) continue;
        folders = {};
        std::vector<UndoEntry> rest;
        for (auto& entry : performer.done.undo) {
            if (entry.action != Action::Mkdir) {
                rest.push_back(std::move(entry));
                continue;
            }
            folders.effects.created.push_back({entry.path, domain::PathKind::Folder});
            folders.undo.push_back(std::move(entry));
        }
        take_back(root, rest, done.error());
        return std::unexpected(std::move(done).error());
    }
    performer.done.effects.side_effects_observed = !performer.done.undo.empty();
    return std::move(performer.done);
}

Outcome<Performed> perform(const Root& root, std::span<const Step> steps,
                           results::ArtifactSink& sink) {
    Performed folders;
    auto done = perform(root, steps, sink, folders);
    if (!done) take_back(root, folders.undo, done.error());
    return done;
}

Outcome<Step> undo_step(const Root& root, const UndoEntry& entry, const Kept& kept) {
    switch (entry.action) {
        case Action::Create:
            return RemoveFile{entry.path, etag(TRY(as_left(root, entry)))};
        case Action::Mkdir:
            return RemoveFolder{entry.path};
        case Action::Modify:
            return ModifyFile{entry.path, TRY(as_left(root, entry)),
                              TRY(bytes_before(entry, kept))};
        case Action::Rename: {
            if (!entry.from || entry.from->empty())
                return invalid(entry.path, "has no `from`", "Say where it was before.");
            if (entry.afterEtag) TRY(as_left(root, entry));
            const bool is_folder = TRY(root.look(entry.path)).kind == Kind::Folder;
            return Move{entry.path, *entry.from,
                        is_folder ? domain::PathKind::Folder : domain::PathKind::File};
        }
        case Action::Delete:
            return CreateFile{entry.path, TRY(bytes_before(entry, kept))};
        case Action::Rmdir:
            return MakeFolder{entry.path};
    }
    return invalid(entry.path, "was changed in no way that is known", kByHand);
}

Outcome<void> take_back(const Root& root, const UndoEntry& entry) {
    const auto step = TRY(undo_step(root, entry, [&](const std::string& artifact) {
        auto bytes = base::read_file(artifact, kFileBytesMax);
        return bytes ? Outcome<std::string>(std::move(*bytes))
                     : unfit(entry.path, "has lost the copy of what it was", kByHand);
    }));
    return std::visit(Performer(root, nullptr), step);
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
        } else if (const auto* removed = std::get_if<RemoveFile>(&step)) {
            deletes.push_back(json::value(removed->path));
        } else if (const auto* emptied = std::get_if<RemoveFolder>(&step)) {
            deletes.push_back(json::value(emptied->path));
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
