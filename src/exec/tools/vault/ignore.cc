#include "exec/tools/vault/ignore.h"

#include <ranges>

#include <re2/re2.h>

#include "base/text.h"

namespace vault {
namespace {

// One "[...]" from `at` on, translated; nothing when it is not closed.
std::optional<std::string> character_class(std::string_view glob, std::size_t& at) {
    std::size_t end = at + 1;
    if (end < glob.size() && (glob[end] == '!' || glob[end] == '^')) ++end;
    if (end < glob.size() && glob[end] == ']') ++end;  // In first position, it is literal.
    end = glob.find(']', end);
    if (end == std::string_view::npos) return std::nullopt;
    std::string_view inside = glob.substr(at + 1, end - at - 1);
    std::string out = "[";
    if (inside.starts_with('!') || inside.starts_with('^')) {
        out += '^';
        inside.remove_prefix(1);
    }
    for (const char c : inside) {
        if (c == '\\' || c == '[' || c == ']' || c == '^' || c == '&' || c == '~') out += '\\';
        out += c;
    }
    at = end;
    return out + "]";
}

std::string regex_of(std::string_view glob) {
    std::string out;
    for (std::size_t at = 0; at < glob.size(); ++at) {
        const std::string_view rest = glob.substr(at);
        const bool starts_name = at == 0 || glob[at - 1] == '/';
        if (starts_name && rest.starts_with("**/")) {
            out += "(?:.*/)?";
            at += 2;
        } else if (starts_name && rest == "**") {
            out += ".+";
            ++at;
        } else if (glob[at] == '*') {
            out += "[^/]*";
            while (at + 1 < glob.size() && glob[at + 1] == '*') ++at;
        } else if (glob[at] == '?') {
            out += "[^/]";
        } else if (glob[at] == '[') {
            out += character_class(glob, at).value_or("\\[");
        } else {
            if (glob[at] == '\\' && at + 1 < glob.size()) ++at;
            // A whole character at once: quoting single bytes of one would break it.
            std::size_t size = 1;
            while (at + size < glob.size() &&
                   (static_cast<unsigned char>(glob[at + size]) & 0xC0U) == 0x80U)
                ++size;
            out += re2::RE2::QuoteMeta(re2::StringPiece(glob.data() + at, size));
            at += size - 1;
        }
    }
    return out;
}

}  // namespace

std::optional<Glob> Glob::compile(std::string_view pattern) {
    if (pattern.empty() || pattern.size() > kGlobBytesMax || !base::is_utf8(pattern))
        return std::nullopt;
    const bool anchored = pattern.contains('/');
    if (pattern.starts_with('/')) pattern.remove_prefix(1);
    re2::RE2::Options options;
    options.set_log_errors(false);
    options.set_dot_nl(true);
    Glob glob;
    glob.regex_ =
        std::make_shared<const re2::RE2>((anchored ? "" : "(?:.*/)?") + regex_of(pattern), options);
    if (!glob.regex_->ok()) return std::nullopt;
    return glob;
}

bool Glob::matches(std::string_view path) const {
    return re2::RE2::FullMatch(re2::StringPiece(path.data(), path.size()), *regex_);
}

IgnoreRules IgnoreRules::parse(std::string_view text) {
    IgnoreRules rules;
    for (std::string_view line : base::split_lines(text.substr(0, kIgnoreBytesMax))) {
        if (rules.rules_.size() == kIgnoreRulesMax) break;
        if (line.ends_with('\r')) line.remove_suffix(1);
        while (line.ends_with(' ') && !line.ends_with("\\ ")) line.remove_suffix(1);
        if (line.starts_with('#')) continue;
        Rule rule;
        if (line.starts_with('!')) {
            rule.keep = true;
            line.remove_prefix(1);
        }
        if (line.ends_with('/')) {
            rule.folders_only = true;
            line.remove_suffix(1);
        }
        auto glob = Glob::compile(line);
        if (!glob) continue;
        rule.glob = std::move(*glob);
        rules.rules_.push_back(std::move(rule));
    }
    return rules;
}

std::optional<bool> IgnoreRules::judge(std::string_view path, bool is_folder) const {
    for (const auto& rule : rules_ | std::views::reverse)
        if ((is_folder || !rule.folders_only) && rule.glob.matches(path)) return !rule.keep;
    return std::nullopt;
}

}  // namespace vault
