// What the runtime hands to holon-confine, in a sealed memory file: the confined world, part by
// part, and the command that runs in it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sandbox {

// The descriptors that holon-confine finds.
inline constexpr int kProgramFd = 3;  // Itself.
inline constexpr int kPlanFd = 4;
inline constexpr int kSettingsFd = 5;      // The files of kSettingsFolder: encode() of parts.
inline constexpr int kProxyProgramFd = 6;  // Only with an allow-list of hosts.

inline constexpr const char* kSettingsFolder = "/etc";

// The first argument says which part of the program runs.
inline constexpr std::string_view kConfine = "holon-confine";
inline constexpr std::string_view kBehindProxy = "holon-confine-behind-proxy";

// One part of the confined world. Parts are put in place in their order, so deeper ones follow.
struct Part {
    enum class Kind : char {
        Bind = 'b',         // `source`, writable.
        ReadOnly = 'r',     // `source`, read-only.
        Folder = 'd',       // An empty private folder.
        Repository = 'g',   // `source`, a git folder: see repository.h.
        File = 'f',         // A file with `text`, in a private folder.
        Cover = 'm',        // An empty read-only file in the place of an existing one.
        Link = 'l',         // A symbolic link to `source`.
        CloseFolder = 'c',  // The private folder at `path` becomes read-only.
    };
    Kind kind{Kind::Folder};
    std::string path;      // Where the command finds it.
    std::string source{};  // Absolute, without links; opened by holon-confine without links.
    std::uint64_t device{0}, inode{0};  // What `source` was when it was judged; else nothing runs.
    std::string text{};
    friend bool operator==(const Part&, const Part&) = default;
};

// The same of settings; a view of the bytes that encode() wrote.
struct PartView {
    Part::Kind kind{Part::Kind::Folder};
    std::string_view path, source{};
    std::uint64_t device{0}, inode{0};
    std::string_view text{};
    friend bool operator==(const PartView&, const PartView&) = default;
};

struct Plan {
    std::vector<Part> parts{};
    std::uint64_t private_bytes{0};  // The bound of all private folders together.
    bool shares_network{false};
    bool bounds_process_table{false};
    std::vector<std::string> allowed_hosts{};  // Not empty, or has_proxy alone: through the proxy.
    bool has_proxy{false};
    std::string network_log{};  // Empty: none.
    // The folder in which a control group bounds the memory of the command as a whole; empty: the
    // limit is that of each process alone.
    std::string memory_group{};
    std::uint64_t cpu_s{0}, memory_bytes{0}, processes{0}, file_bytes{0}, open_files{0};
    std::string folder{};                    // Where the command starts.
    std::vector<std::string> environment{};  // NAME=value, the whole of it.
    std::vector<std::string> argv{};
    friend bool operator==(const Plan&, const Plan&) = default;
};

std::string encode(const Plan& plan);
std::string encode(const std::vector<Part>& parts);
// Nothing for bytes that encode() of this build did not write.
std::optional<Plan> decode_plan(std::string_view bytes);
std::optional<std::vector<PartView>> decode_parts(std::string_view bytes);

}  // namespace sandbox
