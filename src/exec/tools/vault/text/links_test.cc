#include "exec/tools/vault/text/links.h"

#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "exec/tools/vault/names.h"

namespace vault {
namespace {

std::string targets(std::string_view note) {
    std::string out;
    for (const auto& link : find_links(note))
        out += (out.empty() ? "" : "|") + link.target + "@" +
               std::string(note.substr(link.at, link.size));
    return out;
}

TEST(Links, AreFoundInEveryForm) {
    const std::pair<const char*, const char*> cases[] = {
        {"[[Note]]", "Note@Note"},
        {"![[img.png|100]]", "img.png@img.png"},
        {"[[a/Note#Head|alias]] and [[Note^block]]", "a/Note@a/Note|Note@Note"},
        {"| [[Note\\|alias]] |", "Note@Note"},
        {"[[ Note ]]", "Note@Note"},
        {"[x](a.md)", "a.md@a.md"},
        {"[x](a%20b.md#c \"t\")", "a b.md@a%20b.md"},
        {"[x](<a b.md#c>)", "a b.md@a b.md"},
        {"![x](d/p(1).png 'title')", "d/p(1).png@d/p(1).png"},
        {"[a [b] c](x.md)", "x.md@x.md"},
        {"[label]: ref.md", "ref.md@ref.md"},
        {"[x](a\\(b.md)", "a(b.md@a\\(b.md"},
        {"[[One]][[Two]]", "One@One|Two@Two"},
    };
    for (const auto& [note, expected] : cases) EXPECT_EQ(targets(note), expected) << note;
}

TEST(Links, AreNotSeenWhereThereAreNone) {
    for (const auto* note : {"[x](http://e.com/a.md)",
                             "[x](mailto:a@b)",
                             "[x](#head)",
                             "[[#head]]",
                             "[[]]",
                             "[[ ]]",
                             "`[[Note]]`",
                             "``[x](a.md) ` ``",
                             "```\n[[Note]]\n```",
                             "~~~\n[x](a.md)\n```\n[[b]]\n~~~",
                             "\\[[Note]] \\[x](a.md)",
                             "[x] (a.md)",
                             "[x](a b.md)",
                             "[x](a.md",
                             "[[Note\n]]",
                             "[^1]: note.md",
                             "x](a.md)",
                             "[x](//host/a.md)",
                             "[x](a%00b.md)",
                             "[x](a%ff.md)"})
        EXPECT_EQ(targets(note), "") << note;
}

TEST(Links, MeanTheNearestFileOfTheirName) {
    const LinkIndex index({"Note.md", "a/Note.md", "a/b/Note.md", "a/b/Deep.md", "img/p.png",
                           "v1.2.md", "a/Case.md", "README", "b/x y.md"});
    struct Case {
        LinkStyle style;
        const char *target, *note, *means;
    };
    const Case cases[] = {
        {LinkStyle::Wiki, "Note", "x.md", "Note.md"},
        {LinkStyle::Wiki, "Note", "a/x.md", "Note.md"},  // A path from the root goes first.
        {LinkStyle::Wiki, "b/Note", "x.md", "a/b/Note.md"},
        {LinkStyle::Wiki, "Deep", "x.md", "a/b/Deep.md"},
        {LinkStyle::Wiki, "Deep.md", "x.md", "a/b/Deep.md"},
        {LinkStyle::Wiki, "deep", "x.md", "a/b/Deep.md"},
        {LinkStyle::Wiki, "./Note", "a/x.md", "a/Note.md"},
        {LinkStyle::Wiki, "../Note", "a/b/x.md", "a/Note.md"},
        {LinkStyle::Wiki, "../../../Note", "a/x.md", ""},
        {LinkStyle::Wiki, "p.png", "x.md", "img/p.png"},
        {LinkStyle::Wiki, "p", "x.md", ""},
        {LinkStyle::Wiki, "v1.2", "x.md", "v1.2.md"},
        {LinkStyle::Wiki, "README", "x.md", "README"},
        {LinkStyle::Wiki, "eep", "x.md", ""},
        {LinkStyle::Markdown, "Note.md", "a/x.md", "a/Note.md"},
        {LinkStyle::Markdown, "../Note.md", "a/x.md", "Note.md"},
        {LinkStyle::Markdown, "/a/Note.md", "b/x.md", "a/Note.md"},
        {LinkStyle::Markdown, "/Deep.md", "b/x.md", ""},
        {LinkStyle::Markdown, "Deep.md", "x.md", "a/b/Deep.md"},
        {LinkStyle::Markdown, "b/Note", "a/x.md", "a/b/Note.md"},
        {LinkStyle::Angle, "x y.md", "b/n.md", "b/x y.md"},
    };
    for (const auto& [style, target, note, means] : cases)
        EXPECT_EQ(index.resolve({.style = style, .target = target}, note).value_or(""), means)
            << target << " in " << note;
}

struct World {
    std::vector<std::string> paths;
    std::string from, to;

    std::function<std::string(const std::string&)> moved = [this](const std::string& path) {
        if (path == from) return to;
        return path.starts_with(from + "/") ? to + path.substr(from.size()) : path;
    };
    std::vector<std::string> after() const {
        std::vector<std::string> list;
        for (const auto& path : paths) list.push_back(moved(path));
        return list;
    }
    Relinked rewrite(std::string_view note_path, std::string_view note) const {
        const LinkIndex before(paths), now(after());
        const std::string note_after = moved(std::string(note_path));
        return rewrite_links(note, {.note_before = note_path,
                                    .note_after = note_after,
                                    .before = before,
                                    .after = now,
                                    .moved = moved});
    }
};

TEST(RewriteLinks, FollowsARenamedNoteInItsOwnManner) {
    const World world{{"Old.md", "d/x.md", "d/Other.md"}, "Old.md", "New Name.md"};
    const std::pair<const char*, const char*> cases[] = {
        {"[[Old]]", "[[New Name]]"},
        {"[[Old.md]]", "[[New Name.md]]"},
        {"[[old]]", "[[New Name]]"},
        {"![[Old#h|a]]", "![[New Name#h|a]]"},
        {"[[Old\\|a]]", "[[New Name\\|a]]"},
        {"[x](../Old.md)", "[x](../New%20Name.md)"},
        {"[x](../Old.md#h \"t\")", "[x](../New%20Name.md#h \"t\")"},
        {"[x](<../Old.md>)", "[x](<../New Name.md>)"},
        {"[x](/Old.md)", "[x](/New%20Name.md)"},
        {"[x](Old.md)", "[x](New%20Name.md)"},
        {"[x](../Old)", "[x](../New%20Name)"},
        {"[r]: ../Old.md", "[r]: ../New%20Name.md"},
        {"[[../Old]]", "[[../New Name]]"},
        {"[[Other]] [x](Other.md) [[Gone]] `[[Old]]`",
         "[[Other]] [x](Other.md) [[Gone]] `[[Old]]`"},
    };
    for (const auto& [note, expected] : cases)
        EXPECT_EQ(world.rewrite("d/x.md", note).text, expected) << note;
}

TEST(RewriteLinks, FollowsAMovedFolderFromOutsideAndInside) {
    const World world{{"p/a.md", "p/q/b.md", "out.md", "p/pic.png"}, "p", "z/p2"};
    EXPECT_EQ(world.rewrite("out.md", "[[p/a]] [[a]] [x](p/q/b.md) ![[p/pic.png]]").text,
              "[[p2/a]] [[a]] [x](z/p2/q/b.md) ![[p2/pic.png]]");
    EXPECT_EQ(world.rewrite("p/q/b.md", "[x](../a.md) [y](../../out.md) [[../a]]").text,
              "[x](../a.md) [y](../../../out.md) [[../a]]");
}

TEST(RewriteLinks, KeepsARelativeLinkRelativeWhenItsNoteMoves) {
    const World world{{"a/n.md", "a/m.md"}, "a/n.md", "b/n.md"};
    EXPECT_EQ(world.rewrite("a/n.md", "[x](m.md) [[m]]").text, "[x](../a/m.md) [[m]]");
}

TEST(RewriteLinks, GivesALongerPathWhereTheShortOneWouldMeanAnother) {
    const World world{{"a/One.md", "b/Two.md", "n.md"}, "a/One.md", "a/Two.md"};
    EXPECT_EQ(world.rewrite("n.md", "[[One]] [[Two]]").text, "[[a/Two]] [[b/Two]]")
        << "a link to the other file must not be captured by the new name";
}

TEST(RewriteLinks, KeepsTheAuthorsEscapes) {
    const World world{{"ä.md", "n.md"}, "ä.md", "ö (1).md"};
    EXPECT_EQ(world.rewrite("n.md", "[x](ä.md) [y](%C3%A4.md)").text,
              "[x](ö%20%281%29.md) [y](%C3%B6%20%281%29.md)");
}

TEST(RewriteLinks, DistinguishesANoteFromAFileWithoutAnExtension) {
    const World world{{"A", "A.md", "n.md"}, "A", "B"};
    EXPECT_EQ(world.rewrite("n.md", "[[A]] [x](A)").text, "[[A]] [x](B)");
}

TEST(RewriteLinks, CountsWhatItCannotWrite) {
    const World world{{"Old.md", "n.md"}, "Old.md", "a|b.md"};
    const auto relinked = world.rewrite("n.md", "[[Old]] [x](Old.md)");
    EXPECT_EQ(relinked, (Relinked{"[[Old]] [x](a%7Cb.md)", 1, 1}));
}

// What the rewriter promises, over random vaults: each link that led to a file leads to the same
// file afterwards, and a note without such links is unchanged.
TEST(RewriteLinks, KeepsEveryLinkOnItsFileInRandomVaults) {
    std::mt19937 random(7);
    const std::vector<std::string> names{"A.md", "B.md", "a.md", "C d.md", "p.png", "v1.md"};
    const std::vector<std::string> folders{"", "x", "y", "x/y", "y/x", "x y"};
    const auto pick = [&](const auto& list) { return list[random() % list.size()]; };
    std::size_t rewritten = 0;
    for (int round = 0; round < 3000; ++round) {
        World world;
        std::unordered_set<std::string> unique;
        for (int i = 0; i < 6; ++i) unique.insert(join(pick(folders), pick(names)));
        world.paths.assign(unique.begin(), unique.end());
        std::ranges::sort(world.paths);
        world.from = pick(world.paths);
        world.to = join(pick(folders), pick(names));
        if (unique.contains(world.to)) continue;
        std::string note;
        for (int i = 0; i < 5; ++i) {
            const std::string path = pick(world.paths);
            const bool stem = path.ends_with(".md") && random() % 2 == 0;
            const std::string written(random() % 2 == 0 ? std::string_view(path) : name_of(path));
            const std::string short_form = stem ? written.substr(0, written.size() - 3) : written;
            note += random() % 2 == 0 ? fmt::format("[[{}]] ", short_form)
                                      : fmt::format("[t](<{}>) ", short_form);
        }
        const std::string before = pick(world.paths), after = world.moved(before);
        const auto relinked = world.rewrite(before, note);
        const LinkIndex old_index(world.paths), new_index(world.after());
        const auto old_links = find_links(note), new_links = find_links(relinked.text);
        ASSERT_EQ(old_links.size(), new_links.size()) << note;
        ASSERT_EQ(relinked.broken, 0u) << note;
        for (std::size_t i = 0; i < old_links.size(); ++i) {
            const auto meant = old_index.resolve(old_links[i], before);
            if (!meant) continue;
            ASSERT_EQ(new_index.resolve(new_links[i], after), world.moved(*meant))
                << note << " in " << before << ": " << world.from << " -> " << world.to;
        }
        rewritten += relinked.links;
    }
    EXPECT_GT(rewritten, 1000u) << "the test has to reach what it is about";
}

}  // namespace
}  // namespace vault
