#include "exec/tools/vault/text/links.h"

#include <algorithm>
#include <cctype>
#include <tuple>

#include <fmt/format.h>

#include "base/text.h"
#include "exec/tools/vault/names.h"
#include "exec/tools/vault/text/spelling.h"

namespace vault {
namespace {

constexpr std::size_t kTargetBytesMax = 4096;  // A longer path names nothing.

// Equal for names that differ in case or in how Unicode writes them.
std::string folded(std::string_view text) {
    std::string out = spelling(text);
    for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return out;
}

bool has_md(std::string_view path) {
    return path.size() > 3 && folded(path.substr(path.size() - 3)) == ".md";
}

int hex(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    const char low = static_cast<char>(c | 0x20);
    return low >= 'a' && low <= 'f' ? low - 'a' + 10 : -1;
}

// Percent escapes and backslashes before punctuation mean one byte.
std::string decoded(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '%' && i + 2 < text.size() && hex(text[i + 1]) >= 0 &&
            hex(text[i + 2]) >= 0) {
            out += static_cast<char>(hex(text[i + 1]) * 16 + hex(text[i + 2]));
            i += 2;
        } else if (text[i] == '\\' && i + 1 < text.size() &&
                   std::ispunct(static_cast<unsigned char>(text[i + 1])) != 0) {
            out += text[++i];
        } else {
            out += text[i];
        }
    }
    return out;
}

bool has_scheme(std::string_view text) {
    const std::size_t colon = text.find_first_of(":/");
    return colon != std::string_view::npos && colon > 0 && text[colon] == ':' &&
           std::isalpha(static_cast<unsigned char>(text[0])) != 0;
}

class Finder {
public:
    explicit Finder(std::string_view note) : note_(note) {}

    std::vector<Link> run() {
        while (line_ < note_.size()) {
            end_ = std::min(note_.find('\n', line_), note_.size());
            if (!is_fence_or_inside()) scan();
            line_ = end_ + 1;
        }
        return std::move(links_);
    }

private:
    // Fenced code: opened by three or more ` or ~, closed by at least as many of the same. It may
    // be inside a quote, and ends with it.
    bool is_fence_or_inside() {
        std::string_view line = base::trim(note_.substr(line_, end_ - line_));
        std::size_t quotes = 0;
        for (; line.starts_with('>'); ++quotes) line = base::trim(line.substr(1));
        if (fence_ != 0 && quotes < fence_quotes_) fence_ = 0;
        std::size_t run = 0;
        while (run < line.size() && line[run] == line[0]) ++run;
        const bool is_fence = run >= 3 && (line[0] == '`' || line[0] == '~');
        if (fence_ == 0) {
            // An opening line of backticks has none after them, or it is a code span.
            if (!is_fence || (line[0] == '`' && line.substr(run).contains('`'))) return false;
            fence_ = run;
            fence_sign_ = line[0];
            fence_quotes_ = quotes;
            return true;
        }
        if (is_fence && line[0] == fence_sign_ && run >= fence_ && run == line.size()) fence_ = 0;
        return true;
    }

    void scan() {
        std::vector<std::size_t> open;  // Where brackets were opened.
        for (at_ = line_; at_ < end_; ++at_) {
            switch (note_[at_]) {
                case '\\':
                    ++at_;
                    break;
                case '`':
                    skip_code();
                    break;
                case '[':
                    if (!(at_ + 1 < end_ && note_[at_ + 1] == '[' && wiki())) open.push_back(at_);
                    break;
                case ']':
                    if (open.empty()) break;
                    after_bracket(open.back());
                    open.pop_back();
                    break;
                default:
                    break;
            }
        }
    }

    // A code span ends with as many backticks as it began with, on the same line as far as we care.
    void skip_code() {
        std::size_t run = 0;
        while (at_ + run < end_ && note_[at_ + run] == '`') ++run;
        for (std::size_t i = at_ + run; i < end_;) {
            std::size_t other = 0;
            while (i + other < end_ && note_[i + other] == '`') ++other;
            if (other == run) {
                at_ = i + other - 1;
                return;
            }
            i += std::max<std::size_t>(other, 1);
        }
        at_ += run - 1;
    }

    bool wiki() {
        const std::size_t from = at_ + 2;
        const std::size_t close = note_.find("]]", from);
        if (close == std::string_view::npos || close > end_) return false;
        std::string_view inside = note_.substr(from, close - from);
        if (inside.contains('[')) return false;
        at_ = close + 1;
        inside = inside.substr(0, inside.find_first_of("|#^"));
        // In a table the bar of an alias is escaped.
        if (inside.ends_with('\\')) inside.remove_suffix(1);
        const std::string_view path = base::trim(inside);
        if (!path.empty())
            add(LinkStyle::Wiki, static_cast<std::size_t>(path.data() - note_.data()), path);
        return true;
    }

    // "](" begins a destination, and so does "]:" after a label at the start of a line.
    void after_bracket(std::size_t opened) {
        if (at_ + 1 >= end_) return;
        if (note_[at_ + 1] == '(') return destination(at_ + 2, true);
        const bool is_label =
            base::trim(note_.substr(line_, opened - line_)).empty() && note_[opened + 1] != '^';
        if (note_[at_ + 1] == ':' && is_label) destination(at_ + 2, false);
    }

    void destination(std::size_t from, bool closed) {
        while (from < end_ && (note_[from] == ' ' || note_[from] == '\t')) ++from;
        if (from >= end_) return;
        if (note_[from] == '<') {
            const std::size_t close = note_.find('>', from);
            if (close == std::string_view::npos || close > end_ || (closed && !closes(close + 1)))
                return;
            return path(LinkStyle::Angle, from + 1, close);
        }
        std::size_t to = from;
        int depth = 0;
        for (; to < end_; ++to) {
            const char c = note_[to];
            if (c == '\\' && to + 1 < end_) {
                ++to;
                continue;
            }
            if (static_cast<unsigned char>(c) <= ' ' || (c == ')' && depth == 0)) break;
            depth += c == '(' ? 1 : c == ')' ? -1 : 0;
        }
        if (closed && !closes(to)) return;
        path(LinkStyle::Markdown, from, to);
    }

    // Is there the end of a link at `from`, after a title perhaps?
    bool closes(std::size_t from) const {
        std::string_view rest = base::trim(note_.substr(from, end_ - from));
        if (rest.starts_with(')')) return true;
        if (rest.empty() || (rest[0] != '"' && rest[0] != '\'')) return false;
        const std::size_t quote = rest.find(rest[0], 1);
        return quote != std::string_view::npos &&
               base::trim(rest.substr(quote + 1)).starts_with(')');
    }

    void path(LinkStyle style, std::size_t from, std::size_t to) {
        at_ = to - 1;  // What is inside is no link of its own.
        std::string_view text = note_.substr(from, to - from);
        if (has_scheme(text) || text.starts_with("//")) return;
        text = text.substr(0, text.find('#'));
        if (!text.empty()) add(style, from, text);
    }

    void add(LinkStyle style, std::size_t at, std::string_view text) {
        if (text.size() > kTargetBytesMax) return;
        std::string target = style == LinkStyle::Wiki ? std::string(text) : decoded(text);
        if (!base::is_utf8(target) || target.contains('\0') || target.contains('\n')) return;
        links_.push_back(
            {.style = style, .at = at, .size = text.size(), .target = std::move(target)});
    }

    std::string_view note_;
    std::size_t line_{0};
    std::size_t end_{0};
    std::size_t at_{0};
    std::size_t fence_{0};
    char fence_sign_{0};
    std::size_t fence_quotes_{0};
    std::vector<Link> links_;
};

// The path from the root that `text` means in `folder`; nothing when it leads out.
std::optional<std::string> below(std::string_view folder, std::string_view text) {
    std::vector<std::string> names;
    for (const std::string_view part : {folder, text})
        for (std::size_t at = 0; at < part.size();) {
            const std::size_t end = std::min(part.find('/', at), part.size());
            const std::string_view name = part.substr(at, end - at);
            at = end + 1;
            if (name.empty() || name == ".") continue;
            if (name != "..") {
                names.emplace_back(name);
            } else {
                if (names.empty()) return std::nullopt;
                names.pop_back();
            }
        }
    return join(names);
}

bool is_dotted(std::string_view target) {
    return target.starts_with("./") || target.starts_with("../");
}

// Does a Markdown link reach `path` from the folder of its note, as every reader would follow it?
bool is_relative(const Link& link, std::string_view note_path, std::string_view path) {
    if (link.style == LinkStyle::Wiki || link.target.starts_with('/')) return false;
    const auto here = below(folder_of(note_path), link.target);
    return here && (*here == path || *here + ".md" == path);
}

std::string relative(std::string_view path, std::string_view folder) {
    std::string up;
    while (!folder.empty() && !(path.starts_with(folder) && path.size() > folder.size() &&
                                path[folder.size()] == '/')) {
        up += "../";
        folder = folder_of(folder);
    }
    return up + std::string(folder.empty() ? path : path.substr(folder.size() + 1));
}

std::string last_names(std::string_view path, std::size_t count) {
    std::size_t at = path.size();
    while (count-- > 0 && at != std::string_view::npos && at > 0) at = path.rfind('/', at - 1);
    return std::string(at == std::string_view::npos || at == 0 ? path : path.substr(at + 1));
}

// How `path` could be written in the manner of `link`, the closest manner first.
std::vector<std::string> spellings(const Link& link, const Relink& relink, std::string_view path) {
    const std::string& old = link.target;
    const std::string_view folder = folder_of(relink.note_after);
    const std::size_t names = 1 + static_cast<std::size_t>(std::ranges::count(old, '/'));
    const std::string from_here = relative(path, folder);
    std::vector<std::string> all;
    if (old.starts_with('/')) {
        all = {"/" + std::string(path)};
    } else if (old.starts_with("./")) {
        all = {from_here.starts_with("../") ? from_here : "./" + from_here, from_here};
    } else if (old.starts_with("../")) {
        all = {from_here};
    } else {
        const auto meant = relink.before.resolve(link, relink.note_before);
        const bool was_relative = meant && is_relative(link, relink.note_before, *meant);
        if (was_relative) all.push_back(from_here);
        all.push_back(last_names(path, names));
        all.emplace_back(path);
        if (link.style != LinkStyle::Wiki) all.push_back(from_here);
    }
    if (has_md(path) && !has_md(old))
        for (auto& text : all) text.resize(text.size() - 3);
    // A name that ends like a note's, or would be taken for another without it, needs its ending.
    const std::size_t count = all.size();
    for (std::size_t i = 0; has_md(path) && !has_md(old) && i < count; ++i)
        all.push_back(all[i] + ".md");
    return all;
}

// The text of a link to `path` in a note; empty when the style cannot express it.
std::optional<std::string> encoded(LinkStyle style, std::string_view path, bool plain) {
    if (style == LinkStyle::Wiki) {
        if (path.find_first_of("[]|#^\\`\n\r") != std::string_view::npos ||
            base::trim(path) != path)
            return std::nullopt;
        return std::string(path);
    }
    const std::string_view special =
        style == LinkStyle::Angle ? "<>%#\\`:" : " \"'<>()%#?\\`[]^{}|:";
    std::string out;
    for (const char c : path) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x20 || byte == 0x7F || special.contains(c) || (byte >= 0x80 && !plain))
            out += fmt::format("%{:02X}", byte);
        else
            out += c;
    }
    return out;
}

// Other scripts are kept readable unless the author escaped them.
bool is_plain(std::string_view written) {
    for (std::size_t i = 0; i + 2 < written.size(); ++i)
        if (written[i] == '%' && hex(written[i + 1]) >= 8 && hex(written[i + 2]) >= 0) return false;
    return true;
}

std::optional<std::string> new_text(const Link& link, std::string_view written,
                                    const Relink& relink, const std::string& path) {
    const auto all = spellings(link, relink, path);
    // Other programs may choose otherwise among files of one name, so that is the last resort.
    for (const bool may_be_ambiguous : {false, true})
        for (const auto& spelling : all) {
            const Link now{.style = link.style, .target = spelling};
            if (relink.after.resolve(now, relink.note_after) != path) continue;
            const std::string ending = has_md(path) && !has_md(spelling) ? ".md" : "";
            if (!may_be_ambiguous && link.style == LinkStyle::Wiki && spelling != path &&
                !is_dotted(spelling) && relink.after.is_ambiguous(spelling + ending))
                continue;
            if (auto text = encoded(link.style, spelling, is_plain(written))) return text;
        }
    return std::nullopt;
}

}  // namespace

std::vector<Link> find_links(std::string_view note) {
    return Finder(note).run();
}

LinkIndex::LinkIndex(const std::vector<std::string>& paths) {
    for (const auto& path : paths) {
        paths_.insert(path);
        by_name_[folded(name_of(path))].push_back(path);
    }
}

std::optional<std::string> LinkIndex::exactly(const std::string& path, LinkStyle style) const {
    const bool is_note = !has_md(path) && paths_.contains(path + ".md");
    const bool is_file = paths_.contains(path);
    if (is_note && (style == LinkStyle::Wiki || !is_file)) return path + ".md";
    return is_file ? std::optional(path) : std::nullopt;
}

std::optional<std::string> LinkIndex::by_end(const std::string& path,
                                             std::string_view folder) const {
    const auto named = by_name_.find(folded(name_of(path)));
    if (named == by_name_.end()) return std::nullopt;
    const auto rank = [&](const std::string& candidate) {
        return std::tuple(!candidate.ends_with(path), folder_of(candidate) != folder,
                          std::ranges::count(candidate, '/'), candidate.size(),
                          std::string_view(candidate));
    };
    const std::string* best = nullptr;
    const std::string end = "/" + folded(path);
    for (const auto& candidate : named->second)
        if (("/" + folded(candidate)).ends_with(end) && (!best || rank(candidate) < rank(*best)))
            best = &candidate;
    return best ? std::optional(*best) : std::nullopt;
}

bool LinkIndex::is_ambiguous(const std::string& path) const {
    const auto named = by_name_.find(folded(name_of(path)));
    if (named == by_name_.end()) return false;
    const std::string end = "/" + folded(path);
    return std::ranges::count_if(named->second, [&](const auto& candidate) {
               return ("/" + folded(candidate)).ends_with(end);
           }) > 1;
}

std::optional<std::string> LinkIndex::resolve(const Link& link, std::string_view note_path) const {
    const std::string_view folder = folder_of(note_path);
    const std::string& target = link.target;
    if (link.style != LinkStyle::Wiki || is_dotted(target))
        if (const auto here = below(target.starts_with('/') ? "" : folder, target))
            if (auto found = exactly(*here, link.style)) return found;
    if (is_dotted(target) || target.contains("/../")) return std::nullopt;
    const auto path = below("", target);
    if (!path || path->empty()) return std::nullopt;
    if (auto found = exactly(*path, link.style)) return found;
    if (target.starts_with('/')) return std::nullopt;
    if (!has_md(*path))
        if (auto found = by_end(*path + ".md", folder)) return found;
    return by_end(*path, folder);
}

Relinked rewrite_links(std::string_view note, const Relink& relink) {
    Relinked out;
    std::size_t copied = 0;
    for (const auto& link : find_links(note)) {
        const auto meant = relink.before.resolve(link, relink.note_before);
        if (!meant) continue;
        const std::string path = relink.moved(*meant);
        // Found by its name alone, a link that was relative would work here and nowhere else.
        if (relink.after.resolve(link, relink.note_after) == path &&
            (!is_relative(link, relink.note_before, *meant) ||
             is_relative(link, relink.note_after, path)))
            continue;
        const auto text = new_text(link, note.substr(link.at, link.size), relink, path);
        if (!text) {
            ++out.broken;
            continue;
        }
        out.text += note.substr(copied, link.at - copied);
        out.text += *text;
        copied = link.at + link.size;
        ++out.links;
    }
    out.text += note.substr(copied);
    return out;
}

}  // namespace vault
