#include "exec/sandbox/layout.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <numeric>
#include <tuple>

#include "base/os/fs/open_path.h"
#include "exec/sandbox/git/git_settings.h"

namespace sandbox {
namespace {

namespace fs = std::filesystem;
using base::ErrorCode;
using base::fail;
using Kind = Part::Kind;

constexpr std::size_t kTextBytesMax = std::size_t{1} << 20;
// More submodules, and deeper ones, can be read, but not committed in.
constexpr int kSubmodulesMax = 16;
constexpr int kSubmoduleDepthMax = 6;

// Folders that hold sockets, locks and files of others; inside they are empty and private.
constexpr const char* kPrivateFolders[] = {"/tmp", "/var/tmp", "/run", "/dev/shm"};

// Programs and libraries of the system, and what describes the machine.
constexpr const char* kSystemPaths[] = {"/bin",    "/lib",
                                        "/lib32",  "/lib64",
                                        "/libx32", "/sbin",
                                        "/usr",    "/opt",
                                        "/nix",    "/gnu/store",
                                        "/snap",   "/home/linuxbrew/.linuxbrew",
                                        "/sys",    "/var/cache/fontconfig"};
// In /var/lib: what is installed.
constexpr const char* kSystemState[] = {"dpkg", "texmf"};

bool is_below(const std::string& path, const std::string& folder) {
    return path.size() > folder.size() && path.starts_with(folder) &&
           (folder == "/" || path[folder.size()] == '/');
}

std::size_t depth(const std::string& path) {
    return static_cast<std::size_t>(std::ranges::count(path, '/'));
}

std::string normal(const fs::path& path) {
    auto text = path.lexically_normal().string();
    while (text.size() > 1 && text.ends_with('/')) text.pop_back();
    return text;
}

struct Opened {
    std::string path;
    base::FileId id;
    bool is_folder{false};
    base::Fd fd{};
};

base::Result<Opened> inspect(std::string path, base::Fd fd) {
    struct stat info{};
    if (::fstat(fd.get(), &info) != 0) return base::fail_errno("inspect " + path);
    return Opened{
        std::move(path), {info.st_dev, info.st_ino}, S_ISDIR(info.st_mode), std::move(fd)};
}

// As base::open_without_links(), which opens the root each time: a layout opens a hundred paths.
base::Result<Opened> open_path(const std::string& path) {
    static const base::Fd top(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!path.starts_with('/'))
        return fail(ErrorCode::InvalidInput, "{} is not an absolute path", path);
    return inspect(path, TRY(base::open_beneath(top.get(), path.substr(1), O_PATH)));
}

// Orders of parts at one path.
enum : int { kPrivate, kRoot, kProtected, kHidden };

// Collects parts. At the same path a later order covers an earlier one.
class Layout {
public:
    void add(Part part, int order) { parts_.push_back({std::move(part), order}); }
    void add(Kind kind, const Opened& opened, int order) {
        add({.kind = kind,
             .path = opened.path,
             .source = opened.path,
             .device = opened.id.device,
             .inode = opened.id.inode},
            order);
    }
    // A folder of a writable root that is mounted on itself: it cannot be renamed, and what is
    // mounted in it stays in place.
    void anchor(const std::string& root, const Opened& opened) {
        const auto is_same = [&](const auto& one) { return one.second.path == opened.path; };
        if (has(opened.path) || std::ranges::any_of(anchors_, is_same)) return;
        anchors_.push_back({root,
                            {.kind = Kind::Bind,
                             .path = opened.path,
                             .source = opened.path,
                             .device = opened.id.device,
                             .inode = opened.id.inode}});
    }
    void close(std::string path) {
        closed_.push_back({.kind = Kind::CloseFolder, .path = std::move(path)});
    }
    bool shows(const std::string& path) const {
        return std::ranges::any_of(parts_, [&](const auto& one) {
            const bool is_real = one.first.kind == Kind::Bind || one.first.kind == Kind::ReadOnly;
            return is_real && (one.first.path == path || is_below(path, one.first.path));
        });
    }
    bool has(const std::string& path) const {
        return std::ranges::any_of(parts_, [&](const auto& one) { return one.first.path == path; });
    }
    std::vector<Part> take() {
        drop_needless_anchors();
        for (auto& [root, part] : anchors_) parts_.push_back({std::move(part), kRoot});
        std::vector<std::size_t> order(parts_.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::ranges::sort(order, {}, [&](std::size_t index) {
            const auto& [part, level] = parts_[index];
            return std::tuple(depth(part.path), std::string_view(part.path), level, index);
        });
        std::vector<Part> list;
        for (const auto index : order) list.push_back(std::move(parts_[index].first));
        std::ranges::move(closed_, std::back_inserter(list));
        return list;
    }

private:
    // Nothing can be moved inside hidden or read-only paths of a root; an anchor there would make
    // them visible or writable.
    void drop_needless_anchors() {
        std::erase_if(anchors_, [&](const auto& anchor) {
            const auto& [root, at] = anchor;
            return std::ranges::any_of(parts_, [&](const auto& one) {
                const auto& [part, order] = one;
                return order >= kProtected && is_below(part.path, root) &&
                       (at.path == part.path || is_below(at.path, part.path));
            });
        });
    }

    std::vector<std::pair<std::string, Part>> anchors_;  // With their roots.
    std::vector<std::pair<Part, int>> parts_;
    std::vector<Part> closed_;
};

// The links of the system that lead from one of its folders to another.
void add_system_path(const std::string& path, Layout& layout) {
    struct stat info{};
    if (::lstat(path.c_str(), &info) != 0) return;
    std::error_code failed;
    if (S_ISLNK(info.st_mode)) {
        const auto to = fs::read_symlink(path, failed);
        if (!failed)
            layout.add({.kind = Kind::Link, .path = path, .source = to.string()}, kPrivate);
        return;
    }
    if (const auto opened = open_path(path)) layout.add(Kind::ReadOnly, *opened, kPrivate);
}

// A private folder; holon-confine puts the files of settings.h into it.
void add_settings(const std::vector<std::string>& mounted, Layout& layout) {
    layout.add({.kind = Kind::Folder, .path = kSettingsFolder}, kPrivate);
    layout.close(kSettingsFolder);
    for (const auto& path : mounted)
        if (const auto opened = open_path(path)) layout.add(Kind::ReadOnly, *opened, kPrivate);
}

// The command may use any spelling of a path: links on the way to it lead to the real one.
void add_links(const fs::path& path, Layout& layout) {
    fs::path walked = "/";
    for (const auto& part : path.relative_path()) {
        walked /= part;
        std::error_code failed;
        if (!fs::is_symlink(fs::symlink_status(walked, failed))) continue;
        const auto target = fs::canonical(walked, failed);
        if (!failed && !layout.has(walked.string()))
            layout.add({.kind = Kind::Link, .path = walked.string(), .source = target.string()},
                       kPrivate);
        return;
    }
}

std::string real_path(const fs::path& path) {
    std::error_code failed;
    const auto found = fs::weakly_canonical(path, failed);
    return failed ? normal(path) : found.string();
}

void add_homes(const Policy& policy, Layout& layout) {
    for (const auto& home : policy.homes) {
        const std::string real = real_path(home);
        if (real == "/" || layout.has(real)) continue;
        layout.add({.kind = Kind::Folder, .path = real}, kPrivate);
        if (real != normal(home)) add_links(home, layout);
    }
}

// The folders between a writable root and a protected path in it. A command that moved one of them
// would move the protected path along, and the next command would see it under another name.
base::Status add_anchors(const Opened& root, const fs::path& relative, Layout& layout) {
    for (auto parent = relative.parent_path(); !parent.empty(); parent = parent.parent_path()) {
        const std::string path = normal(fs::path(root.path) / parent);
        auto fd = base::open_beneath(root.fd.get(), parent, O_PATH | O_DIRECTORY);
        if (fd) layout.anchor(root.path, TRY(inspect(path, std::move(*fd))));
    }
    return {};
}

// Makes a path of a writable root read-only, with the folders that lead to it.
base::Status protect(const Opened& root, const fs::path& relative, Layout& layout) {
    auto fd = base::open_beneath(root.fd.get(), relative, O_PATH);
    if (!fd) {
        if (fd.error().code == ErrorCode::NotFound) return {};
        return std::unexpected(fd.error());
    }
    layout.add(Kind::ReadOnly, TRY(inspect(normal(fs::path(root.path) / relative), std::move(*fd))),
               kProtected);
    return add_anchors(root, relative, layout);
}

// A word of git's settings as a path in the root; empty when it is none.
fs::path inside(const Opened& root, const std::string& word, const fs::path& from) {
    fs::path path(word);
    if (!path.is_absolute()) path = from / path;
    const auto text = normal(path);
    return is_below(text, root.path) ? fs::path(text).lexically_relative(root.path) : fs::path();
}

// A missing file that git obeys could be made by the command, so an empty one takes its place.
void make_missing(const Opened& root, const fs::path& relative, bool is_folder) {
    const auto parent =
        base::open_beneath(root.fd.get(), relative.parent_path(), O_PATH | O_DIRECTORY);
    if (!parent) return;
    const auto name = relative.filename();
    if (is_folder)
        ::mkdirat(parent->get(), name.c_str(), 0755);
    else
        base::Fd(::openat(parent->get(), name.c_str(),
                          O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
}

base::Status protect_obeyed(const Opened& root, std::string_view settings, const fs::path& from,
                            Layout& layout) {
    for (const auto& one : obeyed_paths(settings)) {
        // Included settings are named from the file that includes them, all else from the root.
        for (const fs::path& base : {fs::path(root.path), from}) {
            const auto relative = inside(root, one.path, base);
            if (relative.empty() || *relative.begin() == ".git") continue;
            const bool is_missing =
                !base::open_beneath(root.fd.get(), relative, O_PATH).has_value();
            if (is_missing && one.is_hooks_folder && base == fs::path(root.path))
                make_missing(root, relative, true);
            if (is_missing && base == from && one.path.ends_with(".conf"))
                make_missing(root, relative, false);
            TRY(protect(root, relative, layout));
        }
    }
    return {};
}

std::unexpected<base::Error> refused(const std::string& what, std::string_view why) {
    return fail(ErrorCode::Refused, "the command was not run: {} {}", what, why);
}

// The git folders of submodules lie in that of their superproject, under names that may have
// slashes. Each gets a private view of its own, so that commits in submodules work.
void add_submodules(const Opened& git, const fs::path& below, int depth, std::string& settings,
                    Layout& layout, int& left) {
    auto folder = base::open_beneath(git.fd.get(), below, O_RDONLY | O_DIRECTORY);
    if (!folder || depth == 0) return;
    std::error_code failed;
    const fs::path listed = fs::path("/proc/self/fd") / std::to_string(folder->get());
    for (const auto& entry : fs::directory_iterator(listed, failed)) {
        const fs::path at = below / entry.path().filename();
        auto fd = base::open_beneath(git.fd.get(), at, O_PATH | O_DIRECTORY);
        if (!fd) continue;
        const bool is_repository = base::open_beneath(fd->get(), "HEAD", O_PATH).has_value() &&
                                   base::open_beneath(fd->get(), "objects", O_PATH).has_value();
        if (!is_repository) {
            add_submodules(git, at, depth - 1, settings, layout, left);
            continue;
        }
        if (left-- <= 0) return;
        // One that redirects git elsewhere stays read-only.
        if (base::open_beneath(fd->get(), "commondir", O_PATH)) continue;
        auto opened = inspect(normal(fs::path(git.path) / at), std::move(*fd));
        if (!opened) continue;
        for (const char* name : {"config", "config.worktree"})
            if (const auto text = base::read_file_beneath(opened->path, name, kTextBytesMax))
                settings += "\n" + *text;
        layout.add(Kind::Repository, *opened, kProtected);
        add_submodules(git, at / "modules", depth - 1, settings, layout, left);
    }
}

// The git folder of a writable root.
base::Status add_git(const Opened& root, const Policy& policy, Layout& layout) {
    const std::string path = root.path + "/.git";
    auto fd = base::open_beneath(root.fd.get(), ".git", O_PATH);
    if (!fd && fd.error().code == ErrorCode::NotFound) return {};
    if (!fd)
        return refused(path,
                       "is a symbolic link, and git would follow it to foreign settings; "
                       "replace it by a folder, or attach the real repository");
    const auto git = TRY(inspect(path, std::move(*fd)));
    std::string settings = policy.git_settings;
    if (!git.is_folder) {
        layout.add(Kind::ReadOnly, git, kProtected);
    } else {
        // A repository never has this file; a linked worktree has it elsewhere. There it would
        // redirect git to other settings and hooks.
        if (base::open_beneath(git.fd.get(), "commondir", O_PATH))
            return refused(
                path + "/commondir",
                "redirects git to settings and hooks that anyone could have written, and "
                "no repository needs it; check it, and delete it before you use git there");
        layout.add(Kind::Repository, git, kProtected);
        for (const char* name : {"config", "config.worktree"})
            if (const auto text = base::read_file_beneath(path, name, kTextBytesMax))
                settings += "\n" + *text;
        int left = kSubmodulesMax;
        add_submodules(git, "modules", kSubmoduleDepthMax, settings, layout, left);
    }
    return protect_obeyed(root, settings, path, layout);
}

base::Status check_root(const std::string& root, const Policy& policy) {
    if (root == "/")
        return fail(ErrorCode::InvalidInput,
                    "the whole file system cannot be a writable root; name a folder in it");
    const fs::path path(root);
    if (std::ranges::find(path, ".git") != path.end())
        return refused(root,
                       "lies in a git folder, whose settings and hooks the operator's git "
                       "obeys; choose another workspace");
    for (const auto& home : policy.homes) {
        const auto real = real_path(home);
        if (real != "/" && (real == root || is_below(real, root)))
            return refused(root,
                           "is a home folder or contains one, with its credentials and start "
                           "files; work in a folder below it, or turn the sandbox off: "
                           "--sandbox none");
    }
    return {};
}

base::Status add_root(const std::string& named, const Policy& policy, Layout& layout) {
    const std::string root = normal(named);
    TRY(check_root(root, policy));
    auto opened = open_path(root);
    if (!opened && opened.error().code == ErrorCode::Refused)
        return refused(root,
                       "is a symbolic link now, or leads through one; attach the real folder");
    if (!opened || !opened->is_folder)
        return fail(ErrorCode::NotFound, "the writable root {} is not a folder", named);
    layout.add(Kind::Bind, *opened, kRoot);
    for (const auto& relative : policy.read_only_inside) TRY(protect(*opened, relative, layout));
    return add_git(*opened, policy, layout);
}

// Adds a folder or file by itself. A link could make a hidden path visible, so links are left out.
void add_readable(const std::string& named, int order, Layout& layout) {
    if (const auto opened = open_path(normal(named))) layout.add(Kind::ReadOnly, *opened, order);
}

base::Status hide(const std::string& named, const Policy& policy, Layout& layout) {
    const auto opened = open_path(real_path(named));
    if (!opened || !layout.shows(opened->path)) return {};
    for (const auto& name : policy.writable_roots)
        if (const auto root = normal(name); is_below(opened->path, root))
            TRY(add_anchors(TRY(open_path(root)), fs::path(opened->path).lexically_relative(root),
                            layout));
    if (!opened->is_folder) {
        layout.add({.kind = Kind::Cover, .path = opened->path}, kHidden);
        return {};
    }
    layout.add({.kind = Kind::Folder, .path = opened->path}, kHidden);
    layout.close(opened->path);
    return {};
}

}  // namespace

std::vector<std::string> system_secrets() {
    return {"/etc/shadow",     "/etc/shadow-",     "/etc/gshadow",    "/etc/gshadow-",
            "/etc/sudoers",    "/etc/sudoers.d",   "/etc/ssh",        "/etc/ssl/private",
            "/var/lib/docker", "/var/lib/kubelet", "/var/spool/cron", "/root"};
}

base::Result<std::vector<Part>> lay_out(const Policy& policy,
                                        const std::vector<std::string>& mounted_settings) {
    Layout layout;
    for (const char* path : kSystemPaths) add_system_path(path, layout);
    for (const char* name : kSystemState) add_system_path(std::string("/var/lib/") + name, layout);
    add_settings(mounted_settings, layout);
    for (const char* folder : kPrivateFolders)
        layout.add({.kind = Kind::Folder, .path = folder}, kPrivate);
    layout.add({.kind = Kind::Link, .path = "/var/run", .source = "/run"}, kPrivate);
    add_homes(policy, layout);
    for (const auto& path : policy.read_only) add_readable(path, kProtected, layout);
    for (const auto& root : policy.writable_roots) TRY(add_root(root, policy, layout));
    for (const auto& folder : policy.git_folders)
        layout.add(Kind::Repository, TRY(open_path(normal(folder))), kProtected);
    for (const auto& folder : policy.writable_git_parts)
        layout.add(Kind::Bind, TRY(open_path(normal(folder))), kProtected);
    for (const auto& hidden : policy.hidden) TRY(hide(hidden, policy, layout));
    for (const auto& [path, text] : policy.files)
        layout.add({.kind = Kind::File, .path = path, .text = text}, kProtected);
    return layout.take();
}

}  // namespace sandbox
