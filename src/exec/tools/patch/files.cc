#include "exec/tools/patch/files.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>

#include "base/os/fs/open_path.h"
#include "base/text.h"

namespace patch {
namespace {

constexpr int kFolderFlags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
constexpr std::size_t kLinksMax = 40;
constexpr std::size_t kReadBytes = std::size_t{64} * 1024;

namespace fs = std::filesystem;

std::string_view type_name(mode_t mode) {
    if (S_ISLNK(mode)) return "a symbolic link";
    if (S_ISDIR(mode)) return "a folder";
    if (S_ISFIFO(mode)) return "a pipe";
    if (S_ISSOCK(mode)) return "a socket";
    return "a device";
}

Failure unsupported_type(const Spot& spot, std::string_view what, std::string_view hint) {
    return failure("unsupported_file_type", fmt::format("{} is {}.", spot.requested, what),
                   {{"path", base::to_utf8(spot.requested)}}, hint);
}

Failure unsupported_type(const Spot& spot, mode_t mode) {
    return unsupported_type(spot, type_name(mode),
                            S_ISLNK(mode)
                                ? "Patch the file that the link points to, by its own path."
                                : "Patch regular files only.");
}

// The components of `path` below `root`, or none when it lies elsewhere. Both are normal.
std::optional<std::vector<std::string>> components_below(const fs::path& root,
                                                         const fs::path& path) {
    auto at = path.begin();
    for (const auto& part : root) {
        if (part.empty()) continue;
        if (at == path.end() || *at != part) return std::nullopt;
        ++at;
    }
    std::vector<std::string> components;
    for (; at != path.end(); ++at) {
        if (!at->empty() && *at != ".") components.push_back(at->string());
    }
    return components;
}

// The operator's next git command would obey a hook or setting there, outside any sandbox.
bool is_gits(std::string_view name) {
    return name.size() == 4 && name[0] == '.' && (name[1] | 32) == 'g' && (name[2] | 32) == 'i' &&
           (name[3] | 32) == 't';
}

Failure belongs_to_git(const Spot& spot) {
    return failure("policy_denied", fmt::format("{} belongs to version control.", spot.requested),
                   {{"path", base::to_utf8(spot.requested)}},
                   "Leave .git to git: run it as a command.");
}

std::optional<std::string> read_link(int folder, const std::string& name) {
    std::array<char, PATH_MAX> target{};
    const ssize_t size = ::readlinkat(folder, name.c_str(), target.data(), target.size());
    if (size <= 0) return std::nullopt;
    return std::string(target.data(), static_cast<std::size_t>(size));
}

}  // namespace

Descriptor::~Descriptor() {
    ::close(fd_);
}

Failure system_failure(std::string_view doing, std::string_view path, int error) {
    return failure("tool_execution_failed",
                   fmt::format("{} {} failed: {}.", doing, path, std::strerror(error)),
                   {{"path", base::to_utf8(path)}},
                   "Look at the file and its folder with a command first.");
}

Folder open_folder(const Folder& parent, const std::string& name) {
    const int fd = ::openat(parent->get(), name.c_str(), kFolderFlags);
    return fd < 0 ? nullptr : std::make_shared<const Descriptor>(fd);
}

Outcome<Tree> Tree::open(const Place& place) {
    Place normal{place.root.lexically_normal(), place.cwd.lexically_normal()};
    // A workspace is stored with its links resolved: one that appears on the way later leads to a
    // folder that nobody has attached.
    auto fd = base::open_without_links(normal.root, O_PATH | O_DIRECTORY);
    if (!fd && fd.error().code == base::ErrorCode::Refused)
        return system_failure("Opening", place.root.string(), ELOOP);
    if (!fd) return system_failure("Opening", place.root.string(), errno);
    return Tree(normal, normal.root, std::make_shared<const Descriptor>(fd->release()));
}

json::object Tree::path_details(const Spot& spot, std::string_view resolved) const {
    return {{"requested_path", base::to_utf8(spot.requested)},
            {"path", base::to_utf8(spot.requested)},
            {"resolved_path", base::to_utf8(resolved)},
            {"active_workspace_root", base::to_utf8(place_.root.string())},
            {"cwd", base::to_utf8(place_.cwd.string())}};
}

Failure Tree::escape(const Spot& spot, std::string_view leads_to) const {
    return failure("path_escape",
                   fmt::format("{} leads out of the workspace root.", spot.requested),
                   path_details(spot, leads_to),
                   fmt::format("Use a relative path that stays inside {}.", place_.root.string()));
}

Outcome<Spot> Tree::locate(const std::string& requested) const {
    if (!base::is_utf8(requested) || requested.contains('\0')) {
        return syntax_failure("missing_file_header",
                              "A path in the patch is not valid UTF-8 or has a zero byte.");
    }
    const fs::path absolute = (place_.cwd / requested).lexically_normal();
    Spot spot{.requested = requested};
    auto components = components_below(place_.root, absolute);
    if (!components) components = components_below(real_root_, absolute);
    if (!components) return escape(spot, absolute.string());
    if (components->empty() || requested.ends_with('/')) {
        return unsupported_type(spot, S_IFDIR);
    }
    fs::path shown = place_.root;
    for (const auto& component : *components) shown /= component;
    spot.absolute = shown.lexically_normal().string();
    TRY(walk(std::move(*components), spot));

    struct stat status{};
    if (!spot.missing.empty()) return spot;
    if (::fstatat(spot.folder->get(), spot.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) {
        if (!S_ISREG(status.st_mode)) return unsupported_type(spot, status.st_mode);
        spot.exists = true;
    } else if (errno != ENOENT) {
        return system_failure("Looking at", spot.requested, errno);
    }
    return spot;
}

// Goes down one folder at a time and follows links itself: `..` in a link's target goes back along
// the folders already opened, never by the name "..". openat2 with RESOLVE_BENEATH was dropped for
// this, as it refuses absolute links that stay inside, and is not on every kernel.
Outcome<void> Tree::walk(std::vector<std::string> components, Spot& spot) const {
    spot.name = std::move(components.back());
    if (is_gits(spot.name)) return belongs_to_git(spot);
    components.pop_back();
    std::ranges::reverse(components);  // The next one is at the back.
    std::vector<Folder> way{root_};
    std::size_t links = 0;
    std::size_t requested_left = components.size();  // Those on top of them come from links.
    while (!components.empty()) {
        const bool from_link = components.size() > requested_left;
        const std::string name = std::move(components.back());
        components.pop_back();
        if (!from_link) requested_left = components.size();
        if (is_gits(name)) return belongs_to_git(spot);
        if (name == "..") {
            way.pop_back();
            if (way.empty()) return escape(spot, spot.absolute);
            continue;
        }
        if (auto folder = open_folder(way.back(), name)) {
            way.push_back(std::move(folder));
            continue;
        }
        if (errno == ENOENT && from_link) {
            return unsupported_type(spot, "below a link that leads nowhere",
                                    "Choose a path whose parents are folders.");
        }
        if (errno == ENOENT) {
            components.push_back(name);
            std::ranges::reverse(components);
            spot.missing = std::move(components);
            break;
        }
        if (errno != ENOTDIR && errno != ELOOP) {
            return system_failure("Opening a folder of", spot.requested, errno);
        }
        const auto target = read_link(way.back()->get(), name);
        if (!target) {
            return unsupported_type(spot, fmt::format("below {}, which is not a folder", name),
                                    "Choose a path whose parents are folders.");
        }
        if (++links > kLinksMax)
            return system_failure("Opening a folder of", spot.requested, ELOOP);
        auto inside = target->starts_with('/') ? components_below(real_root_, *target)
                                               : components_below({}, *target);
        if (!inside) inside = components_below(place_.root, *target);
        if (!inside) return escape(spot, *target);
        if (target->starts_with('/')) way.resize(1);
        components.insert(components.end(), inside->rbegin(), inside->rend());
    }
    spot.folder = way.back();
    struct stat status{};
    if (::fstat(spot.folder->get(), &status) != 0) {
        return system_failure("Looking at", spot.requested, errno);
    }
    spot.key = fmt::format("{}:{}/{}/{}", status.st_dev, status.st_ino,
                           fmt::join(spot.missing, "/"), spot.name);
    return {};
}

Outcome<OldFile> Tree::read(const Spot& spot, std::string_view action) const {
    // O_NONBLOCK: a pipe put there since must not hold us up.
    const int fd = !spot.exists ? -1
                                : ::openat(spot.folder->get(), spot.name.c_str(),
                                           O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 && (!spot.exists || errno == ENOENT)) {
        json::object details = path_details(spot, spot.absolute);
        details["action"] = action;
        return failure("missing_file", fmt::format("{} does not exist.", spot.requested),
                       std::move(details),
                       "List the folder or read the file first, check the working folder, and use "
                       "a path that exists.");
    }
    if (fd < 0) return system_failure("Opening", spot.requested, errno);
    const Descriptor file(fd);
    OldFile old;
    if (::fstat(fd, &old.status) != 0) return system_failure("Looking at", spot.requested, errno);
    if (!S_ISREG(old.status.st_mode)) return unsupported_type(spot, old.status.st_mode);
    std::array<char, kReadBytes> buffer{};
    for (;;) {
        const ssize_t size = ::read(fd, buffer.data(), buffer.size());
        if (size < 0 && errno == EINTR) continue;
        if (size < 0) return system_failure("Reading", spot.requested, errno);
        if (size == 0) return old;
        old.bytes.append(buffer.data(), static_cast<std::size_t>(size));
        if (old.bytes.size() > kFileBytesMax) {
            return syntax_failure(
                "file_too_large",
                fmt::format("{} has more than {} bytes.", spot.requested, kFileBytesMax),
                {.path = spot.requested});
        }
    }
}

}  // namespace patch
