// Paths as git and diff write them in headers.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace patch {

// The path at the start of `text`: in double quotes with C escapes, or up to a tab, behind which
// diff puts a date. Empty when the quotes are broken or there is nothing.
std::optional<std::string> header_path(std::string_view text);

// Drops a leading a/ or b/, unless what follows would be an absolute path.
std::string without_prefix(std::string path);

struct GitPaths {
    std::string from;
    std::string to;
    friend bool operator==(const GitPaths&, const GitPaths&) = default;
};

// The two paths behind `diff --git `, prefixes dropped. Git does not quote spaces: then the paths
// can be separated only where both are the same; otherwise `ambiguous` is true.
struct GitHeader {
    std::optional<GitPaths> paths{};
    bool ambiguous{false};
};
GitHeader git_header_paths(std::string_view text);

}  // namespace patch
