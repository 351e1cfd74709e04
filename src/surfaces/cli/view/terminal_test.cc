#include "surfaces/cli/view/terminal.h"

#include <pty.h>
#include <termios.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include <gtest/gtest.h>

#include "base/os/files.h"

#include "tests/support/captured_terminal.h"
#include "tests/support/eventually.h"

namespace cli {
namespace {

TEST(Terminal, ResultsAndNotesGoToSeparateStreams) {
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

bool echoes(int fd) {
    termios settings{};
    EXPECT_EQ(tcgetattr(fd, &settings), 0);
    return (settings.c_lflag & ECHO) != 0;
}

TEST(Secret, OnATerminalIsPromptedForAndNotShown) {
    test_support::CapturedTerminal captured;
    int master = -1;
    int slave = -1;
    ASSERT_EQ(openpty(&master, &slave, nullptr, nullptr, nullptr), 0);
    const base::Fd person(master);
    const base::Fd line(slave);
    captured.terminal.in = slave;
    captured.terminal.in_is_terminal = true;
    std::jthread typist([&] {
        EXPECT_TRUE(test_support::eventually([&] { return !echoes(slave); }));
        EXPECT_TRUE(base::write_all(master, "sk-secret\n"));
    });
    EXPECT_EQ(captured.terminal.read_secret("Key: "), "sk-secret");
    typist.join();
    EXPECT_EQ(captured.err(), "Key: ");
    EXPECT_TRUE(echoes(slave));
    std::array<char, 64> shown;
    const ssize_t size = read(master, shown.data(), shown.size());
    EXPECT_EQ(std::string_view(shown.data(), static_cast<std::size_t>(size)), "\r\n");
}

TEST(Secret, FromAPipeIsOneBoundedLine) {
    test_support::CapturedTerminal captured;
    std::FILE* input = std::tmpfile();
    captured.terminal.in = fileno(input);
    std::fputs("one\r\ntwo", input);
    std::fputs(std::string(kSecretBytesMax, 'x').c_str(), input);
    std::fflush(input);
    ASSERT_EQ(std::fseek(input, 0, SEEK_SET), 0);
    EXPECT_EQ(captured.terminal.read_secret("Key: "), "one");
    EXPECT_FALSE(captured.terminal.read_secret("Key: "));
    EXPECT_EQ(captured.err(), "");
    std::fclose(input);
}

TEST(Confirm, ASignalWhileItWaitsIsANoAndDoesNotEndTheProgram) {
    test_support::CapturedTerminal captured;
    std::array<int, 2> ends{};
    ASSERT_EQ(pipe(ends.data()), 0);
    const base::Fd asked(ends[0]);
    const base::Fd person(ends[1]);
    captured.terminal.in = asked.get();
    struct sigaction before{};
    sigaction(SIGINT, nullptr, &before);
    std::jthread impatient([&] {
        EXPECT_TRUE(test_support::eventually([&] {
            struct sigaction now{};
            sigaction(SIGINT, nullptr, &now);
            return now.sa_handler != before.sa_handler;
        }));
        kill(getpid(), SIGINT);
    });
    EXPECT_FALSE(captured.terminal.confirm("Run it? "));
    impatient.join();
    struct sigaction after{};
    sigaction(SIGINT, nullptr, &after);
    EXPECT_EQ(after.sa_handler, before.sa_handler);
    ASSERT_TRUE(base::write_all(person.get(), "y\n"));
    EXPECT_TRUE(captured.terminal.confirm("Run it? "));
}

TEST(Styled, ColoursOnlyWhereTheyAreWanted) {
    EXPECT_EQ(styled({.colours = false}, Style::Red, "x"), "x");
    EXPECT_EQ(styled({.colours = true}, Style::Plain, "x"), "x");
    EXPECT_EQ(styled({.colours = true}, Style::Red, "x"), "\x1b[31mx\x1b[0m");
    const show::Line line{{"a "}, {"b", show::Face::Code}};
    EXPECT_EQ(styled({.colours = false}, line), "a b");
    EXPECT_EQ(styled({.colours = true}, line), "a \x1b[36mb\x1b[0m");
}

}  // namespace
}  // namespace cli
