#include "exec/tools/vault/decide.h"

#include <thread>

#include "exec/tools/vault/changes/write.h"
#include "exec/tools/vault/names.h"
#include "exec/tools/vault/text/links.h"
#include "exec/tools/vault/text/spelling.h"
#include "exec/tools/vault/walk.h"

namespace vault {
namespace {

constexpr std::string_view kOtherName = "Choose another name, or let a unique one be made.";

// `names` with those of existing entries that are the same text in other code points. Without this
// a note would get a twin that nobody can tell from it.
Outcome<std::vector<std::string>> as_spelled(const Root& root, std::vector<std::string> names) {
    std::string path;
    for (auto& name : names) {
        if (has_spellings(name) && TRY(root.look(join(path, name))).kind == Kind::Missing) {
            const std::string wanted = spelling(name);
            std::string found;
            const auto walked =
                walk(root, {.folder = path, .recursive = false, .with_ignored = true},
                     [&](const Entry& entry) {
                         const std::string_view other = name_of(entry.path);
                         if (spelling(other) == wanted) found = other;
                         return found.empty();
                     });
            if (!walked) return names;  // The folder is missing; nothing in it can be meant.
            if (!found.empty()) name = found;
        }
        path = join(path, name);
    }
    return names;
}

Outcome<std::vector<std::string>> names_to_change(const Root& root, const std::string& path) {
    auto names = TRY(as_spelled(root, TRY(split_path(path))));
    if (names.empty())
        return invalid(path, "names the vault itself", "Name something inside the vault.");
    if (is_protected(names))
        return denied(path, "belongs to version control", "Leave .git to git.");
    if (names.back().starts_with(kTemporaryPrefix))
        return denied(path, "has a name that is kept for unfinished writes", "Choose another.");
    return names;
}

// Walks down `names` and notes the folders that have to be created. Existing names are used
// unchanged, new ones are made safe.
Outcome<std::string> decide_folders(const Root& root, const std::vector<std::string>& names,
                                    std::vector<Step>& steps) {
    if (names.empty()) return "";
    if (auto whole = join(names); root.is_folder(whole)) return whole;
    std::string path;
    for (const auto& name : names) {
        std::string next = join(path, name);
        auto seen = steps.empty() ? TRY(root.look(next)) : Seen{};
        if (seen.kind == Kind::Missing) {
            next = join(path, safe_name(name));
            if (steps.empty()) seen = TRY(root.look(next));
        }
        path = std::move(next);
        if (seen.kind == Kind::Missing)
            steps.emplace_back(MakeFolder{path});
        else if (seen.kind != Kind::Folder)
            TRY(root.is_folder(path));  // A link to a folder inside is fine; anything else fails.
    }
    return path;
}

// A free name in `folder`, which exists, or CONFLICT. A name that is taken is numbered as it is.
Outcome<std::string> free_path(const Root& root, const std::string& folder,
                               const std::string& wanted, OnCollision on_collision) {
    std::string path = join(folder, wanted), name = wanted;
    if (TRY(root.look(path)).kind == Kind::Missing) {
        name = safe_name(wanted);
        if (name == wanted) return path;
        path = join(folder, name);
    }
    for (std::size_t number = 2; number <= kNamesTriedMax + 1; ++number) {
        if (TRY(root.look(path)).kind == Kind::Missing) return path;
        if (on_collision == OnCollision::Error) return conflict(path, "already exists", kOtherName);
        path = join(folder, numbered_name(name, number));
    }
    return conflict(join(folder, name), fmt::format("exists {} times already", kNamesTriedMax),
                    "Choose another name.");
}

Outcome<void> expect_etag(const std::string& path, std::string_view bytes,
                          const std::optional<std::string>& expected) {
    if (expected && etag(bytes) != *expected)
        return conflict(path, fmt::format("has the etag {}, not the expected one", etag(bytes)),
                        "Read it again and decide anew.");
    return {};
}

bool is_read_only(const struct stat& status) {
    return (status.st_mode & (S_IWUSR | S_IWGRP | S_IWOTH)) == 0;
}

// The existing entry, if it may be moved or deleted.
Outcome<domain::PathKind> movable(const Root& root, const std::string& path,
                                  const std::optional<std::string>& expected_etag) {
    const Seen seen = TRY(root.look(path));
    if (seen.kind == Kind::Missing) return missing(path);
    if (seen.kind == Kind::Link || seen.kind == Kind::Special)
        return unfit(path, "is a link, a pipe or a device",
                     "Only regular files and folders are moved and deleted.");
    if (seen.kind == Kind::Folder) {
        if (expected_etag)
            return invalid(path, "is a folder and has no etag", "Leave expectedEtag out.");
        const auto walked = TRY(
            walk(root, {.folder = path, .with_ignored = true}, [](const Entry&) { return true; }));
        if (walked.hidden > 0)
            return denied(path, "has something in it that the policy of this run denies",
                          "Move the files one by one, or have the policy changed.");
        return domain::PathKind::Folder;
    }
    if (expected_etag)
        TRY(expect_etag(path, TRY(root.read(path, kFileBytesMax, false)).bytes, expected_etag));
    return domain::PathKind::File;
}

bool is_note(std::string_view path) {
    return path.ends_with(".md") || path.ends_with(".markdown") || path.ends_with(".MD");
}

bool is_in(std::string_view path, std::string_view folder) {
    return path == folder ||
           (path.size() > folder.size() && path.starts_with(folder) && path[folder.size()] == '/');
}

// Adds a change for every note whose links would point elsewhere after the move.
Outcome<void> decide_links(const Root& root, const Move& move, Decision& decision) {
    std::vector<std::string> before, after;
    const std::function<std::string(const std::string&)> moved = [&](const std::string& path) {
        return is_in(path, move.from) ? move.to + path.substr(move.from.size()) : path;
    };
    const auto walked = TRY(walk(root, {.with_ignored = true}, [&](const Entry& entry) {
        if (entry.kind == Kind::File) {
            before.push_back(entry.path);
            after.push_back(moved(entry.path));
        }
        return true;
    }));
    if (walked.truncated)
        return unfit(move.from, "lies in a vault with too many files to follow links",
                     "Rename with updateLinks false.");
    const LinkIndex old_index(before), new_index(after);
    std::size_t bytes = 0, notes = 0;
    for (const auto& path : before) {
        if (!is_note(path)) continue;
        auto note = root.read(path, kFileBytesMax, false);
        if (!note && note.error().kind == "missing_file") continue;  // Deleted meanwhile.
        if (!note)
            return unfit(path, "cannot be read, so that its links could not follow",
                         "Rename with updateLinks false, or make the note readable and smaller.");
        bytes += note->bytes.size();
        if (bytes > kLinkBytesMax)
            return unfit(move.from, "lies in a vault with too much text to follow links",
                         "Rename with updateLinks false.");
        const std::string now = moved(path);
        auto relinked = rewrite_links(note->bytes, {.note_before = path,
                                                    .note_after = now,
                                                    .before = old_index,
                                                    .after = new_index,
                                                    .moved = moved});
        if (is_read_only(note->status)) {
            decision.broken += relinked.broken + relinked.links;
            continue;
        }
        decision.broken += relinked.broken;
        decision.links += relinked.links;
        if (relinked.links == 0) continue;
        if (++notes > kRelinkedNotesMax)
            return unfit(move.from,
                         fmt::format("is linked from more than {} notes", kRelinkedNotesMax),
                         "Rename with updateLinks false.");
        decision.steps.emplace_back(
            ModifyFile{now, std::move(note->bytes), std::move(relinked.text)});
    }
    return {};
}

// The folders above `path` that are not there, by their exact names.
Outcome<void> missing_folders(const Root& root, std::string_view path, std::vector<Step>& steps) {
    const std::string_view above = folder_of(path);
    if (above.empty() || root.is_folder(above)) return {};
    if (TRY(root.look(above)).kind != Kind::Missing)
        return conflict(above, "is no longer the folder it was", "Move it out of the way.");
    TRY(missing_folders(root, above, steps));
    steps.emplace_back(MakeFolder{std::string(above)});
    return {};
}

// Was `entry` undone already? `kind` is the kind of the entry now at its path.
Outcome<bool> is_back(const Root& root, const UndoEntry& entry, Kind kind) {
    switch (entry.action) {
        case Action::Create:
        case Action::Mkdir:
            return kind == Kind::Missing;
        case Action::Rmdir:
            return kind == Kind::Folder;
        case Action::Rename:
            return kind == Kind::Missing && entry.from &&
                   TRY(root.look(*entry.from)).kind != Kind::Missing;
        case Action::Modify:
        case Action::Delete:
            return kind == Kind::File && entry.beforeEtag &&
                   etag(TRY(root.read(entry.path, kFileBytesMax, false)).bytes) ==
                       *entry.beforeEtag;
    }
    return false;
}

Outcome<std::string> read_kept(const std::filesystem::path& kept, const std::string& artifact) {
    const auto inside = std::filesystem::path(artifact).lexically_relative(kept);
    if (inside.empty() || inside.is_absolute() || *inside.begin() == "..")
        return denied(artifact, "is not among the files that runs keep", "Restore it by hand.");
    // The runtime's own folder; the operator may have put a link on the way to it.
    std::error_code ignored;
    const auto real = std::filesystem::weakly_canonical(kept, ignored);
    auto content = TRY(TRY(Root::open(real)).read(inside.string(), kFileBytesMax, false));
    return std::move(content.bytes);
}

}  // namespace

Outcome<std::string> checked_path(std::string_view path) {
    return join(TRY(split_path(path)));
}

Outcome<std::string> checked_path(const Root& root, std::string_view path) {
    return join(TRY(as_spelled(root, TRY(split_path(path)))));
}

Outcome<Decision> decide_folder(const Root& root, const std::string& path) {
    Decision decision;
    const auto names = TRY(as_spelled(root, TRY(split_path(path))));
    if (is_protected(names))
        return denied(path, "belongs to version control", "Leave .git to git.");
    decision.path = TRY(decide_folders(root, names, decision.steps));
    return decision;
}

Outcome<Decision> decide_create(const Root& root, const std::string& path,
                                const std::string& content, OnCollision on_collision,
                                bool assume_free) {
    auto names = TRY(names_to_change(root, path));
    if (path.ends_with('/')) return invalid(path, "names a folder", "Name the file in it, too.");
    if (content.size() > kFileBytesMax)
        return invalid(path, "would be too large", "Write a smaller file.");
    Decision decision;
    const std::string name = std::move(names.back());
    names.pop_back();
    const std::string folder = TRY(decide_folders(root, names, decision.steps));
    const std::string safe = safe_name(name);
    const bool is_free =
        !decision.steps.empty() || (assume_free && safe == name && !has_spellings(name));
    decision.path = is_free ? join(folder, safe) : TRY(free_path(root, folder, name, on_collision));
    decision.steps.emplace_back(CreateFile{decision.path, content});
    return decision;
}

Outcome<Decision> decide_write(const Root& root, const Write& write) {
    const auto names = TRY(names_to_change(root, write.path));
    const std::string path = join(names);
    if (TRY(root.look(path)).kind == Kind::Missing) {
        if (write.expected_etag)
            return conflict(path, "does not exist, and an etag was expected",
                            "Leave expectedEtag out to create it.");
        if (!write.create) return missing(path);
        return decide_create(root, write.path, write.content, OnCollision::Error);
    }
    Content old = TRY(root.read(path, kFileBytesMax, false));
    TRY(expect_etag(path, old.bytes, write.expected_etag));
    if (is_read_only(old.status))
        return unfit(path, "is read-only", "Make it writable first, or write another file.");
    std::string after = write.mode == WriteMode::Append    ? old.bytes + write.content
                        : write.mode == WriteMode::Prepend ? write.content + old.bytes
                                                           : write.content;
    auto decision = TRY(decide_rewrite(path, std::move(old.bytes), std::move(after)));
    if (decision.steps.empty()) decision.mtime_ms = mtime_ms(old.status);
    return decision;
}

Outcome<Decision> decide_rewrite(const std::string& path, std::string before, std::string after) {
    if (after.size() > kFileBytesMax)
        return invalid(path, "would become too large", "Write less to it.");
    Decision decision{.path = path, .etag = etag(after)};
    if (before != after)
        decision.steps.emplace_back(ModifyFile{path, std::move(before), std::move(after)});
    return decision;
}

Outcome<Decision> decide_rename(const Root& root, const Rename& rename) {
    const std::string from = join(TRY(names_to_change(root, rename.from)));
    auto names = TRY(names_to_change(root, rename.to));
    const auto kind = TRY(movable(root, from, rename.expected_etag));
    Decision decision{.path = from};
    if (join(names) == from) return decision;
    if (kind == domain::PathKind::File && rename.to.ends_with('/'))
        return invalid(rename.to, "names a folder", "Say how the file is to be called in it.");
    if (is_in(join(names), from))
        return invalid(rename.to, "lies inside what is to be moved", "Choose another target.");
    const std::string name = std::move(names.back());
    names.pop_back();
    const std::string folder = TRY(decide_folders(root, names, decision.steps));
    decision.path = decision.steps.empty() ? TRY(free_path(root, folder, name, rename.on_collision))
                                           : join(folder, safe_name(name));
    const Move move{from, decision.path, kind};
    decision.steps.emplace_back(move);
    if (rename.update_links) TRY(decide_links(root, move, decision));
    return decision;
}

Outcome<Decision> decide_delete(const Root& root, const std::string& path,
                                const std::optional<std::string>& expected_etag) {
    const auto names = TRY(names_to_change(root, path));
    if (names.front() == kTrash)
        return unfit(path, "is in the trash already", "Empty the trash by hand.");
    const std::string from = join(names);
    const auto kind = TRY(movable(root, from, expected_etag));
    const std::string trash(kTrash);
    const Seen seen = TRY(root.look(trash));
    Decision decision;
    if (seen.kind == Kind::Missing) {
        decision.steps.emplace_back(MakeFolder{trash});
        decision.path = join(trash, names.back());
    } else if (seen.kind == Kind::Folder) {
        decision.path = TRY(free_path(root, trash, names.back(), OnCollision::Unique));
    } else {
        return unfit(trash, "is not a folder", "Move it out of the way.");
    }
    decision.steps.emplace_back(Move{from, decision.path, kind, true});
    return decision;
}

Outcome<Decision> decide_undo(const Root& root, const UndoEntry& written,
                              const std::filesystem::path& kept) {
    UndoEntry entry = written;
    entry.path = join(TRY(names_to_change(root, written.path)));
    if (written.from) entry.from = join(TRY(names_to_change(root, *written.from)));
    Decision decision{.path = entry.from.value_or(entry.path)};
    if (TRY(is_back(root, entry, TRY(root.look(entry.path)).kind))) return decision;
    const std::string& back = decision.path;  // The path that must exist again.
    const bool brings_back = entry.action == Action::Delete || entry.action == Action::Rmdir ||
                             entry.action == Action::Rename;
    if (brings_back && TRY(root.look(back)).kind != Kind::Missing)
        return conflict(back, "is there again", "Look at it and restore by hand what you want.");
    auto step = TRY(undo_step(
        root, entry, [&](const std::string& artifact) { return read_kept(kept, artifact); }));
    if (brings_back) TRY(missing_folders(root, back, decision.steps));
    decision.steps.push_back(std::move(step));
    return decision;
}

Outcome<Done> execute(const Root& root, const std::function<Outcome<Decision>(bool first)>& decide,
                      results::ArtifactSink& sink, Execution how) {
    std::set<std::string> files;
    for (const auto& path : how.files)
        if (auto names = split_path(path)) files.insert(join(*names));
    auto pause = kBusyPauseFirst;
    for (int tries = 1;; ++tries) {
        auto locks = TRY(FileLocks::hold(root, files, how.stop));
        auto decision = decide(tries == 1);
        if (decision) {
            auto needed = files_to_lock(decision->steps);
            const bool is_held = locks.holds_all(needed);
            files.merge(needed);
            // All of them anew, in the order that everybody keeps to. What was decided is compared
            // with the files again when it is executed.
            if (!is_held) {
                locks = FileLocks();
                locks = TRY(FileLocks::hold(root, files, how.stop));
            }
        }
        const Means means{.root = root, .locks = locks, .sink = &sink, .intents = how.intents};
        auto performed = decision ? perform(means, decision->steps, how.folders)
                                  : Outcome<Performed>(std::unexpected(decision.error()));
        if (performed) {
            // Another caller may have created a folder first; then it is not ours to remove.
            std::erase_if(decision->steps, [&](const Step& step) {
                const auto* folder = std::get_if<MakeFolder>(&step);
                return folder && std::ranges::find(performed->undo, folder->path,
                                                   &UndoEntry::path) == performed->undo.end();
            });
            Done done{std::move(*decision), std::move(*performed)};
            if (how.on_done) how.on_done(done);
            return done;
        }
        auto& error = performed.error();
        const bool is_restored = !error.details || (!base::find(*error.details, "not_restored") &&
                                                    !base::find(*error.details, "kept"));
        // Something has come or gone since the decision, a folder that another call removed, too.
        const bool is_outdated =
            is_busy(error) ||
            (decision && (error.kind == "conflict" || error.kind == "missing_file"));
        if (is_outdated && is_restored && tries < kDecisionsMax) {
            if (is_busy(error)) {
                std::this_thread::sleep_for(pause);
                pause = std::min(pause * 2, kBusyPauseMax);
            }
            continue;
        }
        take_back(means, how.folders.undo, error);
        return std::unexpected(std::move(error));
    }
}

}  // namespace vault
