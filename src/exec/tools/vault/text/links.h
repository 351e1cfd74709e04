// Links between notes as text: found, resolved and rewritten so that they survive a rename. Pure.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace vault {

enum class LinkStyle {
    Wiki,      // [[folder/Note#heading|alias]] and ![[embed.png]]
    Markdown,  // [text](folder/note%20a.md#part "title"), ![alt](x.png), [label]: x.md
    Angle,     // [text](<folder/note a.md>)
};

struct Link {
    LinkStyle style{LinkStyle::Wiki};
    std::size_t at{0};    // Position of the path in the note, without heading, alias and title,
    std::size_t size{0};  // and how long it is, as written.
    std::string target;   // The path, decoded.
    friend bool operator==(const Link&, const Link&) = default;
};

// Every link of a note that could name a file of the vault. URLs, links within the note, and text
// in code are left out. Any bytes are a note.
std::vector<Link> find_links(std::string_view note);

// All files of a vault, and which of them a link means.
//
// A Markdown link is looked up from the folder of its note first. Otherwise a path is one from the
// root, or else the end of one: "Note" and "b/Note" both mean a/b/Note.md. Of several, the one in
// the folder of the note wins, then the shortest path, then the alphabet. ".md" may be left out (a
// wiki link prefers the note "a.md" to the file "a"), and letters may differ in case where nothing
// matches exactly.
class LinkIndex {
public:
    explicit LinkIndex(const std::vector<std::string>& paths);
    std::optional<std::string> resolve(const Link& link, std::string_view note_path) const;
    // Do several files end like this, capital letters or not?
    bool is_ambiguous(const std::string& path) const;

private:
    std::optional<std::string> exactly(const std::string& path, LinkStyle style) const;
    std::optional<std::string> by_end(const std::string& path, std::string_view folder) const;

    std::unordered_set<std::string> paths_;
    std::unordered_map<std::string, std::vector<std::string>> by_name_;  // Lower-case last names.
};

// One rename seen by one note.
struct Relink {
    std::string_view note_before;  // The path of the note itself, before and after.
    std::string_view note_after;
    const LinkIndex& before;
    const LinkIndex& after;
    const std::function<std::string(const std::string&)>& moved;  // Where a file is afterwards.
};

struct Relinked {
    std::string text;
    std::size_t links{0};   // Rewritten.
    std::size_t broken{0};  // No text could be found that leads to the same file.
    friend bool operator==(const Relinked&, const Relinked&) = default;
};

// The note with every link that led to a file before leading to the same file after. Links keep
// their manner (short, from the root, relative; with or without ".md"); everything else is
// unchanged.
Relinked rewrite_links(std::string_view note, const Relink& relink);

}  // namespace vault
