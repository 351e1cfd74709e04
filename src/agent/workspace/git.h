// Facts about git repositories, read from their files without running git.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace workspace {

// The working tree that a folder lies in. Links are resolved.
struct Checkout {
    std::filesystem::path root;
    std::filesystem::path git_dir;     // <root>/.git, or <repository>/.git/worktrees/<name>.
    std::filesystem::path common_dir;  // The repository's own: <repository>/.git.

    bool is_worktree() const { return git_dir != common_dir; }
    // The folder that identifies the repository: its main working tree, or itself if it has none.
    std::filesystem::path repository() const;
    friend bool operator==(const Checkout&, const Checkout&) = default;
};

// Empty when `folder` is in none. A worktree counts only if the repository that it names knows it
// by this very place: a file `.git` may say anything.
std::optional<Checkout> find_checkout(const std::filesystem::path& folder);

// The branch that is checked out, or nothing: then no branch is.
std::optional<std::string> current_branch(const std::filesystem::path& git_dir);

// Did git finish creating this worktree?
bool is_whole(const Checkout& worktree);

// The folder of a repository's managed worktrees, next to the repository.
std::filesystem::path managed_folder(const std::filesystem::path& repository);

// A label as one path component and as a branch: letters, digits, '.', '-' and '_', never empty,
// never an option, never a way out of the folder, and a name that git accepts.
std::string clean_label(std::string_view label);

// Nothing is inside an empty path.
bool is_inside(const std::filesystem::path& path, const std::filesystem::path& folder);

}  // namespace workspace
