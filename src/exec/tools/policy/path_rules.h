// Which paths the sandbox of a policy lets a call touch.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "domain/tool.h"

namespace tools {

// Relative paths and roots are meant below `root`. A pattern with '*' or '?' is a glob over the
// whole text, any other is looked for anywhere in it.
class PathRules {
public:
    // Resolves the links of the allowed roots; reads the file system.
    PathRules(const domain::SandboxPolicy& policy, std::filesystem::path root);

    // The pattern that rules `text` out.
    std::optional<std::string> denied_by(const std::string& text) const;
    // Does `path`, which has no links left to resolve, lie in an allowed root?
    bool is_inside(const std::filesystem::path& path) const;
    // Links resolved where there is something to resolve.
    std::filesystem::path resolved(const std::filesystem::path& path) const;

    // May a call touch the file or folder at `path`, which is relative to the root and has no links
    // in it? No: neither is it read nor named.
    bool allows(std::string_view path) const;
    // Is there an allowed root somewhere below this folder?
    bool leads_to_allowed(std::string_view path) const;
    // Nothing below the root is ruled out, so that nobody has to ask.
    bool allow_all() const;

private:
    std::filesystem::path root_;
    std::vector<std::filesystem::path> allowed_;
    std::vector<std::string> patterns_;
};

}  // namespace tools
