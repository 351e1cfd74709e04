#include "exec/tools/vault/steps.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <ranges>

#include "exec/tools/vault/changes/write.h"
#include "exec/tools/vault/text/diff.h"

namespace vault {
namespace {

constexpr mode_t kFolderMode = 0777;  // Less the umask, as any program makes folders.

constexpr std::string_view kByHand = "Look at it and restore by hand what you want back.";

// Executes one step and records it; a failed step undoes its own partial changes.
class Performer {
public:
    explicit Performer(const Means& means) : means_(means), root_(means.root) {}

    Outcome<void> operator()(const MakeFolder& step) {
        const Spot spot = TRY(root_.spot(step.path));
        UndoEntry entry{.action = Action::Mkdir, .path = step.path};
        TRY(note(means_, {.entry = entry}));
        if (::mkdirat(spot.fd(), spot.name.c_str(), kFolderMode) != 0) {
            const int why = errno;
            // Another caller created it in this moment: it exists, and is not ours to remove.
            if (why == EEXIST && TRY(root_.look(step.path)).kind == Kind::Folder) return {};
            return refused("Creating", step.path, why);
        }
        done.undo.push_back(std::move(entry));
        done.effects.created.push_back({step.path, domain::PathKind::Folder});
        return flush_folder(spot, step.path);
    }

    Outcome<void> operator()(const CreateFile& step) {
        UndoEntry entry{.action = Action::Create, .path = step.path, .afterEtag = etag(step.bytes)};
        done.mtime_ms = TRY(create_file(means_, step, entry));
        done.undo.push_back(std::move(entry));
        done.effects.created.push_back({step.path, domain::PathKind::File});
        return {};
    }

    Outcome<void> operator()(const ModifyFile& step) {
        auto artifact = TRY(keep(step.before));
        const std::string before = etag(step.before), after = etag(step.after);
        UndoEntry entry{.action = Action::Modify,
                        .path = step.path,
                        .beforeEtag = before,
                        .afterEtag = after,
                        .beforeArtifact = std::move(artifact)};
        done.mtime_ms = TRY(replace_file(means_, step, entry));
        done.undo.push_back(std::move(entry));
        done.effects.modified.push_back({step.path, domain::PathKind::File, before, after});
        return {};
    }

    Outcome<void> operator()(const Move& step) {
        // Without an etag: moving back loses nothing, also when the content has changed since.
        UndoEntry entry{.action = Action::Rename, .path = step.to, .from = step.from};
        TRY(move_path(means_, step, entry));
        done.undo.push_back(std::move(entry));
        if (step.trash)
            done.effects.deleted.push_back({step.from, step.kind, true});
        else
            done.effects.renamed.push_back({step.from, step.to});
        return {};
    }

    Outcome<void> operator()(const RemoveFile& step) {
        UndoEntry entry{.action = Action::Delete, .path = step.path, .beforeEtag = step.etag};
        TRY(remove_file(means_, step, entry, [&](const std::string& bytes) -> Outcome<void> {
            entry.beforeArtifact = TRY(keep(bytes));
            return {};
        }));
        done.undo.push_back(std::move(entry));
        done.effects.deleted.push_back({step.path, domain::PathKind::File, false});
        return {};
    }

    Outcome<void> operator()(const RemoveFolder& step) {
        const Spot spot = TRY(root_.spot(step.path));
        UndoEntry entry{.action = Action::Rmdir, .path = step.path};
        TRY(note(means_, {.entry = entry}));
        if (::unlinkat(spot.fd(), spot.name.c_str(), AT_REMOVEDIR) != 0) {
            if (errno == ENOTEMPTY) return conflict(step.path, "has something in it now", kByHand);
            return refused("Removing", step.path, errno);
        }
        done.undo.push_back(std::move(entry));
        done.effects.deleted.push_back({step.path, domain::PathKind::Folder, false});
        return flush_folder(spot, step.path);
    }

    Performed done;

private:
    Outcome<std::optional<std::string>> keep(std::string_view bytes) {
        if (!means_.sink) return std::nullopt;
        auto artifact = means_.sink->store("before", bytes);
        if (artifact) return std::move(*artifact);
        return Failure(domain::ToolError{
            .kind = "artifact_write_failed",
            .message =
                "The content before the change could not be kept: " + artifact.error().message,
            .recovery_hint = "Free disk space and try again."});
    }

    const Means& means_;
    const Root& root_;
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

Outcome<void> undo_one(const Means& means, const UndoEntry& entry) {
    const auto step = TRY(undo_step(means.root, entry, [&](const std::string& artifact) {
        auto bytes = base::read_file(artifact, kFileBytesMax);
        return bytes ? Outcome<std::string>(std::move(*bytes))
                     : unfit(entry.path, "has lost the copy of what it was", kByHand);
    }));
    return std::visit(Performer(means), step);
}

}  // namespace

std::set<std::string> files_to_lock(std::span<const Step> steps) {
    std::set<std::string> paths;
    std::vector<const Move*> moves;
    const auto before = [&](std::string path) {
        for (const auto* move : moves | std::views::reverse)
            if (path == move->to || path.starts_with(move->to + "/"))
                path = move->from + path.substr(move->to.size());
        return path;
    };
    for (const auto& step : steps) {
        if (const auto* change = std::get_if<ModifyFile>(&step)) {
            paths.insert(before(change->path));
        } else if (const auto* removed = std::get_if<RemoveFile>(&step)) {
            paths.insert(before(removed->path));
        } else if (const auto* move = std::get_if<Move>(&step)) {
            if (move->kind == domain::PathKind::File) paths.insert(before(move->from));
            moves.push_back(move);
        }
    }
    return paths;
}

void take_back(const Means& means, std::span<const UndoEntry> undo, domain::ToolError& error) {
    const Means quiet{.root = means.root, .locks = means.locks};
    json::array not_restored;
    for (const auto& entry : undo | std::views::reverse)
        if (!undo_one(quiet, entry)) not_restored.push_back(json::value(shown(entry.path)));
    if (not_restored.empty()) {
        if (means.intents && !undo.empty()) (void)means.intents->reset();
        return;
    }
    if (!error.details || !error.details->is_object()) error.details = json::object{};
    error.details->get_object()["not_restored"] = std::move(not_restored);
}

Outcome<Performed> perform(const Means& means, std::span<const Step> steps, Performed& folders) {
    Performer performer(means);
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
        take_back(means, rest, done.error());
        return std::unexpected(std::move(done).error());
    }
    performer.done.effects.side_effects_observed = !performer.done.undo.empty();
    return std::move(performer.done);
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
    auto locks = TRY(FileLocks::hold(root, {entry.path}, nullptr));
    return undo_one({.root = root, .locks = locks}, entry);
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
