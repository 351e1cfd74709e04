#include "exec/sandbox/memory/memory_groups.h"

#include <sys/stat.h>
#include <unistd.h>

#include <optional>
#include <vector>

#include "base/os/files.h"

namespace sandbox {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kControlFileBytesMax = 64 * 1024;

// The path of this process's group in a hierarchy: that of "0::/path", the second version, or of a
// line that names the memory controller.
std::optional<std::string> group_of(std::string_view membership, std::string_view controller) {
    while (!membership.empty()) {
        const std::size_t end = std::min(membership.find('\n'), membership.size());
        const std::string_view line = membership.substr(0, end);
        membership.remove_prefix(std::min(end + 1, membership.size()));
        const std::size_t first = line.find(':');
        const std::size_t second = first == line.npos ? first : line.find(':', first + 1);
        if (second == line.npos) continue;
        if (line.substr(first + 1, second - first - 1) == controller)
            return std::string(line.substr(second + 1));
    }
    return std::nullopt;
}

bool is_writable(const fs::path& file) {
    return ::access(file.c_str(), W_OK) == 0;
}

// Whether a group in `folder` can be made, bounded by `limit`, and entered from below the folder.
bool can_hold(const fs::path& folder, const char* limit) {
    if (!is_writable(folder / "cgroup.procs")) return false;
    const fs::path tried = folder / ("holon-probe-" + std::to_string(::getpid()));
    if (::mkdir(tried.c_str(), 0755) != 0) return false;
    const bool is_fit = is_writable(tried / limit) && is_writable(tried / "cgroup.procs");
    ::rmdir(tried.c_str());
    return is_fit;
}

// Removes groups whose command and starter were killed; those in use stay.
void remove_left_behind(const fs::path& folder) {
    std::error_code failed;
    for (const auto& entry : fs::directory_iterator(folder, failed))
        if (entry.path().filename().string().starts_with("holon-")) ::rmdir(entry.path().c_str());
}

std::string found(const fs::path& folder) {
    remove_left_behind(folder);
    return folder.string();
}

}  // namespace

std::string find_memory_groups(std::string_view membership, const fs::path& mounts) {
    // A group that bounds memory hands that on only if its parent says so, and a parent that does
    // has no processes of its own: so it is a folder above ours.
    if (const auto own = group_of(membership, "")) {
        for (fs::path at = fs::path(*own).relative_path();; at = at.parent_path()) {
            const fs::path folder = at.empty() ? mounts : mounts / at;
            const auto handed_on =
                base::read_file(folder / "cgroup.subtree_control", kControlFileBytesMax);
            if (handed_on && handed_on->contains("memory") && can_hold(folder, "memory.max"))
                return found(folder);
            if (at.empty()) break;
        }
    }
    if (const auto own = group_of(membership, "memory"))
        for (const fs::path& folder :
             {mounts / "memory" / fs::path(*own).relative_path(), mounts / "memory"})
            if (can_hold(folder, "memory.limit_in_bytes")) return found(folder);
    return "";
}

}  // namespace sandbox
