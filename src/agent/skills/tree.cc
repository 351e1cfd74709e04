#include "agent/skills/tree.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <ranges>

#include "base/json.h"
#include "base/os/fs/open_path.h"
#include "base/text.h"

namespace skills {
namespace {

namespace fs = std::filesystem;
using base::ErrorCode;
using base::fail;

constexpr std::size_t kNameCharsMax = 64;
constexpr mode_t kFolderMode = 0700;

std::string shown(const fs::path& path) {
    return base::printable(path.string());
}

// Adds what lies below `root`/`inner` to the tree.
base::Status add_folder(Tree& tree, const fs::path& root, const fs::path& inner, std::size_t depth,
                        std::size_t& bytes) {
    if (depth > kTreeDepthMax)
        return fail(ErrorCode::InvalidInput, "the skill {} has folders more than {} deep",
                    shown(root), kTreeDepthMax);
    std::error_code failed;
    fs::directory_iterator entries(root / inner, failed);
    for (; !failed && entries != fs::directory_iterator(); entries.increment(failed)) {
        const fs::path relative = inner / entries->path().filename();
        if (relative == kInstallFile || relative.filename() == ".git") continue;
        const auto status = entries->symlink_status(failed);
        if (failed) break;
        if (fs::is_directory(status)) {
            TRY(add_folder(tree, root, relative, depth + 1, bytes));
            continue;
        }
        if (!fs::is_regular_file(status))
            return fail(ErrorCode::Refused,
                        "{} is a link or no regular file; a skill that is copied must not have "
                        "one. Remove it, or install the skill without --copy",
                        shown(root / relative));
        if (tree.files.size() >= kTreeFilesMax)
            return fail(ErrorCode::InvalidInput, "the skill {} has more than {} files", shown(root),
                        kTreeFilesMax);
        auto text = TRY(base::read_file_beneath(root, relative, kTreeBytesMax));
        bytes += text.size();
        if (bytes > kTreeBytesMax)
            return fail(ErrorCode::InvalidInput, "the skill {} has more than {} bytes", shown(root),
                        kTreeBytesMax);
        const bool runs = (status.permissions() & fs::perms::owner_exec) != fs::perms::none;
        tree.files.push_back({relative.string(), std::move(text), runs});
    }
    if (failed)
        return fail(ErrorCode::Io, "{} cannot be listed: {}", shown(root / inner),
                    failed.message());
    return {};
}

}  // namespace

bool is_skill_name(std::string_view text) {
    const auto allowed = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '.' || c == '-' || c == '_';
    };
    return !text.empty() && text.size() <= kNameCharsMax && text[0] != '.' &&
           std::ranges::all_of(text, allowed);
}

bool is_tree_path(std::string_view path) {
    if (path.empty()) return false;
    const auto is_bad = [](char c) { return c == '\\' || static_cast<unsigned char>(c) < 0x20; };
    if (std::ranges::any_of(path, is_bad)) return false;
    return std::ranges::all_of(std::views::split(path, '/'), [](const auto& part) {
        const std::string_view text(part.begin(), part.end());
        return !text.empty() && text != "." && text != "..";
    });
}

base::Status check(const Tree& tree) {
    if (!is_skill_name(tree.name))
        return fail(ErrorCode::InvalidInput,
                    "'{}' is not the name of a skill: use letters, digits, '.', '-' and '_', at "
                    "most 64 of them, and do not begin with a dot",
                    base::printable(base::ellipsize(base::to_utf8(tree.name), kNameCharsMax)));
    if (std::ranges::find(tree.files, kSkillFile, &TreeFile::path) == tree.files.end())
        return fail(ErrorCode::NotFound, "the skill {} has no SKILL.md", tree.name);
    std::size_t bytes = 0;
    for (const auto& file : tree.files) {
        if (!is_tree_path(file.path))
            return fail(ErrorCode::Refused, "the skill {} has a file outside its folder: {}",
                        tree.name, base::printable(base::to_utf8(file.path)));
        bytes += file.bytes.size();
    }
    if (tree.files.size() > kTreeFilesMax || bytes > kTreeBytesMax)
        return fail(ErrorCode::InvalidInput,
                    "the skill {} is too large: at most {} files and {} bytes", tree.name,
                    kTreeFilesMax, kTreeBytesMax);
    return {};
}

base::Result<Tree> read_tree(const fs::path& path) {
    // The name of a folder that is named by a link is that of its target.
    std::error_code failed;
    const fs::path root = fs::canonical(path, failed);
    if (failed)
        return fail(ErrorCode::NotFound, "there is no folder {}: {}", shown(path),
                    failed.message());
    Tree tree{.name = root.filename().string()};
    std::size_t bytes = 0;
    TRY(add_folder(tree, root, "", 0, bytes));
    std::ranges::sort(tree.files, {}, &TreeFile::path);
    TRY(check(tree));
    return tree;
}

base::Status write_tree(const fs::path& folder, const Tree& tree) {
    TRY(check(tree));
    TRY(base::make_folders(folder, kFolderMode));
    const fs::path target = folder / tree.name;
    std::error_code failed;
    if (fs::symlink_status(target, failed).type() != fs::file_type::not_found)
        return fail(ErrorCode::Conflict, "{} exists already; uninstall that skill first",
                    shown(target));
    std::string pattern = (folder / ".new-XXXXXX").string();
    if (!::mkdtemp(pattern.data())) return base::fail_errno("make a folder in " + shown(folder));
    const fs::path fresh(pattern);
    const auto written = [&]() -> base::Status {
        for (const auto& file : tree.files) {
            const fs::path where = fresh / file.path;
            TRY(base::make_folders(where.parent_path(), kFolderMode));
            TRY(base::write_file_atomic(where, file.bytes, file.is_executable ? 0700 : 0600));
        }
        TRY(base::write_file_atomic(
            fresh / kInstallFile,
            base::pretty_json(json::object{{"install_mode", tree.install_mode}}) + "\n", 0600));
        if (::rename(fresh.c_str(), target.c_str()) != 0)
            return base::fail_errno("make " + shown(target));
        return {};
    }();
    if (!written) fs::remove_all(fresh, failed);
    return written;
}

}  // namespace skills
