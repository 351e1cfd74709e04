#include "exec/tools/vault/names.h"

#include <gmock/gmock.h>

namespace vault {
namespace {

using testing::ElementsAre;

std::string kind_of_path(std::string_view path) {
    const auto names = split_path(path);
    return names ? "ok" : names.error().kind;
}

TEST(Paths, AreSplitIntoTheirNames) {
    EXPECT_THAT(split_path("a/b c/d.md").value(), ElementsAre("a", "b c", "d.md"));
    EXPECT_THAT(split_path("./a//b/").value(), ElementsAre("a", "b"));
    EXPECT_TRUE(split_path("").value().empty());
    EXPECT_TRUE(split_path(".").value().empty());
    EXPECT_THAT(split_path("Note: today.md").value(), ElementsAre("Note: today.md"));
    EXPECT_THAT(split_path("..a/b..").value(), ElementsAre("..a", "b.."));
}

TEST(Paths, ThatCouldLeadOutAreDeniedWhateverTheyLeadTo) {
    for (const auto* path :
         {"/etc/passwd", "../x", "a/../../x", "a/../b", "a/..", "..", "~/x", "~", "C:/x", "c:\\x",
          "\\\\server\\share", "..\\x", "a/..\\..\\x", "http://example.com/a", "file:///etc/passwd",
          "file:x", "data:text/plain,x", "obsidian://open"})
        EXPECT_EQ(kind_of_path(path), "path_escape") << path;
}

TEST(Paths, ThatNoFileCanHaveAreInvalid) {
    EXPECT_EQ(kind_of_path(std::string("a\0b", 3)), "invalid_tool_input");
    EXPECT_EQ(kind_of_path("a\xff"), "invalid_tool_input");
    EXPECT_EQ(kind_of_path(std::string(kPathBytesMax + 1, 'a')), "invalid_tool_input");
    std::string deep;
    for (std::size_t i = 0; i <= kPathDepthMax; ++i) deep += "d/";
    EXPECT_EQ(kind_of_path(deep), "invalid_tool_input");
}

TEST(Names, AreMadeSafeForEveryFileSystemAndLink) {
    const std::pair<std::string, std::string> cases[] = {
        {"Plan: A/B?", "Plan- A-B-"},
        {"a<b>c\"d|e*f\\g", "a-b-c-d-e-f-g"},
        {"[[x]]#y^z", "--x---y-z"},
        {"tab\there\x7f", "tab-here-"},
        {"  padded  ", "padded"},
        {"dots...", "dots"},
        {"...", "Untitled"},
        {"", "Untitled"},
        {"CON", "CON_"},
        {"con.txt", "con_.txt"},
        {"COM1.md", "COM1_.md"},
        {"COM10.md", "COM10.md"},
        {"Console.md", "Console.md"},
        {"日本.md", "日本.md"},
        {".hidden", ".hidden"},
        {"bad\xff.md", "bad\uFFFD.md"},
    };
    for (const auto& [name, safe] : cases) {
        EXPECT_EQ(safe_name(name), safe) << name;
        EXPECT_EQ(safe_name(safe), safe) << "twice: " << name;
    }
}

TEST(Names, StayWithinTheLimitAndKeepTheirEnding) {
    std::string name;
    while (name.size() < 400) name += "ä";
    const std::string safe = safe_name(name + ".md");
    EXPECT_LE(safe.size(), kNameBytesMax);
    EXPECT_GE(safe.size(), kNameBytesMax - 1);
    EXPECT_TRUE(safe.ends_with("ä.md"));
    EXPECT_TRUE(numbered_name(safe, 12).ends_with("ä (12).md"));
    EXPECT_LE(numbered_name(safe, 12).size(), kNameBytesMax);
}

TEST(Names, AreNumberedBeforeTheirEnding) {
    EXPECT_EQ(numbered_name("Title.md", 2), "Title (2).md");
    EXPECT_EQ(numbered_name("Title", 3), "Title (3)");
    EXPECT_EQ(numbered_name(".hidden", 2), ".hidden (2)");
    EXPECT_EQ(numbered_name("Mr. Brown and friends", 2), "Mr. Brown and friends (2)");
}

TEST(Slugs, KeepWordsAndDropEverythingElse) {
    const std::pair<std::string, std::string> cases[] = {
        {"Hello, World!", "hello-world"},
        {"Crème brûlée: a how-to", "creme-brulee-a-how-to"},
        {"Łódź & Ærø × 2", "lodz-aro-2"},
        {"Don't — stop", "dont-stop"},
        {"  --spaces--  ", "spaces"},
        {"日本語 メモ", "日本語-メモ"},
        {"🎉", "untitled"},
        {"", "untitled"},
        {"C++ / C#", "c-c"},
        {"a\xff"
         "b",
         "a-b"},
    };
    for (const auto& [title, slug] : cases) EXPECT_EQ(slugify_title(title), slug) << title;
}

TEST(Slugs, EndWithAWholeCharacterAtTheirLimit) {
    EXPECT_EQ(slugify_title("one two three", 7), "one-two");
    EXPECT_EQ(slugify_title("one two three", 8), "one-two");
    EXPECT_EQ(slugify_title("one two three", 9), "one-two-t");
    EXPECT_EQ(slugify_title("日本語", 2), "日本");
}

TEST(Paths, OfVersionControlAreProtected) {
    EXPECT_TRUE(is_protected({"a", ".git", "hooks"}));
    EXPECT_TRUE(is_protected({".GIT"}));
    EXPECT_FALSE(is_protected({".gitignore"}));
}

}  // namespace
}  // namespace vault
