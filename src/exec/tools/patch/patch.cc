#include "exec/tools/patch/patch.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/hash.h"
#include "base/text.h"
#include "exec/tools/patch/match.h"
#include "exec/tools/patch/parse/parse.h"
#include "exec/tools/patch/sweep.h"

namespace patch {
namespace {

std::string etag(std::string_view bytes) {
    return "sha256:" + base::sha256_hex(bytes);
}

// Computes all changes of a patch before any of them is made.
class Planner {
public:
    Planner(Tree tree, std::filesystem::path root, const Parsed& parsed)
        : tree_(std::move(tree)), root_(std::move(root)) {
        applied_.ignored_metadata = parsed.ignored_metadata;
        applied_.diagnostics = parsed.diagnostics;
    }

    Outcome<void> plan(const FilePatch& file) {
        applied_.changed_files.push_back({file.action, file.path, file.from_path});
        switch (file.action) {
            case Action::Add:
                return plan_add(file);
            case Action::Delete:
                return plan_delete(file);
            case Action::Modify:
                return plan_modify(file, TRY(claim(file.path)));
            case Action::Move:
                return plan_move(file);
        }
        CHECK(false, "every action is planned");
    }

    Outcome<Applied> execute(const Keep& keep) {
        if (keep)
            TRY(keep_before(keep));
        else
            applied_.undo = {};
        const auto folders = TRY(sweep(changes_));
        auto& effects = applied_.effects;
        for (const auto& folder : folders) {
            effects.created.push_back({folder, domain::PathKind::Folder});
            if (keep && !applied_.undo.not_kept)
                applied_.undo.folders.push_back(below_root(folder));
        }
        effects.side_effects_observed = !changes_.empty();
        std::ranges::sort(applied_.changed_paths);
        return std::move(applied_);
    }

private:
    // Where `path` leads. A file may be named once in a patch, by whatever spelling.
    Outcome<Spot> claim(const std::string& path) {
        Spot spot = TRY(tree_.locate(path));
        if (!claimed_.insert(spot.key).second) {
            return failure(
                "duplicate_file_patch", fmt::format("The patch names {} more than once.", path),
                {{"path", base::to_utf8(path)}}, "Put all hunks of one file under one header.");
        }
        applied_.changed_paths.push_back(spot.absolute);
        return spot;
    }

    static Outcome<void> require_free(const Spot& spot) {
        if (!spot.exists) return {};
        return failure("existing_file", fmt::format("{} exists already.", spot.requested),
                       {{"path", base::to_utf8(spot.requested)}},
                       "Read the file and modify it, or choose another path.");
    }

    static Outcome<void> require_size(const Spot& spot, std::string_view bytes) {
        if (bytes.size() <= kFileBytesMax) return {};
        return syntax_failure(
            "file_too_large",
            fmt::format("{} would have more than {} bytes.", spot.requested, kFileBytesMax),
            {.path = spot.requested});
    }

    Outcome<void> plan_add(const FilePatch& file) {
        Spot spot = TRY(claim(file.path));
        TRY(require_free(spot));
        applied_.effects.created.push_back({spot.absolute, domain::PathKind::File});
        NewFile after{.bytes = new_content(file.hunks), .executable = file.executable};
        note_undo(spot, nullptr, &after.bytes);
        changes_.push_back({std::move(spot), std::nullopt, std::move(after)});
        return {};
    }

    Outcome<void> plan_delete(const FilePatch& file) {
        Spot spot = TRY(claim(file.path));
        const OldFile old = TRY(tree_.read(spot, "delete"));
        if (!file.deletes_whatever_is_in) {
            const std::string rest = TRY(apply_hunks(old.bytes, file.hunks, file.path));
            if (!rest.empty()) return not_all_deleted(file, rest);
        }
        applied_.effects.deleted.push_back({spot.absolute, domain::PathKind::File});
        note_undo(spot, &old, nullptr);
        changes_.push_back({std::move(spot), old.status, std::nullopt});
        return {};
    }

    static Failure not_all_deleted(const FilePatch& file, std::string_view rest) {
        return failure(
            "delete_content_mismatch",
            fmt::format("The patch deletes {}, but its hunks do not list the whole file.",
                        file.path),
            {{"path", base::to_utf8(file.path)},
             {"remaining_bytes", rest.size()},
             {"remaining_start", preview(rest.substr(0, rest.find('\n')))}},
            "Read the file again and list every line of it as removed, or remove it with "
            "a command.");
    }

    Outcome<void> plan_modify(const FilePatch& file, Spot spot) {
        OldFile old = TRY(tree_.read(spot, "update"));
        NewFile after{.bytes = TRY(apply_hunks(old.bytes, file.hunks, file.path)),
                      .like = old.status,
                      .executable = file.executable};
        TRY(require_size(spot, after.bytes));
        const bool same_mode =
            !file.executable ||
            with_executable(old.status.st_mode, *file.executable) == old.status.st_mode;
        if (after.bytes == old.bytes && same_mode) {
            applied_.diagnostics.push_back(
                {file.path, "file_unchanged",
                 fmt::format("The patch leaves {} exactly as it was.", file.path)});
            return {};
        }
        note_new_bytes(spot, old.bytes, after.bytes);
        note_undo(spot, &old, &after.bytes, mode_after(old.status.st_mode, file));
        changes_.push_back({std::move(spot), old.status, std::move(after)});
        return {};
    }

    Outcome<void> plan_move(const FilePatch& file) {
        Spot from = TRY(claim(*file.from_path));
        if (TRY(tree_.locate(file.path)).key == from.key) {
            applied_.changed_files.back() = {Action::Modify, file.path};
            return plan_modify(file, std::move(from));
        }
        Spot to = TRY(claim(file.path));
        OldFile old = TRY(tree_.read(from, "rename"));
        TRY(require_free(to));
        NewFile after{.bytes = TRY(apply_hunks(old.bytes, file.hunks, *file.from_path)),
                      .like = old.status,
                      .executable = file.executable};
        TRY(require_size(to, after.bytes));
        applied_.effects.renamed.push_back({from.absolute, to.absolute});
        note_new_bytes(to, old.bytes, after.bytes);
        note_undo(to, nullptr, &after.bytes);
        note_undo(from, &old, nullptr);
        changes_.push_back({std::move(to), std::nullopt, std::move(after)});
        changes_.push_back({std::move(from), old.status, std::nullopt});
        return {};
    }

    void note_new_bytes(const Spot& spot, std::string_view before, std::string_view after) {
        if (before == after) return;
        applied_.effects.modified.push_back(
            {spot.absolute, domain::PathKind::File, etag(before), etag(after)});
    }

    static std::int64_t mode_after(mode_t before, const FilePatch& file) {
        const mode_t mode = file.executable ? with_executable(before, *file.executable) : before;
        return static_cast<std::int64_t>(mode & 07777U);
    }

    std::string below_root(const std::filesystem::path& path) const {
        return path.lexically_relative(root_).string();
    }

    void note_undo(const Spot& spot, const OldFile* before, const std::string* after,
                   std::int64_t after_mode = 0) {
        FileUndo file{.path = below_root(spot.absolute)};
        if (before)
            file.before =
                FileState{.sha256 = base::sha256_hex(before->bytes),
                          .mode = static_cast<std::int64_t>(before->status.st_mode & 07777U)};
        if (after) file.after = FileState{.sha256 = base::sha256_hex(*after), .mode = after_mode};
        kept_bytes_ += before ? before->bytes.size() : 0;
        if (before && kept_bytes_ <= kUndoBytesMax) old_bytes_[file.path] = before->bytes;
        applied_.undo.files.push_back(std::move(file));
    }

    // Before anything changes: what cannot be kept is an error while nothing is lost.
    Outcome<void> keep_before(const Keep& keep) {
        auto& undo = applied_.undo;
        undo.root = root_.string();
        if (undo.files.size() > kUndoFilesMax || kept_bytes_ > kUndoBytesMax) {
            undo.files.clear();
            undo.not_kept = fmt::format("it changed more than {} files or {} MiB", kUndoFilesMax,
                                        kUndoBytesMax / 1024 / 1024);
            return {};
        }
        for (auto& file : undo.files) {
            if (!file.before) continue;
            auto kept = keep(old_bytes_.at(file.path));
            if (!kept)
                return failure("tool_execution_failed",
                               fmt::format("The old content of {} could not be kept: {}.",
                                           file.path, kept.error().message),
                               {{"path", base::to_utf8(file.path)}},
                               "Nothing was changed. Free some disk space and try again.");
            file.before->artifact = std::move(*kept);
        }
        return {};
    }

    Tree tree_;
    std::filesystem::path root_;
    std::map<std::string, std::string> old_bytes_{};  // By path, until they are kept.
    std::size_t kept_bytes_{0};
    std::set<std::string> claimed_{};
    std::vector<Change> changes_{};
    Applied applied_{};
};

}  // namespace

std::expected<Applied, domain::ToolError> apply(std::string_view text, Format expected,
                                                const Place& place, const Keep& keep) {
    const Parsed parsed = TRY(parse(text, expected));
    Planner planner(TRY(Tree::open(place)), place.root.lexically_normal(), parsed);
    for (const auto& file : parsed.files) TRY(planner.plan(file));
    return planner.execute(keep);
}

}  // namespace patch
