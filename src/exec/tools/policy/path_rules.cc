#include "exec/tools/policy/path_rules.h"

#include <fnmatch.h>

#include <algorithm>

namespace tools {
namespace {

namespace fs = std::filesystem;

bool fits(const std::string& text, const std::string& pattern) {
    if (pattern.find_first_of("*?") != std::string::npos)
        return fnmatch(pattern.c_str(), text.c_str(), 0) == 0;
    return !pattern.empty() && text.find(pattern) != std::string::npos;
}

bool is_below(const fs::path& path, const fs::path& root) {
    const auto rest = path.lexically_relative(root);
    return !rest.empty() && *rest.begin() != "..";
}

}  // namespace

PathRules::PathRules(const domain::SandboxPolicy& policy, fs::path root)
    : root_(std::move(root)), patterns_(policy.deny_patterns) {
    for (const auto& allowed : policy.allowed_roots) allowed_.push_back(resolved(allowed));
}

std::optional<std::string> PathRules::denied_by(const std::string& text) const {
    const auto found = std::ranges::find_if(
        patterns_, [&](const std::string& pattern) { return fits(text, pattern); });
    return found == patterns_.end() ? std::nullopt : std::optional(*found);
}

fs::path PathRules::resolved(const fs::path& path) const {
    std::error_code failed;
    fs::path absolute = (root_ / path).lexically_normal();
    if (!absolute.has_filename()) absolute = absolute.parent_path();
    auto real = fs::weakly_canonical(absolute, failed);
    return failed ? absolute : real;
}

bool PathRules::is_inside(const fs::path& path) const {
    return std::ranges::any_of(allowed_,
                               [&](const fs::path& allowed) { return is_below(path, allowed); });
}

bool PathRules::allows(std::string_view path) const {
    const fs::path whole = root_ / path;
    // A folder is ruled out by a pattern for what is in it, too: "Private/*".
    for (const auto& text : {std::string(path), std::string(path) + "/", whole.string()})
        if (denied_by(text)) return false;
    return is_inside(whole);
}

bool PathRules::leads_to_allowed(std::string_view path) const {
    const fs::path whole = path.empty() ? root_ : root_ / path;
    return std::ranges::any_of(allowed_,
                               [&](const fs::path& allowed) { return is_below(allowed, whole); });
}

bool PathRules::allow_all() const {
    // Paths of a vault have single slashes, so patterns for URLs never fit.
    const bool is_open = std::ranges::all_of(
        patterns_, [](const std::string& pattern) { return pattern.contains("//"); });
    return is_open && is_inside(root_);
}

}  // namespace tools
