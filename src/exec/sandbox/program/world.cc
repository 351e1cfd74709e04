#include "exec/sandbox/program/world.h"

#include <cerrno>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "exec/sandbox/program/masks.h"
#include "exec/sandbox/program/mounts.h"
#include "exec/sandbox/program/program.h"

namespace sandbox {
namespace {

constexpr std::uint64_t kBound = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
constexpr std::uint64_t kReadOnly = kBound | MOUNT_ATTR_RDONLY;
constexpr std::uint64_t kKernelFiles = kBound | MOUNT_ATTR_NOEXEC;
constexpr std::uint64_t kDevice = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC;

// For names, and for the last page of each small file.
constexpr std::uint64_t kOwnBytes = std::uint64_t{4} << 20;

constexpr const char* kNull = "/dev/null";
constexpr const char* kDevices[] = {kNull,         "/dev/zero",    "/dev/full",
                                    "/dev/random", "/dev/urandom", "/dev/tty"};
constexpr std::pair<const char*, const char*> kDeviceLinks[] = {
    {"/dev/fd", "/proc/self/fd"},       {"/dev/stdin", "/proc/self/fd/0"},
    {"/dev/stdout", "/proc/self/fd/1"}, {"/dev/stderr", "/proc/self/fd/2"},
    {"/dev/core", "/proc/kcore"},       {"/dev/ptmx", "pts/ptmx"}};

int open_without_links(int folder, const char* path, std::uint64_t resolve) {
    open_how how{};
    how.flags = O_PATH | O_CLOEXEC;
    how.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | resolve;
    return static_cast<int>(::syscall(SYS_openat2, folder, path, &how, sizeof how));
}

struct stat info_of(int file, const char* what) {
    struct stat info{};
    require(::fstat(file, &info) == 0, what);
    return info;
}

int open_device(const char* path) {
    const int device = open_without_links(AT_FDCWD, path, 0);
    require(device >= 0, path);
    errno = ENODEV;
    require(S_ISCHR(info_of(device, path).st_mode), path);
    return device;
}

// Programs expect these to be open to all.
bool is_shared(const std::string& path) {
    return path == "/tmp" || path == "/var/tmp" || path == "/dev/shm";
}

std::string folder_of(const std::string& path) {
    return path.substr(0, path.rfind('/'));
}
const char* name_of(const std::string& path) {
    return path.c_str() + path.rfind('/') + 1;
}

// The world while it is built: it is not yet the root of this process, so that absolute paths are
// still those of the host. All of it that is not the host's is in one file system: its bound holds
// for the private folders together, and a second one would take longer to make than ten mounts.
class World {
public:
    explicit World(std::uint64_t bytes_max)
        : all_(new_file_system(
              "tmpfs", {{"mode", "0700"}, {"size", std::to_string(bytes_max).c_str()}}, kBound)) {
        // Only what is attached can be copied. It covers a folder of the host that every machine
        // has, in this namespace, and that nothing is taken from.
        const int covered = ::open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
        require(covered >= 0, "/proc");
        attach(all_, covered, "attach a file system");
        ::close(covered);
        const int folder = new_folder(0755);
        root_ = copy_of(folder, kBound, "/");
        attach(root_, folder, "/");
        ::close(folder);
    }
    World(const World&) = delete;
    World& operator=(const World&) = delete;

    void add(const Part& part) {
        switch (part.kind) {
            case Part::Kind::Bind:
                return bind(part, kBound);
            case Part::Kind::ReadOnly:
                return bind(part, kReadOnly);
            case Part::Kind::Folder:
                return place_folder(part.path);
            case Part::Kind::File:
                return write(part.path, part.text);
            case Part::Kind::Cover:
                return cover(part.path);
            case Part::Kind::Link:
                return link(part.source, part.path);
            case Part::Kind::CloseFolder:
                return close_folder(part.path);
            case Part::Kind::Repository:  // enter.cc has put its parts into its place.
                errno = EINVAL;
                give_up(part.path.c_str());
        }
    }

    void add_setting(const PartView& part) {
        if (part.kind == Part::Kind::Link) return link(std::string(part.source), part.path);
        write(std::string(part.path), part.text);
    }

    void add_devices(const char* terminal) {
        for (const char* path : kDevices) place_device(open_device(path), path);
        // Programs that ask for the name of their terminal find it.
        if (terminal) place_device(open_device(terminal), "/dev/console");
        for (const auto& [path, to] : kDeviceLinks) link(to, path);
        const int terminals = new_file_system(
            "devpts", {{"newinstance", nullptr}, {"ptmxmode", "0666"}, {"mode", "620"}}, kDevice);
        place(terminals, "/dev/pts", true);
    }

    void add_proc(const Plan& plan) {
        const int proc = new_file_system("proc", {}, kKernelFiles);
        if (plan.bounds_process_table) bound_process_table(proc, plan.processes);
        // The one that this process makes later, and none for commands.
        set_kernel_value(proc, "sys/user/max_user_namespaces", 1);
        place(proc, "/proc", true);
        for (const char* path : kReadOnlyProc)
            if (const int at = existing(path); at >= 0)
                cover_with(copy_of(at, kKernelFiles | MOUNT_ATTR_RDONLY, path), at, path);
        const int null = open_device(kNull);
        for (const char* path : kMaskedFiles)
            if (is_readable(path)) cover_with(copy_of(null, kDevice, path), existing(path), path);
        ::close(null);
        const int empty = new_folder(0555);
        for (const char* path : kMaskedFolders)
            if (is_readable(path))
                cover_with(copy_of(empty, kKernelFiles | MOUNT_ATTR_RDONLY, path), existing(path),
                           path);
        ::close(empty);
    }

    void become_root() {
        make_read_only(root_, "/");
        change_root(root_);
    }

private:
    // -1 when there is none.
    int existing(const char* path) const {
        return open_without_links(root_, path + 1, RESOLVE_BENEATH);
    }

    // What this user cannot read, the command cannot read: it has the same user and no privilege.
    bool is_readable(const char* path) const { return ::faccessat(root_, path + 1, R_OK, 0) == 0; }

    // An empty folder in the file system of our own. The world shows it where it is mounted only.
    int new_folder(mode_t mode) {
        const std::string name = std::to_string(++folders_);
        require(::mkdirat(all_, name.c_str(), mode) == 0, "make a folder");
        const int folder = open_without_links(all_, name.c_str(), RESOLVE_BENEATH);
        require(folder >= 0, "open a folder");
        return folder;
    }

    // The folder of `path`, made where it is missing. It stays open until another one is wanted.
    int parent_of(const std::string& path) {
        std::string folder = folder_of(path);
        if (folder.empty()) return root_;
        if (folder == parent_path_) return parent_;
        forget_parent();
        parent_ = existing(folder.c_str());
        if (parent_ < 0 && errno == ENOENT) parent_ = make_folder(folder);
        require(parent_ >= 0, path.c_str());
        parent_path_ = std::move(folder);
        return parent_;
    }

    int make_folder(const std::string& path) const {
        const std::string above = folder_of(path);
        int parent = above.empty() ? root_ : existing(above.c_str());
        if (parent < 0 && errno == ENOENT) parent = make_folder(above);
        require(parent >= 0 && ::mkdirat(parent, name_of(path), 0755) == 0, path.c_str());
        const int made = open_without_links(parent, name_of(path), RESOLVE_BENEATH);
        if (parent != root_) ::close(parent);
        return made;
    }

    void forget_parent() {
        if (parent_ >= 0) ::close(parent_);
        parent_ = -1;
        parent_path_.clear();
    }

    void cover_with(int mount, int at, const char* path) {
        require(at >= 0, path);
        attach(mount, at, path);
        ::close(mount);
        ::close(at);
    }

    // Puts a detached mount at `path`, where it makes what it needs.
    void place(int mount, const std::string& path, bool is_folder) {
        const int parent = parent_of(path);
        const char* const name = name_of(path);
        int at = open_without_links(parent, name, RESOLVE_BENEATH);
        if (at < 0 && errno == ENOENT) {
            require((is_folder ? ::mkdirat(parent, name, 0755)
                               : ::mknodat(parent, name, S_IFREG | 0444, 0)) == 0,
                    path.c_str());
            at = open_without_links(parent, name, RESOLVE_BENEATH);
        }
        cover_with(mount, at, path.c_str());
        if ((parent_path_ + "/").starts_with(path + "/")) forget_parent();  // It is covered now.
    }

    // Of the host.
    void bind(const Part& part, std::uint64_t attributes) {
        const char* const source = part.source.c_str();
        const int file = open_source(part);
        place(copy_of(file, attributes, source), part.path, S_ISDIR(info_of(file, source).st_mode));
        ::close(file);
    }

    void place_folder(const std::string& path) {
        const int folder = new_folder(is_shared(path) ? 01777 : 0755);
        place(copy_of(folder, kBound, path.c_str()), path, true);
        ::close(folder);
    }

    void write(const std::string& path, std::string_view text) {
        const int file = ::openat(parent_of(path), name_of(path),
                                  O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0444);
        require(file >= 0 &&
                    ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size()),
                path.c_str());
        ::close(file);
    }

    // With an empty file.
    void cover(const std::string& path) {
        const std::string name = std::to_string(++folders_);
        require(::mknodat(all_, name.c_str(), S_IFREG | 0444, 0) == 0, path.c_str());
        const int file = open_without_links(all_, name.c_str(), RESOLVE_BENEATH);
        require(file >= 0, path.c_str());
        place(copy_of(file, kReadOnly, path.c_str()), path, false);
        ::close(file);
    }

    void link(const std::string& to, std::string_view at) {
        const std::string path(at);
        require(::symlinkat(to.c_str(), parent_of(path), name_of(path)) == 0, path.c_str());
    }

    void close_folder(const std::string& path) {
        const int at = existing(path.c_str());
        require(at >= 0, path.c_str());
        make_read_only(at, path.c_str());
        ::close(at);
    }

    void place_device(int device, const std::string& path) {
        place(copy_of(device, kDevice, path.c_str()), path, false);
        ::close(device);
    }

    static void set_kernel_value(int proc, const char* name, std::uint64_t value) {
        const std::string text = std::to_string(value);
        const int file = ::openat(proc, name, O_WRONLY | O_CLOEXEC);
        require(file >= 0 &&
                    ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size()),
                name);
        ::close(file);
    }

    // Root is exempt from the limit on its processes. The size of the sandbox's own process table
    // is not.
    static void bound_process_table(int proc, std::uint64_t processes) {
        constexpr std::uint64_t kTableMin = 301;  // The kernel's own least.
        set_kernel_value(proc, "sys/kernel/pid_max", processes < kTableMin ? kTableMin : processes);
    }

    const int all_;  // The root of the file system of our own.
    int root_{-1};   // One of its folders: the root of the world.
    int folders_{0};
    int parent_{-1};
    std::string parent_path_;
};

}  // namespace

void build_world(const Plan& plan) {
    ::umask(0);
    make_all_private();
    const auto settings = read_settings();
    std::uint64_t bytes = plan.private_bytes + kOwnBytes;
    for (const auto& part : settings) bytes += part.text.size();
    const char* terminal = ::isatty(STDOUT_FILENO) ? ::ttyname(STDOUT_FILENO) : nullptr;
    World world(bytes);
    // First what the masks lie on, then the masks, then what may lie anywhere.
    for (const auto& part : plan.parts)
        if (part.path == "/sys") world.add(part);
    world.add_devices(terminal);
    world.add_proc(plan);
    for (const auto& part : plan.parts)
        if (part.path != "/sys" && part.kind != Part::Kind::CloseFolder) world.add(part);
    for (const auto& part : settings) world.add_setting(part);
    for (const auto& part : plan.parts)
        if (part.kind == Part::Kind::CloseFolder) world.add(part);
    world.become_root();
    ::umask(022);
}

}  // namespace sandbox
