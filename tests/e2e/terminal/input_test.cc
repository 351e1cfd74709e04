// What goes into `holon run` and what comes out of it.
#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "tests/e2e/program.h"

namespace e2e {
namespace {

using testing::HasSubstr;

// A shell runs `line`, in which $HOLON is the program.
Finished shell(Program& program, const std::string& line) {
    program.environment["HOLON"] = HOLON_PROGRAM;
    return program.start_command({"/bin/sh", "-c", line}).wait();
}

std::string prompt_of(Program& program, const std::string& agent) {
    const auto entries =
        of_kind(program.json_of({"transcript", "--agent", agent}), "incoming_message");
    return entries.empty() ? "" : base::string_at(entries.back().at("data").at("body"), "text");
}

TEST(Input, WhatIsPipedInIsPartOfThePrompt) {
    Program program;
    program.script({says("ok")});
    const std::string run = "\"$HOLON\" run --agent k --create-agent ";
    const auto piped = shell(program, "printf 'line one\\nline two\\n' | " + run + "explain");
    EXPECT_EQ(piped.exit_code, 0) << piped.err;
    EXPECT_EQ(piped.out, "ok\n");
    EXPECT_EQ(prompt_of(program, "k"), "explain\n\nStandard input:\n\nline one\nline two\n");
    program.script({says("ok")});
    EXPECT_EQ(shell(program, "printf 'only this' | " + run + "-").exit_code, 0);
    EXPECT_EQ(prompt_of(program, "k"), "only this");
    program.script({says("ok")});
    EXPECT_EQ(shell(program, "printf 'without a dash' | " + run).exit_code, 0);
    EXPECT_EQ(prompt_of(program, "k"), "without a dash");
    program.script({says("ok")});
    EXPECT_EQ(shell(program, run + "plain </dev/null").exit_code, 0);
    EXPECT_EQ(prompt_of(program, "k"), "plain");
}

TEST(Input, AnEmptyOrHugePromptIsRefusedWithAReason) {
    Program program;
    program.script({says("never")});
    const auto empty = shell(program, "\"$HOLON\" run </dev/null");
    EXPECT_EQ(empty.exit_code, 2);
    EXPECT_THAT(empty.err, HasSubstr("the prompt is empty"));
    const auto huge = shell(program, "head -c 2000000 /dev/zero | tr '\\0' x | \"$HOLON\" run -");
    EXPECT_EQ(huge.exit_code, 2);
    EXPECT_THAT(huge.err, HasSubstr("save it to a file"));
}

TEST(Output, StandardOutputHasTheAnswerAndNothingElse) {
    Program program;
    program.script({with_usage(runs("echo hello", "Let me look."), 10, 5),
                    with_usage(says("All done."), 7, 3)});
    const auto finished = program.run({"run", "go"});
    EXPECT_EQ(finished.out, "All done.\n");
    EXPECT_THAT(finished.err, HasSubstr("25 tokens (17 in, 8 out)"));
}

TEST(Output, AStreamHasAnObjectALineAndEndsWithTheResult) {
    Program program;
    program.script({runs("echo hello"), says("All done.")});
    const auto finished = program.run({"run", "--output-format", "stream-json", "go"});
    EXPECT_EQ(finished.exit_code, 0);
    const auto lines = base::split_lines(finished.out);
    ASSERT_GT(lines.size(), 4U);
    EXPECT_EQ(base::string_at(base::parse_json(lines.front()).value(), "type"), "started");
    const auto last = base::parse_json(lines.back()).value();
    EXPECT_EQ(base::string_at(last, "type"), "result");
    EXPECT_EQ(base::string_at(last, "final_text"), "All done.");
    EXPECT_EQ(base::string_at(last, "final_status"), "completed");
}

TEST(Output, TextCanBeHadInAPipe) {
    Program program;
    program.script({says("Done.")});
    ASSERT_EQ(program.run({"run", "--agent", "main", "--create-agent", "go"}).exit_code, 0);
    EXPECT_THAT(program.run({"status"}).out, testing::StartsWith("{"));
    const auto plain = program.run({"status", "--plain"});
    EXPECT_THAT(plain.out, testing::StartsWith("agent      main\n"));
    EXPECT_THAT(plain.out, testing::Not(HasSubstr("\x1b")));
}

// contract: IDENT-12
TEST(Runs, StayListedAndCanBeContinued) {
    Program program;
    program.script({says("Done.")});
    const auto first = program.json_of({"run", "--json", "write a poem about the sea"});
    const std::string agent = base::string_at(first, "agent_id");
    EXPECT_EQ(program.json_of({"agent", "list"}), json::array{});
    const auto listed = program.json_of({"run", "--list"}).as_array();
    ASSERT_EQ(listed.size(), 1U);
    EXPECT_EQ(base::string_at(listed[0], "agent_id"), agent);
    EXPECT_EQ(base::string_at(listed[0], "text"), "write a poem about the sea");
    EXPECT_FALSE(base::bool_at(listed[0], "is_open", true));
    program.script({says("Longer.")});
    const auto second = program.json_of({"run", "--json", "--continue", "make it longer"});
    EXPECT_EQ(base::string_at(second, "agent_id"), agent);
    EXPECT_EQ(base::string_at(second, "final_text"), "Longer.");
    EXPECT_EQ(program.json_of({"run", "--list"}).as_array().size(), 1U);
    EXPECT_EQ(program.run({"agent", "delete", agent, "--yes"}).exit_code, 0);
    EXPECT_EQ(program.json_of({"run", "--list"}), json::array{});
}

TEST(Runs, InJsonPrintTheirDocumentWheneverTheyAreEnded) {
    Program program;
    Signpost reached(program.folder() / "reached");
    program.script({runs(fmt::format("echo here > {}; sleep 600", reached.path().string()))});
    auto running = program.start({"run", "--json", "go"});
    reached.wait();
    running.send(SIGTERM);
    const auto ended = running.wait();
    EXPECT_EQ(ended.exit_code, 130);
    EXPECT_EQ(base::string_at(base::parse_json(ended.out).value(), "final_status"), "interrupted");
    // And when there is nothing to run.
    program.environment["HOLON_MODEL"] = "";
    const auto unusable = program.run({"run", "--json", "go"});
    EXPECT_EQ(unusable.exit_code, 1);
    EXPECT_FALSE(base::bool_at(base::parse_json(unusable.out).value(), "ok", true));
}

TEST(Runs, AModelCanBeChosenAndIsTheAgentsFromThenOn) {
    Program program;
    program.script({says("One.")});
    const std::string model = program.environment.at("HOLON_MODEL");
    program.write(program.folder() / "second.json", R"({"rounds":[{"text":"Two."}],"loop":true})");
    const std::string second = "scripted/" + (program.folder() / "second.json").string();
    ASSERT_EQ(program.run({"run", "--agent", "k", "--create-agent", "go"}).out, "One.\n");
    EXPECT_EQ(program.run({"run", "--agent", "k", "--model", second, "go"}).out, "Two.\n");
    EXPECT_EQ(program.run({"run", "--agent", "k", "go"}).out, "Two.\n");
    EXPECT_EQ(program.run({"run", "--model", second, "go"}).out, "Two.\n");
    EXPECT_EQ(program.run({"run", "--model", "nobody/knows", "go"}).exit_code, 1);
}

}  // namespace
}  // namespace e2e
