// Any bytes are a note: links are found, and after a rename each leads where it led before.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "exec/tools/vault/text/links.h"

namespace {

const std::vector<std::string> kBefore{"Note.md", "a/Note.md", "a/b.md",
                                       "n.md",    "a/x y.md",  "p.png"};

// Renames that a single byte of the input chooses from.
constexpr std::pair<const char*, const char*> kRenames[] = {
    {"Note.md", "New.md"}, {"a/Note.md", "a/b/New Note.md"}, {"a", "z/a"},
    {"n.md", "a/n.md"},    {"p.png", "a/p (1).png"},         {"a/b.md", "b.md"}};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const auto [from, to] = kRenames[data[0] % std::size(kRenames)];
    const std::string_view note(reinterpret_cast<const char*>(data + 1), size - 1);
    const std::function<std::string(const std::string&)> moved = [&](const std::string& path) {
        if (path == from) return std::string(to);
        const std::string folder = std::string(from) + "/";
        return path.starts_with(folder) ? to + path.substr(folder.size() - 1) : path;
    };
    std::vector<std::string> after;
    for (const auto& path : kBefore) after.push_back(moved(path));
    const vault::LinkIndex old_index(kBefore), new_index(after);
    const std::string note_after = moved("n.md");
    const vault::Relink relink{.note_before = "n.md",
                               .note_after = note_after,
                               .before = old_index,
                               .after = new_index,
                               .moved = moved};
    const auto relinked = vault::rewrite_links(note, relink);
    const auto old_links = vault::find_links(note), new_links = vault::find_links(relinked.text);
    if (relinked.links == 0) CHECK(relinked.text == note, "nothing else is touched");
    CHECK(old_links.size() == new_links.size(), "no link appears or disappears");
    std::size_t astray = 0;
    for (std::size_t i = 0; i < old_links.size(); ++i) {
        CHECK(old_links[i].at + old_links[i].size <= note.size(), "a link lies in the note");
        const auto meant = old_index.resolve(old_links[i], "n.md");
        if (meant && new_index.resolve(new_links[i], note_after) != moved(*meant)) ++astray;
    }
    CHECK(astray == relinked.broken, "a link that goes astray is counted");
    return 0;
}
