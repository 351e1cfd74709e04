#include "agent/workspace/git.h"

#include <algorithm>
#include <cctype>

#include "base/os/files.h"
#include "base/text.h"

namespace workspace {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kGitFileBytesMax = 16 * 1024;
constexpr std::size_t kLabelCharsMax = 64;
constexpr std::string_view kDefaultLabel = "workspace";
constexpr std::string_view kLock = ".lock";  // No branch may end so.

// The one line that a small file of git holds, without `prefix`; nothing unless it starts so.
std::optional<std::string> line_of(const fs::path& file, std::string_view prefix) {
    const auto text = base::read_file(file, kGitFileBytesMax);
    if (!text || !text->starts_with(prefix)) return std::nullopt;
    std::string line(base::trim(std::string_view(*text).substr(prefix.size())));
    if (line.empty() || line.contains('\n') || line.contains('\0')) return std::nullopt;
    return line;
}

std::optional<fs::path> real(const fs::path& path) {
    std::error_code failed;
    auto found = fs::canonical(path, failed);
    if (failed) return std::nullopt;
    return found;
}

bool is_folder(const fs::path& path) {
    std::error_code failed;
    return fs::is_directory(path, failed);
}

// A checkout whose `.git` is a file: a worktree, a submodule, or a repository kept elsewhere.
std::optional<Checkout> linked(const fs::path& root) {
    const auto named = line_of(root / ".git", "gitdir: ");
    const auto git_dir = named ? real(root / *named) : std::nullopt;
    if (!git_dir || !is_folder(*git_dir)) return std::nullopt;
    const auto common = line_of(*git_dir / "commondir", "");
    if (!common) return Checkout{root, *git_dir, *git_dir};
    const auto common_dir = real(*git_dir / *common);
    const auto back = line_of(*git_dir / "gitdir", "");
    if (!common_dir || !back || git_dir->parent_path() != *common_dir / "worktrees" ||
        real(*git_dir / *back) != real(root / ".git"))
        return std::nullopt;
    return Checkout{root, *git_dir, *common_dir};
}

}  // namespace

fs::path Checkout::repository() const {
    if (!is_worktree()) return root;
    return common_dir.filename() == ".git" ? common_dir.parent_path() : common_dir;
}

std::optional<Checkout> find_checkout(const fs::path& folder) {
    const auto start = real(folder);
    if (!start) return std::nullopt;
    for (fs::path root = *start;; root = root.parent_path()) {
        std::error_code failed;
        const auto git = fs::symlink_status(root / ".git", failed);
        if (fs::is_regular_file(git)) return linked(root);
        if (const auto inside = real(root / ".git"); inside && fs::exists(*inside / "HEAD", failed))
            return Checkout{root, *inside, *inside};
        if (root == root.parent_path()) return std::nullopt;
    }
}

std::optional<std::string> current_branch(const fs::path& git_dir) {
    return line_of(git_dir / "HEAD", "ref: refs/heads/");
}

// While git fills a worktree it keeps it locked with this word; the index comes last.
bool is_whole(const Checkout& worktree) {
    std::error_code failed;
    return line_of(worktree.git_dir / "locked", "") != "initializing" &&
           fs::exists(worktree.git_dir / "index", failed);
}

fs::path managed_folder(const fs::path& repository) {
    return repository.parent_path() / (".holon-worktrees-" + repository.filename().string());
}

std::string clean_label(std::string_view label) {
    std::string clean;
    for (const char c : base::trim(label)) {
        const bool kept = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
        const char next = kept ? c : '-';
        if ((next == '-' || next == '.') && (clean.empty() || clean.back() == next)) continue;
        clean.push_back(next);
        if (clean.size() == kLabelCharsMax) break;
    }
    while (clean.ends_with('.') || clean.ends_with('-') || clean.ends_with(kLock))
        clean.resize(clean.size() - (clean.ends_with(kLock) ? kLock.size() : 1));
    if (clean.empty() || clean == "HEAD") return std::string(kDefaultLabel);
    return clean;
}

bool is_inside(const fs::path& path, const fs::path& folder) {
    const auto [end, ignored] =
        std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
    return !folder.empty() && end == folder.end();
}

}  // namespace workspace
