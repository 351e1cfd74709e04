#include "exec/sandbox/git/git_settings.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "base/text.h"

namespace sandbox {
namespace {

constexpr std::size_t kValueCharsMax = 200;

// Section names and keys are case-insensitive.
std::string word(std::string_view text) {
    std::string out(base::trim(text));
    for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return out;
}

// A value without its trailing comment and its quotes.
std::string plain(std::string_view value) {
    std::string text;
    bool quoted = false;
    for (std::size_t i = 0; i < value.size(); ++i) {
        const char c = value[i];
        if (c == '"')
            quoted = !quoted;
        else if (c == '\\' && i + 1 < value.size())
            text += value[++i];
        else if (!quoted && (c == '#' || c == ';'))
            break;
        else
            text += c;
    }
    return base::ellipsize(base::printable(base::to_utf8(base::trim(text))), kValueCharsMax);
}

std::string in_quotes(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) out.append(c == '"' || c == '\\' ? "\\" : "") += c;
    return out + '"';
}

// Settings whose values are executed, or read as further settings. `include` and `includeIf` have
// the key `path`; a section such as alias or pager is executed whatever the key.
bool is_obeyed(std::string_view section, std::string_view key) {
    constexpr std::string_view kKeys[] = {"hookspath",
                                          "fsmonitor",
                                          "sshcommand",
                                          "editor",
                                          "pager",
                                          "attributesfile",
                                          "askpass",
                                          "clean",
                                          "smudge",
                                          "process",
                                          "command",
                                          "textconv",
                                          "driver",
                                          "helper",
                                          "program",
                                          "cmd",
                                          "difffilter",
                                          "packobjectshook",
                                          "gitproxy",
                                          "alternaterefscommand",
                                          "defaultkeycommand",
                                          "path",
                                          "uploadpack",
                                          "receivepack",
                                          "tool"};
    if (section == "alias" || section == "pager") return true;
    if (key == "path") return section == "include" || section == "includeif";
    return std::ranges::find(kKeys, key) != std::end(kKeys);
}

// The words of a command line, without the quotes and the `!` of an alias.
std::vector<std::string> words_of(const std::string& value) {
    std::vector<std::string> words;
    std::string one;
    const auto end = [&] {
        if (!one.empty() && !one.starts_with('-')) words.push_back(one);
        one.clear();
    };
    for (const char c : value) {
        if (std::string_view(" \t;|&<>()'\"!`$").contains(c))
            end();
        else
            one += c;
    }
    end();
    if (value.contains(' ') && !value.contains('\''))
        words.push_back(value);  // A path with spaces.
    return words;
}

}  // namespace

std::string git_identity(std::string_view settings) {
    std::string name, email;
    bool in_user = false;
    for (const auto raw : base::split_lines(settings)) {
        if (base::trim(raw).starts_with('[')) in_user = word(raw).starts_with("[user]");
        const auto equals = raw.find('=');
        if (!in_user || equals == std::string_view::npos) continue;
        const std::string key = word(raw.substr(0, equals));
        if (key == "name") name = plain(raw.substr(equals + 1));
        if (key == "email") email = plain(raw.substr(equals + 1));
    }
    if (name.empty() && email.empty()) return "";
    std::string text = "[user]\n";
    if (!name.empty()) text += fmt::format("\tname = {}\n", in_quotes(name));
    if (!email.empty()) text += fmt::format("\temail = {}\n", in_quotes(email));
    return text;
}

std::vector<ObeyedPath> obeyed_paths(std::string_view settings) {
    std::vector<ObeyedPath> found;
    std::string section;
    for (const auto raw : base::split_lines(settings)) {
        auto line = base::trim(raw);
        if (line.starts_with('[')) {
            section = word(line.substr(1, line.find_first_of(" .\"]", 1) - 1));
            const auto end = line.rfind(']');
            line = end == std::string_view::npos ? std::string_view()
                                                 : base::trim(line.substr(end + 1));
        }
        const auto equals = line.find('=');
        if (equals == std::string_view::npos) continue;
        const std::string key = word(line.substr(0, equals));
        if (!is_obeyed(section, key)) continue;
        for (const auto& one : words_of(plain(line.substr(equals + 1))))
            found.push_back({one, section == "core" && key == "hookspath"});
    }
    return found;
}

}  // namespace sandbox
