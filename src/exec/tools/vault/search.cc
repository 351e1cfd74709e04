#include "exec/tools/vault/search.h"

#include <algorithm>

#include <re2/re2.h>

#include "base/text.h"
#include "exec/tools/vault/ignore.h"
#include "exec/tools/vault/names.h"
#include "exec/tools/vault/walk.h"

namespace vault {
namespace {

constexpr std::size_t kQueryBytesMax = 1000;
constexpr std::int64_t kRegexMemoryMax = 8 * 1024 * 1024;
constexpr std::size_t kHitLeadChars = 100;  // Shown before a hit in a long line.

// The part of `line` around the hit at byte `at`.
std::string around(std::string_view line, std::size_t at) {
    const std::string before = base::to_utf8(line.substr(0, at));
    const std::string after = base::to_utf8(line.substr(at));
    std::string_view lead = before;
    if (base::char_count(before) + base::char_count(after) > kSearchLineCharsMax)
        lead = base::last_chars(before, kHitLeadChars);
    return (lead.size() < before.size() ? "…" : "") + std::string(lead) +
           base::ellipsize(after, kSearchLineCharsMax - base::char_count(lead));
}

class Searcher {
public:
    Searcher(const re2::RE2& regex, std::size_t hits_max) : regex_(regex), hits_max_(hits_max) {}

    // False once enough was found.
    bool search_in(const std::string& path, std::string_view text) {
        std::size_t line = 1, counted = 0;
        for (std::size_t at = 0; at <= text.size();) {
            re2::StringPiece hit;
            if (!regex_.Match(re2::StringPiece(text.data(), text.size()), at, text.size(),
                              re2::RE2::UNANCHORED, &hit, 1))
                return true;
            const auto found = static_cast<std::size_t>(hit.data() - text.data());
            const std::size_t from = found == 0 ? 0 : text.rfind('\n', found - 1) + 1;
            const std::size_t to = std::min(text.find('\n', found), text.size());
            line += static_cast<std::size_t>(
                std::count(text.begin() + static_cast<std::ptrdiff_t>(counted),
                           text.begin() + static_cast<std::ptrdiff_t>(from), '\n'));
            counted = from;
            if (out.hits.size() == hits_max_) {
                out.truncated = true;
                return false;
            }
            const std::string before = base::to_utf8(text.substr(from, found - from));
            out.hits.push_back({.path = path,
                                .line = static_cast<std::int64_t>(line),
                                .column = static_cast<std::int64_t>(base::char_count(before)) + 1,
                                .text = around(text.substr(from, to - from), found - from)});
            at = to + 1;
        }
        return true;
    }

    Found out;

private:
    const re2::RE2& regex_;
    std::size_t hits_max_;
};

}  // namespace

Outcome<Found> search(const Root& root, const Search& search) {
    if (search.query.empty() || search.query.size() > kQueryBytesMax)
        return invalid(search.query, "is empty or too long for a query", "Send a shorter query.");
    re2::RE2::Options options;
    options.set_log_errors(false);
    options.set_literal(!search.regex);
    options.set_case_sensitive(search.case_sensitive);
    options.set_never_nl(true);  // A hit lies within one line.
    options.set_max_mem(kRegexMemoryMax);
    // In RE2 syntax ^ and $ mean the line only in this mode.
    const re2::RE2 regex(search.regex ? "(?m)" + search.query : search.query, options);
    if (!regex.ok())
        return invalid(search.query,
                       "is not a regular expression that works: " +
                           regex.error().substr(0, regex.error().rfind(": ")),
                       "Use RE2 syntax (no look-around, no back-references), or leave regex out.");
    std::optional<Glob> glob;
    if (search.glob) {
        glob = Glob::compile(*search.glob);
        if (!glob) return invalid(*search.glob, "is not a path pattern", "Write it like *.md.");
    }
    Searcher searcher(regex, std::min(search.hits_max, kSearchHitsMax));
    std::size_t bytes = 0;
    const auto walked =
        TRY(walk(root, {.folder = search.folder, .stop = search.stop}, [&](const Entry& entry) {
            if (entry.kind != Kind::File || (glob && !glob->matches(entry.path))) return true;
            if (bytes + entry.bytes > kSearchBytesMax) {
                searcher.out.truncated = true;
                return false;
            }
            const auto content = root.read(entry.path, kSearchFileBytesMax, false);
            if (!content || content->bytes.contains('\0')) {
                ++searcher.out.skipped;
                return true;
            }
            bytes += content->bytes.size();
            ++searcher.out.files;
            return searcher.search_in(entry.path, content->bytes);
        }));
    searcher.out.truncated = searcher.out.truncated || walked.truncated;
    return std::move(searcher.out);
}

}  // namespace vault
