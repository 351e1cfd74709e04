// What a person sees on a real terminal.
#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "surfaces/show/columns.h"
#include "tests/e2e/terminal/pty.h"

namespace e2e {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::size_t count(std::string_view text, std::string_view part) {
    std::size_t found = 0;
    for (auto at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1))
        ++found;
    return found;
}

// A command that prints wide lines for a while.
constexpr std::string_view kWideOutput =
    "for i in $(seq 15); do echo \"$i: 漢字漢字漢字漢字 a line that is much longer than a narrow "
    "terminal is wide, and longer than most others, too 漢字漢字漢字漢字漢字漢字漢字\"; sleep 0.1; "
    "done";

TEST(Terminal, ALongCommandDoesNotFloodIt) {
    for (const std::size_t columns : {40U, 80U}) {
        Program program;
        program.script({runs(kWideOutput, "Let me look."), says("All done.")});
        OnTerminal shown(program, {"run", "go"}, columns);
        EXPECT_EQ(shown.wait(), 0) << shown.text();
        EXPECT_GT(shown.screen().redraws(), 3) << "nothing was live";
        EXPECT_EQ(shown.screen().floods(), 0) << shown.text();
        EXPECT_THAT(shown.text(), AllOf(HasSubstr("exit 0"), HasSubstr("completed in")));
        for (const auto line : base::split_lines(shown.text()))
            if (line.contains("$ for"))
                EXPECT_LT(show::columns_of(base::trim(line)), columns) << line;
    }
}

TEST(Terminal, TheAnswerIsPrintedOnceAndThePromptsFolderIsNamed) {
    Program program;
    program.script({says("First line.\nSecond line.")});
    OnTerminal shown(program, {"run", "go"});
    EXPECT_EQ(shown.wait(), 0);
    EXPECT_EQ(count(shown.text(), "First line."), 1U) << shown.text();
    EXPECT_EQ(count(shown.text(), "Second line."), 1U) << shown.text();
    EXPECT_THAT(shown.text(), HasSubstr("in " + program.repo().string()));
}

TEST(Terminal, TheAnswerIsDrawnAsMarkdownAndPipedAsItIs) {
    Program program;
    program.script({says("Some **bold** `code`.\n\n- item\n")});
    OnTerminal shown(program, {"run", "go"});
    EXPECT_EQ(shown.wait(), 0);
    EXPECT_THAT(shown.text(), AllOf(HasSubstr("Some bold code.\n\n• item"), Not(HasSubstr("**"))));
    program.script({says("Some **bold** `code`.\n\n- item\n")});
    EXPECT_THAT(program.run({"run", "go"}).out, HasSubstr("Some **bold** `code`.\n\n- item\n"));
}

TEST(Terminal, ColoursAndRedrawingCanBeSwitchedOff) {
    Program program;
    program.script({runs("true", "Let me look."), says("All done.")});
    program.environment["TERM"] = "dumb";
    OnTerminal dumb(program, {"run", "go"});
    EXPECT_EQ(dumb.wait(), 0);
    EXPECT_EQ(dumb.screen().escapes(), 0U) << dumb.text();
    EXPECT_THAT(dumb.text(), HasSubstr("All done."));
    program.environment["TERM"] = "xterm";
    program.environment["NO_COLOR"] = "1";
    OnTerminal colourless(program, {"status", "--agent", "nobody"});
    EXPECT_EQ(colourless.wait(), 1);
    EXPECT_EQ(colourless.screen().escapes(), 0U) << colourless.text();
}

TEST(Terminal, TablesAndTranscriptsFitIt) {
    Program program;
    program.script({calls("ApplyPatch",
                          {{"patch", "--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1,1 @@\n+" +
                                         std::string(100, 'x') + "\n"}},
                          "I add a file with a line that is long, so that it does not fit."),
                    says("All done.")});
    ASSERT_EQ(program.run({"run", "--agent", "main", "--create-agent", "go on, please"}).exit_code,
              0);
    for (const std::size_t columns : {40U, 80U})
        for (const std::vector<std::string>& command :
             std::vector<std::vector<std::string>>{{"models"},
                                                   {"agent", "list"},
                                                   {"transcript", "--agent", "main"},
                                                   {"status", "--agent", "main"}}) {
            OnTerminal shown(program, command, columns);
            EXPECT_EQ(shown.wait(), 0) << shown.text();
            for (const auto line : base::split_lines(shown.text())) {
                // An id or a path has no place to break at.
                const bool is_one_word = !base::trim(line).contains(' ');
                if (!is_one_word && !line.contains("/"))
                    EXPECT_LE(show::columns_of(line), columns) << command[0] << ": " << line;
            }
        }
    OnTerminal transcript(program, {"transcript", "--agent", "main"});
    EXPECT_EQ(transcript.wait(), 0);
    EXPECT_THAT(transcript.text(), AllOf(HasSubstr("you  go on, please"),
                                         HasSubstr("+++ b/new.txt"), Not(HasSubstr("\\n"))));
}

TEST(Terminal, CtrlCTwiceLeavesAtOnceAndSaysHowToResume) {
    Program program;
    Signpost reached(program.folder() / "reached");
    // It does not end when it is asked to, so that there is time for a second Ctrl-C.
    program.script(
        {runs(fmt::format("trap '' TERM INT; echo here > {}; while true; do sleep 1; done",
                          reached.path().string())),
         says("Done.")});
    OnTerminal shown(program, {"run", "--agent", "k", "--create-agent", "go"});
    reached.wait();
    shown.type("\x03");
    ASSERT_TRUE(shown.shows("press Ctrl-C again")) << shown.text();
    shown.type("\x03");
    EXPECT_EQ(shown.wait(), 130);
    EXPECT_THAT(shown.text(), HasSubstr("holon run --resume --agent k"));
}

TEST(Terminal, AnAgentOfAnotherFolderSaysWhereItWorks) {
    Program program;
    program.script({says("Done."), says("Done.")});
    ASSERT_EQ(program.run({"run", "--agent", "k", "--create-agent", "go"}).exit_code, 0);
    const auto other = program.folder() / "other";
    std::filesystem::create_directory(other);
    program.started_in = other;
    OnTerminal shown(program, {"run", "--agent", "k", "go"}, 400);
    EXPECT_EQ(shown.wait(), 0);
    EXPECT_THAT(shown.text(),
                HasSubstr("agent k works in " + program.repo().string() + ", not in this folder"));
    EXPECT_EQ(program.run({"agent", "move", "k", "."}).exit_code, 0);
    OnTerminal moved(program, {"run", "--agent", "k", "go"}, 400);
    EXPECT_EQ(moved.wait(), 0);
    EXPECT_THAT(moved.text(),
                AllOf(HasSubstr("in " + other.string()), Not(HasSubstr("not in this folder"))));
}

TEST(Terminal, DeletingAnAgentAsksFirst) {
    Program program;
    program.script({says("Done.")});
    ASSERT_EQ(program.run({"run", "--agent", "k", "--create-agent", "go"}).exit_code, 0);
    EXPECT_EQ(program.run({"agent", "delete", "k"}).exit_code, 1) << "nobody can be asked";
    OnTerminal refused(program, {"agent", "delete", "k"});
    ASSERT_TRUE(refused.shows("[y/N]"));
    refused.type("n\n");
    EXPECT_EQ(refused.wait(), 1);
    EXPECT_EQ(program.json_of({"agent", "list"}).as_array().size(), 1U);
    OnTerminal deleted(program, {"agent", "delete", "k"});
    ASSERT_TRUE(deleted.shows("[y/N]"));
    deleted.type("y\n");
    EXPECT_EQ(deleted.wait(), 0) << deleted.text();
    EXPECT_EQ(program.json_of({"agent", "list"}).as_array().size(), 0U);
    EXPECT_FALSE(std::filesystem::exists(program.agent_home("k")));
}

}  // namespace
}  // namespace e2e
