#include "exec/sandbox/confine.h"

#include <algorithm>

#include "base/os/files.h"

namespace sandbox {
namespace {

namespace fs = std::filesystem;
using base::ErrorCode;
using base::fail;

// Folders that hold sockets, locks and files of others; inside they are empty and private.
constexpr const char* kPrivateFolders[] = {"/tmp", "/var/tmp", "/run", "/dev/shm"};
// The path of holon-init inside the sandbox, wherever it is installed.
constexpr const char* kInitInside = "/run/holon/init";
// The proxy of an allow-list, as the command sees it.
constexpr const char* kProxyPort = "3128";
// Through this descriptor holon-init sends the listener at that port to the proxy.
constexpr const char* kProxyFd = "3";
// At most this many files below .git/modules are checked for those that commands must not change.
constexpr std::size_t kGitEntriesMax = 4096;

std::optional<ResolvedPaths::Path> seen(const fs::path& path) {
    std::error_code failed;
    const auto real = fs::canonical(path, failed);
    if (failed) return std::nullopt;
    return ResolvedPaths::Path{real.string(), fs::is_directory(real, failed)};
}

bool is_below(const std::string& path, const std::string& folder) {
    return path.size() > folder.size() && path.starts_with(folder) &&
           (folder == "/" || path[folder.size()] == '/');
}

std::size_t depth(const std::string& path) {
    return static_cast<std::size_t>(std::ranges::count(path, '/'));
}

// One mount of bwrap. Deeper ones come later, so that they cover the ones above.
struct Mount {
    std::string path;
    int order{0};  // Of things at the same path.
    std::vector<std::string> words;
};

Mount hide(const ResolvedPaths::Path& hidden, const std::string& stand_in) {
    if (hidden.is_folder) return {hidden.path, 3, {"--tmpfs", hidden.path}};
    // Devices cannot be opened there, not even /dev/null.
    return {hidden.path, 3, {"--ro-bind", stand_in.empty() ? "/dev/null" : stand_in, hidden.path}};
}

std::vector<Mount> mounts(const Policy& policy, const ResolvedPaths& seen) {
    std::vector<Mount> list;
    const std::string tmp_bytes = std::to_string(policy.limits.private_tmp_bytes);
    for (const char* folder : kPrivateFolders)
        list.push_back({folder, 0, {"--size", tmp_bytes, "--tmpfs", folder}});
    for (const auto& root : seen.writable_roots) list.push_back({root, 1, {"--bind", root, root}});
    // A folder that is mounted on itself cannot be renamed, and its content stays in place.
    for (const auto& anchor : seen.anchors) list.push_back({anchor, 1, {"--bind", anchor, anchor}});
    for (const auto& path : seen.read_only)
        list.push_back({path.path, 2, {"--ro-bind", path.path, path.path}});
    for (const auto& path : seen.hidden) list.push_back(hide(path, policy.stand_in));
    std::ranges::sort(list, {}, [](const Mount& mount) {
        return std::tuple(depth(mount.path), mount.path, mount.order);
    });
    return list;
}

void append(std::vector<std::string>& list, std::initializer_list<std::string> words) {
    list.insert(list.end(), words.begin(), words.end());
}

// The folders between a writable root and a protected path in it. A command that moved one of them
// would move the protected path along, and the next command would see it under another name.
void add_anchors(const std::string& root, const std::string& path, ResolvedPaths& into) {
    for (auto parent = fs::path(path).parent_path().string(); is_below(parent, root);
         parent = fs::path(parent).parent_path().string())
        if (std::ranges::find(into.anchors, parent) == into.anchors.end())
            into.anchors.push_back(parent);
}

// Nothing can be moved inside hidden or read-only paths of a root; an anchor there would make them
// visible.
void drop_needless_anchors(ResolvedPaths& seen) {
    std::erase_if(seen.anchors, [&](const std::string& anchor) {
        const auto closes = [&](const ResolvedPaths::Path& closed) {
            return (anchor == closed.path || is_below(anchor, closed.path)) &&
                   std::ranges::any_of(seen.writable_roots, [&](const std::string& root) {
                       return is_below(closed.path, root);
                   });
        };
        return std::ranges::any_of(seen.read_only, closes) ||
               std::ranges::any_of(seen.hidden, closes);
    });
}

// Makes a path of a writable root read-only, with the folders that lead to it.
void add_read_only(const std::string& root, const std::string& relative, ResolvedPaths& into) {
    const fs::path path = fs::path(root) / relative;
    // A missing path could be created by the command, so an empty one takes its place. Only where
    // its folder exists: a project without .git gets none.
    std::error_code failed;
    if (!fs::exists(path, failed) && relative == ".git/hooks" &&
        fs::is_directory(path.parent_path(), failed))
        fs::create_directory(path, failed);
    const auto found = seen(path);
    if (!found || !is_below(found->path, root)) return;
    into.read_only.push_back(*found);
    add_anchors(root, found->path, into);
}

// Git's folders of submodules have settings and hooks as the repository has. Beyond the bound, all
// of them are read-only.
void add_submodules(const std::string& root, ResolvedPaths& into) {
    const fs::path modules = fs::path(root) / ".git/modules";
    std::error_code failed;
    std::vector<std::string> found;
    std::size_t entries = 0;
    for (auto entry = fs::recursive_directory_iterator(modules, failed);
         !failed && entry != fs::recursive_directory_iterator(); entry.increment(failed)) {
        if (++entries > kGitEntriesMax) return add_read_only(root, ".git/modules", into);
        const std::string name = entry->path().filename().string();
        if (name == "objects" || name == "refs" || name == "logs")
            entry.disable_recursion_pending();
        if (name != "config" && name != "hooks" && name != "config.worktree") continue;
        if (!fs::exists(entry->path().parent_path() / "HEAD", failed)) continue;
        entry.disable_recursion_pending();
        found.push_back(entry->path().lexically_relative(root).string());
    }
    for (const auto& relative : found) add_read_only(root, relative, into);
}

// A repository never has this file; a linked worktree has it elsewhere. There it would redirect git
// to other settings and hooks. Only a command can have created it, so no further command is run
// until it is deleted.
base::Status refuse_other_settings(const std::string& root) {
    std::error_code failed;
    const fs::path leads = fs::path(root) / ".git/commondir";
    if (!fs::exists(fs::symlink_status(leads, failed))) return {};
    return fail(ErrorCode::Unavailable,
                "the command was not run: {} redirects git to settings and hooks that anyone could "
                "have written, and no repository needs it; look at it, and delete it before you "
                "use git there",
                leads.string());
}

// The file that links a worktree to its repository must not be replaced.
void add_git_file(const std::string& root, ResolvedPaths& into) {
    std::error_code failed;
    if (fs::is_regular_file(fs::path(root) / ".git", failed)) add_read_only(root, ".git", into);
}

// Adds a folder or file by itself. A link could make a hidden path visible, so links are left out.
void add_read_only(const fs::path& folder, ResolvedPaths& into) {
    const auto found = seen(folder);
    const auto above = seen(folder.parent_path());
    if (found && above && found->path == fs::path(above->path) / folder.filename())
        into.read_only.push_back(*found);
}

std::vector<std::string> behind_proxy(const Policy& policy, const Machine& machine,
                                      std::vector<std::string> command) {
    std::vector<std::string> argv{machine.proxy.string(), "--fd", kProxyFd, "--log",
                                  policy.network_log.empty() ? "/dev/null" : policy.network_log};
    for (const auto& host : policy.allowed_hosts) append(argv, {"--allow", host});
    argv.emplace_back("--");
    argv.insert(argv.end(), command.begin(), command.end());
    return argv;
}

void add_proxy_variables(std::vector<std::pair<std::string, std::string>>& environment) {
    const std::string url = std::string("http://127.0.0.1:") + kProxyPort;
    for (const char* name : {"http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "all_proxy",
                             "ALL_PROXY", "no_proxy", "NO_PROXY"})
        std::erase_if(environment, [&](const auto& variable) { return variable.first == name; });
    for (const char* name : {"http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"})
        environment.emplace_back(name, url);
}

}  // namespace

base::Result<ResolvedPaths> resolve_paths(const Policy& policy) {
    ResolvedPaths found;
    for (const auto& root : policy.writable_roots) {
        const auto path = seen(root);
        if (!path || !path->is_folder)
            return fail(ErrorCode::NotFound, "the writable root {} is not a folder", root);
        if (path->path == "/")
            return fail(ErrorCode::InvalidInput,
                        "the whole file system cannot be a writable root; name a folder in it");
        TRY(refuse_other_settings(path->path));
        found.writable_roots.push_back(path->path);
        for (const auto& relative : policy.read_only_inside)
            add_read_only(path->path, relative, found);
        add_git_file(path->path, found);
        add_submodules(path->path, found);
    }
    for (const auto& folder : policy.read_only) add_read_only(folder, found);
    for (const auto& hidden : policy.hidden) {
        const auto path = seen(hidden);
        if (!path) continue;
        found.hidden.push_back(*path);
        for (const auto& root : found.writable_roots)
            if (is_below(path->path, root)) add_anchors(root, path->path, found);
    }
    drop_needless_anchors(found);
    return found;
}

std::vector<std::string> arguments(const Policy& policy, const ResolvedPaths& seen,
                                   const Machine& machine) {
    std::vector<std::string> list{machine.bwrap.string()};
    append(list, {"--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts",
                  "--unshare-cgroup-try", "--hostname", "holon", "--die-with-parent"});
    if (policy.network != Network::Host) list.emplace_back("--unshare-net");
    append(list, {"--cap-drop", "ALL"});
    const bool bound_table = machine.is_root && machine.bounded_process_table;
    if (bound_table) append(list, {"--cap-add", "CAP_SYS_ADMIN"});  // holon-init gives it up.
    append(list, {"--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"});
    for (const auto& mount : mounts(policy, seen))
        list.insert(list.end(), mount.words.begin(), mount.words.end());
    // Only now: deeper mounts needed a writable mount point.
    for (const auto& hidden : seen.hidden)
        if (hidden.is_folder) append(list, {"--remount-ro", hidden.path});
    append(list, {"--ro-bind", machine.init.string(), kInitInside});
    append(list, {"--remount-ro", "/run"});
    const auto& limits = policy.limits;
    append(list, {"--", kInitInside, "--cpu", std::to_string(limits.cpu_s), "--memory",
                  std::to_string(limits.memory_bytes), "--processes",
                  std::to_string(limits.processes), "--file", std::to_string(limits.file_bytes),
                  "--files", std::to_string(limits.open_files)});
    if (bound_table) list.emplace_back("--bound-table");
    if (policy.network == Network::Allowlist) append(list, {"--proxy", kProxyPort, kProxyFd});
    list.emplace_back("--");
    return list;
}

base::Status can_confine(const Policy& policy, const Machine& machine) {
    if (const auto lacks = missing(machine); !lacks.empty())
        return fail(ErrorCode::Unavailable,
                    "the command was not run, because it cannot be confined: {}",
                    fmt::join(lacks, "; "));
    if (policy.network == Network::Allowlist && machine.proxy.empty())
        return fail(
            ErrorCode::Unavailable,
            "the command was not run: the program holon-proxy, its only way to the network, "
            "is not in the folder of holon; install both together");
    return {};
}

base::Result<base::ProcessSpec> confine(base::ProcessSpec spec, const Policy& policy,
                                        const Machine& machine) {
    TRY(can_confine(policy, machine));
    const bool has_proxy = policy.network == Network::Allowlist;
    const auto found = TRY(resolve_paths(policy));
    auto argv = arguments(policy, found, machine);
    if (!spec.cwd.empty()) argv.insert(argv.begin() + 1, {"--chdir", spec.cwd.string()});
    argv.insert(argv.end(), spec.argv.begin(), spec.argv.end());
    spec.argv = has_proxy ? behind_proxy(policy, machine, std::move(argv)) : std::move(argv);
    if (has_proxy) add_proxy_variables(spec.environment);
    std::erase_if(spec.environment,
                  [](const auto& variable) { return variable.first == "TMPDIR"; });
    spec.environment.emplace_back("TMPDIR", "/tmp");
    spec.environment.emplace_back("HOLON_SANDBOX", "confined");
    return spec;
}

std::vector<std::string> usual_secrets(const fs::path& home, const fs::path& holon_home) {
    std::vector<std::string> list;
    std::error_code failed;
    for (auto entry = fs::directory_iterator(home, failed);
         !failed && entry != fs::directory_iterator(); entry.increment(failed)) {
        const std::string name = entry->path().filename().string();
        if (name.starts_with('.') && !is_readable_dot_name(name))
            list.push_back(entry->path().string());
    }
    for (const char* file : {"/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-",
                             "/etc/sudoers", "/etc/sudoers.d", "/etc/ssh", "/etc/ssl/private",
                             "/var/lib/docker", "/var/lib/kubelet", "/var/spool/cron"})
        list.emplace_back(file);
    if (!holon_home.empty()) list.push_back(holon_home.string());
    std::ranges::sort(list);
    return list;
}

}  // namespace sandbox
