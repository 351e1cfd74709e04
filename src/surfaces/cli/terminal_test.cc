#include "surfaces/cli/terminal.h"

#include <gtest/gtest.h>

#include "tests/support/captured_terminal.h"

namespace cli {
namespace {

TEST(Terminal, ResultsAndNotesGoTheirOwnWays) {
    const test_support::CapturedTerminal captured;
    captured.terminal.print("a");
    captured.terminal.print_line("b");
    captured.terminal.note("c");
    EXPECT_EQ(captured.out(), "ab\n");
    EXPECT_EQ(captured.err(), "c\n");
    EXPECT_TRUE(captured.terminal.is_written());
    EXPECT_FALSE(captured.terminal.out_is_pipe());
}

TEST(Terminal, AFullDiskIsNoticed) {
    const Terminal terminal{.out = std::fopen("/dev/full", "w")};
    terminal.print_line("lost");
    EXPECT_FALSE(terminal.is_written());
    std::fclose(terminal.out);
}

TEST(Styled, ColoursOnlyWhereTheyAreWanted) {
    EXPECT_EQ(styled({.colours = false}, Style::Red, "x"), "x");
    EXPECT_EQ(styled({.colours = true}, Style::Plain, "x"), "x");
    EXPECT_EQ(styled({.colours = true}, Style::Red, "x"), "\x1b[31mx\x1b[0m");
}

TEST(Texts, OfTimesAndCounts) {
    EXPECT_EQ(duration_text(0), "0.0s");
    EXPECT_EQ(duration_text(9'949), "9.9s");
    EXPECT_EQ(duration_text(10'000), "10s");
    EXPECT_EQ(duration_text(184'000), "3m 04s");
    EXPECT_EQ(duration_text(3'725'000), "1h 02m");
    EXPECT_EQ(count_text(999), "999");
    EXPECT_EQ(count_text(4'200), "4.2k");
    EXPECT_EQ(count_text(1'300'000), "1.3M");
    EXPECT_EQ(age_text(4), "just now");
    EXPECT_EQ(age_text(119), "119s ago");
    EXPECT_EQ(age_text(300), "5m ago");
    EXPECT_EQ(age_text(7'200), "2h ago");
    EXPECT_EQ(age_text(259'200), "3d ago");
}

}  // namespace
}  // namespace cli
