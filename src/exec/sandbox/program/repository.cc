#include "exec/sandbox/program/repository.h"

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string_view>

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exec/sandbox/program/program.h"

namespace sandbox {
namespace {

// Where private folders lie, in the git folder: on its file system, or files could not be moved.
constexpr const char* kFolder = "holon";
// In a private folder: what the command sees, and what it started with.
constexpr const char* kSeen = "git";
constexpr const char* kBefore = "before";
// In kBefore: the files are copies, since this file system has no hard links.
constexpr const char* kCopied = "copied";
constexpr int kEntriesMax = 100'000;  // Of one scan of a folder tree.

// Files that commits, merges, fetches and bisects replace. Git executes none of them.
constexpr std::string_view kFiles[] = {"HEAD",
                                       "index",
                                       "packed-refs",
                                       "ORIG_HEAD",
                                       "FETCH_HEAD",
                                       "MERGE_HEAD",
                                       "MERGE_MSG",
                                       "MERGE_MODE",
                                       "MERGE_RR",
                                       "CHERRY_PICK_HEAD",
                                       "REVERT_HEAD",
                                       "REBASE_HEAD",
                                       "AUTO_MERGE",
                                       "SQUASH_MSG",
                                       "COMMIT_EDITMSG",
                                       "BISECT_LOG",
                                       "BISECT_TERMS",
                                       "BISECT_START",
                                       "BISECT_NAMES",
                                       "BISECT_EXPECTED_REV",
                                       "BISECT_ANCESTORS_OK",
                                       "shallow",
                                       "gc.log"};
// Folders that they write in and never remove: the real ones are writable.
constexpr std::string_view kFolders[] = {"objects", "refs", "logs", "lfs"};
// Folders that come and go with one operation: the command gets copies of them.
constexpr std::string_view kOperations[] = {"rebase-merge", "rebase-apply", "sequencer"};

bool is_file_of_a_commit(std::string_view name) {
    for (const auto one : kFiles)
        if (one == name) return true;
    return name.starts_with("sharedindex.");
}
bool is_folder_of_a_commit(std::string_view name) {
    for (const auto one : kFolders)
        if (one == name) return true;
    return false;
}
bool is_operation(std::string_view name) {
    for (const auto one : kOperations)
        if (one == name) return true;
    return false;
}

class Listing {
public:
    explicit Listing(int folder) {
        const int fd = ::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        dir_ = fd < 0 ? nullptr : ::fdopendir(fd);
    }
    ~Listing() {
        if (dir_) ::closedir(dir_);
    }
    Listing(const Listing&) = delete;
    Listing& operator=(const Listing&) = delete;
    // The next name; null at the end.
    const char* next() {
        while (const dirent* entry = dir_ ? ::readdir(dir_) : nullptr)
            if (std::strcmp(entry->d_name, ".") != 0 && std::strcmp(entry->d_name, "..") != 0)
                return entry->d_name;
        return nullptr;
    }

private:
    DIR* dir_{nullptr};
};

std::vector<std::string> names_in(int folder) {
    std::vector<std::string> names;
    Listing listing(folder);
    while (const char* name = listing.next()) names.emplace_back(name);
    return names;
}

struct stat info_of(int folder, const std::string& name) {
    struct stat info{};
    if (::fstatat(folder, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) info = {};
    return info;
}

int open_folder(int in, const char* name) {
    return ::openat(in, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

void remove_tree(int in, const char* name, int depth = 0) {
    const int folder = open_folder(in, name);
    if (folder >= 0 && depth < 64)
        for (const auto& one : names_in(folder))
            if (::unlinkat(folder, one.c_str(), 0) != 0)
                remove_tree(folder, one.c_str(), depth + 1);
    if (folder >= 0) ::close(folder);
    ::unlinkat(in, name, AT_REMOVEDIR);
}

// Git appends to its logs through symbolic links, wherever they lead.
void remove_links(int in, const char* name, int& entries, int depth = 0) {
    const int folder = open_folder(in, name);
    if (folder < 0) return;
    for (const auto& one : names_in(folder)) {
        if (++entries > kEntriesMax || depth > 64) break;
        const auto info = info_of(folder, one);
        if (S_ISLNK(info.st_mode)) ::unlinkat(folder, one.c_str(), 0);
        if (S_ISDIR(info.st_mode)) remove_links(folder, one.c_str(), entries, depth + 1);
    }
    ::close(folder);
}

bool copy_file(int from, const char* name, int to, const char* as) {
    const int in = ::openat(from, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    const int out = ::openat(to, as, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    ssize_t got = in < 0 || out < 0 ? -1 : 1;
    char piece[64 * 1024];
    while (got > 0 && (got = ::read(in, piece, sizeof piece)) > 0)
        if (::write(out, piece, static_cast<std::size_t>(got)) != got) got = -1;
    if (in >= 0) ::close(in);
    if (out >= 0) ::close(out);
    return got == 0;
}

void copy_folder(int from, int to, const char* name, int depth = 0) {
    const int in = open_folder(from, name);
    if (in < 0 || depth > 8) return;
    ::mkdirat(to, name, 0700);
    const int out = open_folder(to, name);
    for (const auto& one : names_in(in)) {
        const auto info = info_of(in, one);
        if (S_ISREG(info.st_mode)) copy_file(in, one.c_str(), out, one.c_str());
        if (S_ISDIR(info.st_mode)) copy_folder(in, out, one.c_str(), depth + 1);
    }
    ::close(in);
    if (out >= 0) ::close(out);
}

// A word that changes with any change in the folder; empty when there is none.
std::string print_of(int in, const char* name, int depth = 0) {
    const int folder = open_folder(in, name);
    if (folder < 0 || depth > 8) return "";
    std::uint64_t sum = 1;
    for (const auto& one : names_in(folder)) {
        const auto info = info_of(folder, one);
        std::uint64_t hash = 14695981039346656037ULL;
        const auto add = [&](std::string_view bytes) {
            for (const char c : bytes)
                hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
        };
        add(one);
        add(std::to_string(info.st_ino) + " " + std::to_string(info.st_size) + " " +
            std::to_string(info.st_mtim.tv_sec) + " " + std::to_string(info.st_mtim.tv_nsec));
        if (S_ISDIR(info.st_mode)) add(print_of(folder, one.c_str(), depth + 1));
        sum += hash;  // In any order.
    }
    ::close(folder);
    return std::to_string(sum);
}

void write_small(int in, const std::string& name, const std::string& text) {
    const int file = ::openat(in, name.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    const bool wrote =
        file >= 0 && ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
    require(wrote, "note the state of a git folder");
    ::close(file);
}

std::string read_small(int in, const std::string& name) {
    const int file = ::openat(in, name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    char text[64];
    const ssize_t got = file < 0 ? 0 : ::read(file, text, sizeof text);
    if (file >= 0) ::close(file);
    return {text, static_cast<std::size_t>(got < 0 ? 0 : got)};
}

bool is_same(const struct stat& a, const struct stat& b) {
    return a.st_ino == b.st_ino && a.st_dev == b.st_dev;
}

// A rebase can execute commands when it continues; those of an agent are not for the operator's
// git.
bool executes_commands(int folder) {
    const int rebase = open_folder(folder, "rebase-merge");
    if (rebase < 0) return false;
    std::string text;
    for (const char* name : {"git-rebase-todo", "git-rebase-todo.backup"}) {
        const int file = ::openat(rebase, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
        char piece[16 * 1024];
        ssize_t got = 0;
        while (file >= 0 && (got = ::read(file, piece, sizeof piece)) > 0)
            text.append(piece, static_cast<std::size_t>(got));
        if (file >= 0) ::close(file);
        text += '\n';
    }
    ::close(rebase);
    std::size_t at = 0;
    while (at < text.size()) {
        const std::size_t end = text.find('\n', at);
        std::string_view line = std::string_view(text).substr(at, end - at);
        while (!line.empty() && (line[0] == ' ' || line[0] == '\t')) line.remove_prefix(1);
        if (line.starts_with("exec") || line.starts_with("x ") || line.starts_with("x\t"))
            return true;
        if (end == std::string::npos) break;
        at = end + 1;
    }
    return false;
}

void report_conflict(const std::string& path, const std::string& name) {
    std::fprintf(
        stderr,
        "holon: %s/%s was changed outside the sandbox while the command ran; the change of "
        "the command was not kept\n",
        path.c_str(), name.c_str());
}

// A file of a commit: replaced, removed or made by the command, while nobody else changed it.
void settle_file(int git_dir, int mine, int before, const std::string& name,
                 const std::string& path) {
    const auto first = info_of(before, name);
    const auto now = info_of(mine, name);
    const auto real = info_of(git_dir, name);
    if (is_same(first, now)) return;
    if (now.st_mode != 0 && !S_ISREG(now.st_mode)) return;  // A link or a pipe is not kept.
    const bool is_copy = info_of(before, kCopied).st_mode != 0;
    if (!is_copy && !is_same(first, real)) return report_conflict(path, name);
    if (now.st_mode == 0)
        ::unlinkat(git_dir, name.c_str(), 0);
    else
        ::renameat(mine, name.c_str(), git_dir, name.c_str());
}

// The state of an operation: the command's own, if it changed it.
void settle_operation(int git_dir, int mine, int before, const std::string& name) {
    if (print_of(mine, name.c_str()) == read_small(before, name)) return;
    if (name == "rebase-merge" && executes_commands(mine)) return;
    remove_tree(git_dir, name.c_str());
    ::renameat(mine, name.c_str(), git_dir, name.c_str());
}

void settle_all(int git_dir, int mine, int before, const std::string& path) {
    // Listed first: settling moves files out of the private folder.
    auto names = names_in(mine);
    for (const auto& name : names_in(before))
        if (info_of(mine, name).st_mode == 0) names.push_back(name);
    for (const auto& name : names)
        if (is_file_of_a_commit(name)) settle_file(git_dir, mine, before, name, path);
    for (const auto one : kOperations) settle_operation(git_dir, mine, before, std::string(one));
    for (const auto one : kFolders) {
        // Only those that did not exist: the others were the real ones.
        const std::string name(one);
        if (S_ISDIR(info_of(mine, name).st_mode) && info_of(git_dir, name).st_mode == 0)
            ::renameat(mine, name.c_str(), git_dir, name.c_str());
    }
}

void settle_folder(int git_dir, int folder, const char* name, const std::string& path) {
    const int own = open_folder(folder, name);
    const int mine = own < 0 ? -1 : open_folder(own, kSeen);
    const int before = own < 0 ? -1 : open_folder(own, kBefore);
    if (mine >= 0 && before >= 0) settle_all(git_dir, mine, before, path);
    for (const int fd : {own, mine, before})
        if (fd >= 0) ::close(fd);
    int entries = 0;
    for (const char* part : {"logs", "refs"}) remove_links(git_dir, part, entries);
    remove_tree(folder, name);
}

std::string random_name() {
    std::uint64_t bits = 0;
    require(::getrandom(&bits, sizeof bits, 0) == sizeof bits, "random name");
    char name[32];
    std::snprintf(name, sizeof name, "run-%016llx", static_cast<unsigned long long>(bits));
    return name;
}

// Finishes what commands left behind whose starter was killed: nobody holds their lock.
void settle_left_behind(int git_dir, int folder, const std::string& path) {
    for (const auto& name : names_in(folder)) {
        if (!name.starts_with("run-")) continue;
        const int left = open_folder(folder, name.c_str());
        if (left < 0) continue;
        if (::flock(left, LOCK_EX | LOCK_NB) == 0)
            settle_folder(git_dir, folder, name.c_str(), path);
        ::close(left);
    }
}

int own_folder(int git_dir) {
    if (::mkdirat(git_dir, kFolder, 0700) != 0 && errno != EEXIST) return -1;
    return open_folder(git_dir, kFolder);
}

}  // namespace

Repository::Repository(int git_dir, std::string path)
    : git_dir_(::openat(git_dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)),
      path_(std::move(path)),
      name_(random_name()) {
    require(git_dir_ >= 0, path_.c_str());
    const int folder = own_folder(git_dir_);
    if (folder < 0 && (errno == EACCES || errno == EROFS || errno == EPERM)) {
        // The operator cannot write there either, so the command does not.
        struct stat info{};
        require(::fstat(git_dir_, &info) == 0, path_.c_str());
        show(path_, path_, info, false);
        name_.clear();
        return;
    }
    require(folder >= 0, (path_ + "/" + kFolder).c_str());
    settle_left_behind(git_dir_, folder, path_);
    // It gets its name only when it is locked: nobody settles it before. The lock is held until
    // this process ends, however that happens.
    const std::string unnamed = "new-" + name_;
    require(::mkdirat(folder, unnamed.c_str(), 0700) == 0, "make a private git folder");
    const int own = open_folder(folder, unnamed.c_str());
    require(own >= 0 && ::flock(own, LOCK_EX | LOCK_NB) == 0 &&
                ::renameat(folder, unnamed.c_str(), folder, name_.c_str()) == 0,
            "lock a private git folder");
    require(::mkdirat(own, kSeen, 0755) == 0 && ::mkdirat(own, kBefore, 0700) == 0,
            "make a private git folder");
    const int mine = open_folder(own, kSeen);
    const int before = open_folder(own, kBefore);
    struct stat info{};
    require(mine >= 0 && before >= 0 && ::fstat(mine, &info) == 0, "open a private git folder");
    show(path_, path_ + "/" + kFolder + "/" + name_ + "/" + kSeen, info, true);
    for (const auto& name : names_in(git_dir_))
        if (name != kFolder && !name.ends_with(".lock")) add(name, mine, before);
    for (const int fd : {folder, mine, before}) ::close(fd);
}

void Repository::add(const std::string& name, int mine, int before) {
    const std::string shown = path_ + "/" + name;
    const auto info = info_of(git_dir_, name);
    if (S_ISLNK(info.st_mode)) {
        errno = ELOOP;
        give_up(shown.c_str());
    }
    if (is_file_of_a_commit(name) && S_ISREG(info.st_mode)) {
        if (::linkat(git_dir_, name.c_str(), before, name.c_str(), 0) == 0 &&
            ::linkat(git_dir_, name.c_str(), mine, name.c_str(), 0) == 0)
            return;
        write_small(before, kCopied, "");
        require(copy_file(git_dir_, name.c_str(), mine, name.c_str()) &&
                    copy_file(git_dir_, name.c_str(), before, name.c_str()),
                shown.c_str());
        return;
    }
    if (is_operation(name)) {
        copy_folder(git_dir_, mine, name.c_str());
        return write_small(before, name, print_of(mine, name.c_str()));
    }
    if (!S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode)) return;
    show(shown, shown, info, S_ISDIR(info.st_mode) && is_folder_of_a_commit(name));
}

void Repository::show(const std::string& path, const std::string& source, const struct stat& info,
                      bool is_writable) {
    parts_.push_back({.kind = is_writable ? Part::Kind::Bind : Part::Kind::ReadOnly,
                      .path = path,
                      .source = source,
                      .device = info.st_dev,
                      .inode = info.st_ino});
}

void Repository::settle() {
    if (name_.empty()) return;
    const int folder = own_folder(git_dir_);
    if (folder < 0) return;
    settle_folder(git_dir_, folder, name_.c_str(), path_);
    ::close(folder);
}

}  // namespace sandbox
