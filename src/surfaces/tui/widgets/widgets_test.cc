#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "surfaces/show/columns.h"
#include "surfaces/tui/widgets/pager.h"
#include "surfaces/tui/widgets/picker.h"

namespace tui {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Key letter(std::string text) {
    return {.text = std::move(text)};
}
Key named(KeyName name) {
    return {.name = name};
}

std::vector<std::string> texts_of(const std::vector<show::Line>& lines) {
    std::vector<std::string> texts;
    for (const auto& line : lines) texts.push_back(show::text_of(line));
    return texts;
}

std::vector<show::Line> numbered(int count) {
    std::vector<show::Line> lines;
    for (int i = 0; i < count; ++i) lines.push_back({{"line " + std::to_string(i)}});
    return lines;
}

class PagerTest : public testing::Test {
protected:
    bool press(const Key& key) { return pager.on_key(key, kRows); }
    void type(std::string_view text) {
        for (const char c : text) press(letter(std::string(1, c)));
    }
    std::vector<std::string> shown() const { return texts_of(pager.view(20, kRows)); }

    static constexpr std::size_t kRows = 4;
    Pager pager;
};

TEST_F(PagerTest, NeverScrollsPastItsEnds) {
    pager.set_lines(numbered(6));
    press(named(KeyName::Up));
    EXPECT_EQ(shown().front(), "line 0");
    for (int i = 0; i < 20; ++i) press(named(KeyName::PageDown));
    EXPECT_THAT(shown(), ElementsAre("line 2", "line 3", "line 4", "line 5"));
    press(letter("k"));
    EXPECT_EQ(shown().front(), "line 1") << "no press is lost at the end";
    press(letter("g"));
    EXPECT_EQ(shown().front(), "line 0");
    press(letter("G"));
    EXPECT_EQ(shown().back(), "line 5");
    pager.set_lines(numbered(2));
    EXPECT_THAT(shown(), ElementsAre("line 0", "line 1", "", ""));
    press(named(KeyName::End));
    press(letter("j"));
    EXPECT_THAT(shown(), ElementsAre("line 0", "line 1", "", ""));
    pager.set_lines({});
    press(named(KeyName::PageUp));
    press(letter("y"));
    EXPECT_THAT(shown(), ElementsAre("", "", "", ""));
    EXPECT_FALSE(press(named(KeyName::Escape)));
    EXPECT_FALSE(press(letter("q")));
}

TEST_F(PagerTest, FollowsTheEndUntilItIsScrolledAway) {
    pager.follow_end(true);
    pager.set_lines(numbered(6));
    EXPECT_EQ(shown().back(), "line 5");
    pager.set_lines(numbered(8));
    EXPECT_EQ(shown().back(), "line 7");
    press(named(KeyName::Up));
    pager.set_lines(numbered(10));
    EXPECT_EQ(shown().back(), "line 6");
    press(named(KeyName::End));
    pager.set_lines(numbered(12));
    EXPECT_EQ(shown().back(), "line 11");
}

TEST_F(PagerTest, SearchesAndCopies) {
    auto lines = numbered(30);
    lines[12] = {{"a "}, {"Need", show::Face::Bold}, {"le"}};
    lines[25] = {{"needle needle"}};
    pager.set_lines(lines);
    press(letter("/"));
    type("nneedle");  // `n` is typed, too.
    EXPECT_THAT(shown().back(), HasSubstr("not found"));
    for (int i = 0; i < 7; ++i) press(named(KeyName::Backspace));
    type("needle");
    EXPECT_EQ(shown().back(), "/needle  1 of 2");
    EXPECT_THAT(shown(), testing::Contains("a Needle"));
    press(named(KeyName::Enter));
    press(letter("y"));
    EXPECT_EQ(pager.take_copied(), "a Needle\n");
    EXPECT_EQ(pager.take_copied(), std::nullopt) << "once";
    press(letter("n"));
    EXPECT_THAT(pager.view(20, kRows),
                testing::Contains(show::Line{
                    {"needle", show::Face::Selected}, {" "}, {"needle", show::Face::Selected}}));
    press(letter("n"));
    EXPECT_EQ(shown().back(), "/needle  1 of 2") << "round the end";
    press(letter("N"));
    EXPECT_EQ(shown().back(), "/needle  2 of 2");
    EXPECT_TRUE(press(named(KeyName::Escape))) << "the search is closed first";
    EXPECT_FALSE(press(named(KeyName::Escape)));
    press(letter("g"));
    press(letter("y"));
    EXPECT_EQ(pager.take_copied(), "line 0\nline 1\nline 2\nline 3\n");
}

std::vector<Row> rows_named(const std::vector<std::string>& names) {
    std::vector<Row> rows;
    for (const auto& name : names) rows.push_back({.id = name, .line = {{name}}});
    return rows;
}

class PickerTest : public testing::Test {
protected:
    bool press(const Key& key) { return picker.on_key(key, 6); }
    std::vector<std::string> shown(std::size_t columns = 20, std::size_t rows = 6) const {
        return texts_of(picker.view(columns, rows));
    }

    Picker picker;
};

TEST_F(PickerTest, KeepsItsSelectionWhenRowsChange) {
    EXPECT_EQ(picker.selected(), std::nullopt);
    picker.set_rows(rows_named({"a", "b", "c"}));
    press(named(KeyName::Down));
    EXPECT_EQ(picker.selected(), "b");
    picker.set_rows(rows_named({"new", "a", "b", "c"}));
    EXPECT_EQ(picker.selected(), "b");
    picker.set_rows(rows_named({"new", "a"}));
    EXPECT_EQ(picker.selected(), "a") << "gone: the one in its place";
    picker.set_rows({});
    EXPECT_EQ(picker.selected(), std::nullopt);
    EXPECT_EQ(shown().front(), "nothing here");
    EXPECT_FALSE(press(named(KeyName::Enter)));
    EXPECT_FALSE(press(letter("x"))) << "for the caller";
}

TEST_F(PickerTest, DrawsGroupsAndChildrenAndKeepsTheSelectionInSight) {
    picker.set_rows({{.id = "a", .line = {{"a"}}, .group = "working"},
                     {.id = "b", .line = {{"b"}}, .group = "working", .depth = 1},
                     {.id = "c", .line = {{"c"}}, .group = "sleeping"}});
    EXPECT_THAT(shown(10), ElementsAre("working", "> a       ", "    b", "sleeping", "  c", ""));
    picker.set_rows(rows_named({"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}));
    for (int i = 0; i < 10; ++i) {
        EXPECT_THAT(shown(3, 4), testing::Contains("> " + *picker.selected()));
        press(letter("j"));
    }
    EXPECT_EQ(picker.selected(), "9");
    press(named(KeyName::Home));
    EXPECT_EQ(picker.selected(), "0");
}

TEST_F(PickerTest, FiltersByWhatIsTyped) {
    picker.allow_filter(true);
    picker.set_rows(rows_named({"Jack k", "kim", "jill"}));
    EXPECT_TRUE(press(letter("k")));
    EXPECT_TRUE(press(letter(" ")));
    EXPECT_TRUE(press(letter("j")));
    EXPECT_EQ(picker.selected(), "Jack k");
    EXPECT_THAT(shown(20, 3), ElementsAre("filter: k j", "> Jack k            ", ""));
    press(letter("z"));
    EXPECT_EQ(picker.selected(), std::nullopt);
    EXPECT_THAT(shown(60, 2).back(), HasSubstr("nothing matches"));
    press(named(KeyName::Backspace));
    EXPECT_EQ(picker.selected(), "Jack k");
    EXPECT_TRUE(press(named(KeyName::Escape)));
    EXPECT_EQ(shown(20, 3).size(), 3U);
    EXPECT_FALSE(press(named(KeyName::Escape)));
    EXPECT_FALSE(press(named(KeyName::Backspace)));
}

TEST_F(PickerTest, TheDetailIsBelowOrBesideAndScrolls) {
    picker.set_rows(rows_named({"a", "b"}));
    picker.set_detail(numbered(10));
    EXPECT_THAT(shown(20, 6), ElementsAre("> a                 ", "  b", "",
                                          testing::StartsWith("──"), "line 0", "line 1"));
    for (int i = 0; i < 9; ++i) press(named(KeyName::PageDown));
    EXPECT_EQ(shown(20, 6).back(), "line 9");
    press(named(KeyName::PageUp));
    EXPECT_EQ(shown(20, 6).back(), "line 6") << "no press is lost at the end";
    EXPECT_EQ(picker.selected(), "a");
    press(named(KeyName::Home));
    EXPECT_THAT(shown(80, 2), ElementsAre("> a" + std::string(29, ' ') + " │ line 0",
                                          "  b" + std::string(29, ' ') + " │ line 1"));
}

TEST(Widgets, FitEveryWindow) {
    std::vector<show::Line> lines = numbered(5);
    lines.push_back({{"漢字漢字漢字漢字漢字"}, {"e\u0301e\u0301e\u0301", show::Face::Bold}});
    Pager pager;
    pager.set_lines(lines);
    Picker picker;
    picker.allow_filter(true);
    picker.set_rows({{.id = "x", .line = lines.back(), .group = "漢字漢字", .depth = 30},
                     {.id = "y", .line = lines.front(), .depth = -1}});
    for (int round = 0; round < 2; ++round) {
        for (std::size_t columns = 1; columns < 100; columns += 7)
            for (std::size_t rows = 0; rows < 9; ++rows)
                for (const auto& view : {pager.view(columns, rows), picker.view(columns, rows)}) {
                    EXPECT_EQ(view.size(), rows);
                    for (const auto& line : view) EXPECT_LE(show::columns_of(line), columns);
                }
        pager.on_key(letter("/"), 3);
        pager.on_key(letter("漢"), 3);
        picker.on_key(letter("l"), 3);
        picker.set_detail(lines);
    }
}

}  // namespace
}  // namespace tui
