// Which files people asked tools to leave out: .gitignore and .ignore, by the rules of git.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace re2 {
class RE2;
}

namespace vault {

// Of one ignore file; what is beyond is left out.
inline constexpr std::size_t kIgnoreBytesMax = 256 * 1024;
inline constexpr std::size_t kIgnoreRulesMax = 2000;
inline constexpr std::size_t kGlobBytesMax = 1024;

// A path pattern: `*` and `?` stay within a name, `**` crosses folders, `[a-z]` is one character.
// Without a slash it is matched against the last name only.
class Glob {
public:
    static std::optional<Glob> compile(std::string_view pattern);
    bool matches(std::string_view path) const;

private:
    std::shared_ptr<const re2::RE2> regex_;
};

// The rules of one ignore file.
class IgnoreRules {
public:
    static IgnoreRules parse(std::string_view text);
    // True: ignored; false: included with '!'; empty: no rule matches. `path` is relative to the
    // folder of the ignore file.
    std::optional<bool> judge(std::string_view path, bool is_folder) const;

private:
    struct Rule {
        Glob glob;
        bool keep{false};
        bool folders_only{false};
    };
    std::vector<Rule> rules_;
};

}  // namespace vault
