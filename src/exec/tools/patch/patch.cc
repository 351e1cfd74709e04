#include "exec/tools/patch/patch.h"

#include <algorithm>
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
    Planner(Tree tree, const Parsed& parsed) : tree_(std::move(tree)) {
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

    Outcome<Applied> execute() {
        const auto folders = TRY(sweep(changes_));
        auto& effects = applied_.effects;
        for (const auto& folder : folders) {
            effects.created.push_back({folder, domain::PathKind::Folder});
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
        changes_.push_back(
            {std::move(spot), std::nullopt,
             NewFile{.bytes = new_content(file.hunks), .executable = file.executable}});
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
        changes_.push_back({std::move(to), std::nullopt, std::move(after)});
        changes_.push_back({std::move(from), old.status, std::nullopt});
        return {};
    }

    void note_new_bytes(const Spot& spot, std::string_view before, std::string_view after) {
        if (before == after) return;
        applied_.effects.modified.push_back(
            {spot.absolute, domain::PathKind::File, etag(before), etag(after)});
    }

    Tree tree_;
    std::set<std::string> claimed_{};
    std::vector<Change> changes_{};
    Applied applied_{};
};

}  // namespace

std::expected<Applied, domain::ToolError> apply(std::string_view text, Format expected,
                                                const Place& place) {
    const Parsed parsed = TRY(parse(text, expected));
    Planner planner(TRY(Tree::open(place)), parsed);
    for (const auto& file : parsed.files) TRY(planner.plan(file));
    return planner.execute();
}

}  // namespace patch
