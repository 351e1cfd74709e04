#include "exec/tools/patch/parse/unified_header.h"

#include "base/text.h"

namespace patch {
namespace {

std::optional<bool> executable_in(std::string_view mode) {
    if (mode.size() != 6 || !mode.starts_with("100")) return std::nullopt;
    return mode == "100755" || mode == "100775" || mode == "100777";
}

// `rename from` has no prefix in git, but models write one; the headers then decide.
void agree(std::string& renamed, const std::string& header) {
    if (renamed != header && without_prefix(renamed) == header) renamed = header;
}

// A file patch without hunks: an empty file comes or goes, or only the mode changes.
Outcome<FilePatch> resolve_from_git(const Header& header) {
    if (!header.git) {
        return syntax_failure("invalid_git_header",
                              "The paths of the `diff --git` line cannot be separated.",
                              {.line = header.line});
    }
    if (header.git->from != header.git->to) {
        return syntax_failure("missing_rename_header",
                              fmt::format("The path changes from {} to {} without `rename "
                                          "from` and `rename to`.",
                                          header.git->from, header.git->to),
                              {.line = header.line, .path = header.git->to});
    }
    return FilePatch{.action = header.new_file_mode       ? Action::Add
                               : header.deleted_file_mode ? Action::Delete
                                                          : Action::Modify,
                     .path = header.git->to};
}

Outcome<FilePatch> resolve_rename(Header& header) {
    if (!header.rename_from || !header.rename_to) {
        return syntax_failure("missing_rename_header",
                              "`rename from` and `rename to` have to be given together.",
                              {.line = header.line});
    }
    std::string& from = *header.rename_from;
    std::string& to = *header.rename_to;
    const auto details = [&] {
        return json::object{{"rename_from", base::to_utf8(from)}, {"rename_to", base::to_utf8(to)}};
    };
    if (!header.has_git) {
        return failure("missing_git_header",
                       fmt::format("The rename of {} has no `diff --git` line.", from), details(),
                       fmt::format("Put `diff --git a/{} b/{}` above the rename lines.", from, to));
    }
    if (header.git) {
        agree(from, header.git->from);
        agree(to, header.git->to);
    }
    const bool git_agrees = !header.git || *header.git == GitPaths{from, to};
    const bool paths_agree =
        !header.has_paths || (header.old_path == from && header.new_path == to);
    if (!git_agrees || !paths_agree) {
        return failure(
            "rename_path_mismatch",
            fmt::format("The headers of the rename from {} to {} name other paths.", from, to),
            details(),
            "Make `diff --git`, `---`, `+++`, `rename from` and `rename to` name the "
            "same two paths.");
    }
    return FilePatch{.action = Action::Move, .path = to, .from_path = from};
}

}  // namespace

Outcome<FilePatch> resolve(Header& header) {
    if (header.rename_from || header.rename_to) return resolve_rename(header);
    const auto mismatch = [&](std::string_view message) {
        return syntax_failure("path_header_mismatch", message, {.line = header.line});
    };
    if (!header.has_paths) return resolve_from_git(header);
    if (!header.old_path && !header.new_path) {
        return mismatch("Both sides of the file header are /dev/null.");
    }
    const std::string& path = header.new_path ? *header.new_path : *header.old_path;
    const bool adds = !header.old_path;
    const bool deletes = !header.new_path;
    if (!adds && !deletes && header.old_path != header.new_path) {
        return syntax_failure(
            "missing_rename_header",
            fmt::format("The path changes from {} to {} without `rename from` and `rename to`.",
                        *header.old_path, *header.new_path),
            {.line = header.line, .path = path});
    }
    if (header.git && (header.git->from != path || header.git->to != path)) {
        return mismatch(fmt::format(
            "The `diff --git` line and the `---`/`+++` lines of {} name other paths.", path));
    }
    if ((header.new_file_mode && !adds) || (header.deleted_file_mode && !deletes)) {
        return mismatch(fmt::format(
            "The mode lines of {} add or delete it, but neither `---` nor `+++` is /dev/null "
            "accordingly.",
            path));
    }
    return FilePatch{.action = adds      ? Action::Add
                               : deletes ? Action::Delete
                                         : Action::Modify,
                     .path = path};
}

void note_modes(Header& header, FilePatch& file) {
    const auto& given = header.new_file_mode ? header.new_file_mode : header.new_mode;
    if (given) file.executable = executable_in(*given);
    if (file.executable) return;
    const auto ignore = [&](std::string_view kind, const std::optional<std::string>& mode) {
        if (mode) header.ignored.emplace_back(kind, *mode);
    };
    ignore("new file mode", header.new_file_mode);
    ignore("old mode", header.old_mode);
    ignore("new mode", header.new_mode);
}

}  // namespace patch
