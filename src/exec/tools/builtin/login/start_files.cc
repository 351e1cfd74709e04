#include "exec/tools/builtin/login/start_files.h"

#include <sys/stat.h>

#include <algorithm>
#include <set>

#include "base/os/files.h"
#include "base/text.h"

namespace builtin {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kFileBytesMax = std::size_t{1} << 20;
constexpr std::size_t kFilesMax = 128;
constexpr int kDepthMax = 3;

constexpr const char* kOfSystem[] = {"/etc/profile", "/etc/profile.d", "/etc/environment"};
constexpr const char* kOfBash[] = {"/etc/bash.bashrc", "/etc/bashrc"};
constexpr const char* kOfZsh[] = {"/etc/zsh/zshenv", "/etc/zsh/zprofile", "/etc/zsh/zlogin",
                                  "/etc/zshenv",     "/etc/zprofile",     "/etc/zlogin"};
constexpr const char* kPosixInHome[] = {".profile"};
constexpr const char* kBashInHome[] = {".profile", ".bash_profile", ".bash_login", ".bashrc",
                                       ".bash_aliases"};
constexpr const char* kZshInHome[] = {".zshenv", ".zprofile", ".zlogin", ".zshrc"};
// Choices of version managers and of direnv, nix and mise that no start file names.
constexpr const char* kOfTools[] = {".nvm/alias/default",
                                    ".tool-versions",
                                    ".node-version",
                                    ".python-version",
                                    ".pyenv/version",
                                    ".rbenv/version",
                                    ".asdfrc",
                                    ".direnvrc",
                                    ".config/direnv/direnvrc",
                                    ".config/direnv/direnv.toml",
                                    ".local/share/direnv/allow",
                                    ".config/mise/config.toml",
                                    ".local/state/mise/trusted-configs",
                                    ".nix-profile",
                                    ".rustup/settings.toml",
                                    ".condarc"};
constexpr const char* kOfWorkspace[] = {
    ".envrc",        ".env",           ".nvmrc",    ".node-version", ".python-version",
    ".ruby-version", ".tool-versions", "mise.toml", ".mise.toml",    "mise.local.toml",
    "flake.nix",     "flake.lock",     "shell.nix"};

// "~/.cargo/env", "$HOME/.cargo/env" and "/etc/x" as paths; others cannot be known.
fs::path path_of(std::string_view word, const fs::path& home) {
    std::string text;
    for (const char c : word)
        if (c != '"' && c != '\'') text += c;
    for (const std::string_view prefix : {"~/", "$HOME/", "${HOME}/"})
        if (text.starts_with(prefix)) return home / text.substr(prefix.size());
    if (text.starts_with('/') && !text.contains('$')) return text;
    return {};
}

// The files that the text of a start file reads by `.` or `source`.
std::vector<fs::path> sourced_in(std::string_view text, const fs::path& home) {
    std::vector<fs::path> files;
    std::string_view last;
    while (!text.empty()) {
        const std::size_t begin = text.find_first_not_of(" \t\n;&|(){}");
        if (begin == text.npos) break;
        text.remove_prefix(begin);
        const std::size_t end = std::min(text.find_first_of(" \t\n;&|()"), text.size());
        const std::string_view word = text.substr(0, end);
        text.remove_prefix(end);
        if (last == "." || last == "source")
            if (auto path = path_of(word, home); !path.empty()) files.push_back(std::move(path));
        last = word;
    }
    return files;
}

void add_with_sourced(const fs::path& file, const fs::path& home, int depth,
                      std::set<fs::path>& found) {
    if (found.size() >= kFilesMax || !found.insert(file).second || depth == 0) return;
    const auto text = base::read_file(file, kFileBytesMax);
    if (!text) return;
    for (const auto& sourced : sourced_in(*text, home))
        add_with_sourced(sourced, home, depth - 1, found);
}

}  // namespace

std::vector<fs::path> start_files(ShellKind kind, const fs::path& home) {
    std::set<fs::path> found;
    const auto add = [&](const fs::path& path) { add_with_sourced(path, home, kDepthMax, found); };
    for (const char* path : kOfSystem) add(path);
    std::error_code failed;
    for (const auto& entry : fs::directory_iterator("/etc/profile.d", failed)) add(entry.path());
    const auto in_home = [&](const auto& names) {
        for (const char* name : names)
            if (!home.empty()) add(home / name);
    };
    if (kind == ShellKind::Bash) {
        for (const char* path : kOfBash) add(path);
        in_home(kBashInHome);
    } else if (kind == ShellKind::Zsh) {
        for (const char* path : kOfZsh) add(path);
        in_home(kZshInHome);
    } else {
        in_home(kPosixInHome);
    }
    for (const char* name : kOfTools)
        if (!home.empty()) found.insert(home / name);
    return {found.begin(), found.end()};
}

std::vector<fs::path> workspace_files(const fs::path& folder) {
    std::vector<fs::path> files;
    for (fs::path at = folder;; at = at.parent_path()) {
        for (const char* name : kOfWorkspace) files.push_back(at / name);
        if (!at.has_relative_path() || files.size() >= kFilesMax) return files;
    }
}

std::string stamp_of(const std::vector<fs::path>& files) {
    std::string stamp;
    for (const auto& file : files) {
        struct stat info{};
        if (::stat(file.c_str(), &info) != 0)
            stamp += "-;";
        else
            stamp += fmt::format("{}.{}.{}.{}.{};", info.st_dev, info.st_ino, info.st_size,
                                 info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
    }
    return stamp;
}

bool defines_function(const std::vector<fs::path>& files) {
    return std::ranges::any_of(files, [](const fs::path& file) {
        const auto text = base::read_file(file, kFileBytesMax);
        return text && text->contains("()");
    });
}

}  // namespace builtin
