#include "exec/tools/builtin/commands/command_output.h"

#include "base/hash.h"
#include "base/text.h"
#include "exec/results/artifacts.h"
#include "exec/tools/builtin/fixture_for_test.h"

namespace builtin {
namespace {

using testing::HasSubstr;

class CommandOutputTest : public BuiltinTest {
protected:
    using BuiltinTest::BuiltinTest;
    static std::string preview_of(const tools::Dispatched& end,
                                  std::string_view stream = "stdout") {
        return base::string_at(end.envelope.result(), fmt::format("{}_preview", stream));
    }
    static std::vector<std::string> artifacts_of(const tools::Dispatched& end) {
        std::vector<std::string> paths;
        for (const auto& artifact : end.envelope.result().at("artifacts").as_array()) {
            EXPECT_EQ(artifact.as_object().size(), 1u);
            paths.push_back(base::string_at(artifact, "path"));
        }
        return paths;
    }
};

class SmallDefaultTest : public CommandOutputTest {
protected:
    SmallDefaultTest() : CommandOutputTest({.output_tokens_default = 1000}) {}
};

class LargeDefaultTest : public CommandOutputTest {
protected:
    LargeDefaultTest() : CommandOutputTest({.output_tokens_default = 1'000'000}) {}
};

std::string numbered_lines(int count) {
    std::string text;
    for (int i = 1; i <= count; ++i) text += fmt::format("line {:06d} of the output\n", i);
    return text;
}
constexpr std::string_view kPrintLines =
    "awk 'BEGIN { for (i = 1; i <= 40000; i++) printf \"line %06d of the output\\n\", i }'";

// contract: PROJ-05, PROJ-06, PROJ-07, REPO-07, REPO-08
TEST_F(CommandOutputTest, ShowsBothEndsOfAMegabyteAndKeepsAllOfIt) {
    const auto end = exec(std::string(kPrintLines));
    const json::object& result = end.envelope.result();
    const std::string whole = numbered_lines(40000), shown = preview_of(end);
    ASSERT_GT(whole.size(), 1'000'000u);
    EXPECT_TRUE(base::bool_at(result, "truncated"));
    EXPECT_EQ(base::int_at(result, "stdout_artifact", -1), 0);
    EXPECT_EQ(result.if_contains("stderr_artifact"), nullptr);
    ASSERT_EQ(artifacts_of(end).size(), 1u);
    EXPECT_TRUE(bytes_of(artifacts_of(end)[0]) == whole);
    EXPECT_LE(base::char_count(shown), 32'000u);
    EXPECT_GT(base::char_count(shown), 31'000u);
    EXPECT_THAT(shown, testing::StartsWith("line 000001 of the output\n"));
    EXPECT_THAT(shown, testing::EndsWith("line 040000 of the output"));

    // Only the preview holds output, and only once.
    const std::string envelope = base::json_text(end.envelope.to_json());
    EXPECT_EQ(envelope.find("line 000001 "), envelope.rfind("line 000001 "));
    EXPECT_EQ(envelope.find("line 020000 "), std::string::npos);
    EXPECT_LT(end.envelope.summary_text().size(), 400u);
    EXPECT_THAT(end.receipt, testing::EndsWith("\n\nArtifacts:\n" + artifacts_of(end)[0]));
}

// contract: RCPT-03, PROJ-04
TEST_F(CommandOutputTest, NamesHowManyFirstAndLastLinesItShows) {
    const auto end =
        run("ExecCommand",
            {{"cmd", "seq -f 'line %05.0f' 10000"}, {"login", false}, {"max_output_tokens", 100}});
    // 400 characters less 160 for the marker: ten whole lines of eleven characters at each end.
    std::string expected;
    for (int i = 1; i <= 10; ++i) expected += fmt::format("line {:05d}\n", i);
    expected += "[output cut: first 10 and last 10 of 10000 lines shown, 110000 bytes in all]";
    for (int i = 9991; i <= 10000; ++i) expected += fmt::format("\nline {:05d}", i);
    EXPECT_EQ(preview_of(end), expected);
    EXPECT_EQ(end.receipt, "Process exited with code 0\n\nstdout:\n" + expected +
                               "\n\nArtifacts:\n" + artifacts_of(end).at(0));
    EXPECT_EQ(bytes_of(artifacts_of(end).at(0)).size(), 110'000u);
}

// contract: PROJ-06
TEST_F(CommandOutputTest, NamesTheArtifactOfEachStream) {
    const auto end = exec("printf '%0100000d' 1; printf '%0100000d' 2 >&2");
    const json::object& result = end.envelope.result();
    const auto paths = artifacts_of(end);
    ASSERT_EQ(paths.size(), 2u);
    EXPECT_EQ(base::int_at(result, "stdout_artifact", -1), 0);
    EXPECT_EQ(base::int_at(result, "stderr_artifact", -1), 1);
    EXPECT_THAT(paths[0],
                testing::MatchesRegex(".*/home/tool-artifacts/exec-command-.*stdout.log"));
    EXPECT_TRUE(bytes_of(paths[0]).ends_with("01"));
    EXPECT_TRUE(bytes_of(paths[1]).ends_with("02"));
    // The two share one budget.
    EXPECT_LE(preview_of(end).size() + preview_of(end, "stderr").size(), 32'000u);
}

// contract: REPO-10
TEST_F(SmallDefaultTest, ShowsAsMuchAsTheDefaultSays) {
    const auto end = exec(std::string(kPrintLines));
    EXPECT_LE(base::char_count(preview_of(end)), 4000u);
    EXPECT_GT(base::char_count(preview_of(end)), 3700u);
}

// contract: REPO-09
TEST_F(LargeDefaultTest, ShowsNoMoreThanTheCapWhateverIsAsked) {
    for (const json::value& asked : {json::value(nullptr), json::value(500'000)}) {
        const auto end = run(
            "ExecCommand", {{"cmd", kPrintLines}, {"login", false}, {"max_output_tokens", asked}});
        EXPECT_LE(base::char_count(preview_of(end)), 256'000u);
        EXPECT_GT(base::char_count(preview_of(end)), 255'000u);
    }
}

TEST(EffectiveOutputTokens, IsWhatWasAskedElseTheDefaultAndNeverAboveTheCap) {
    const results::OutputPolicy policy{.output_tokens_default = 10, .output_tokens_max = 20};
    const std::vector<std::pair<std::optional<std::int64_t>, std::int64_t>> cases{
        {std::nullopt, 10}, {0, 10}, {1, 1}, {20, 20}, {21, 20}, {INT64_MAX, 20}};
    for (const auto& [asked, tokens] : cases)
        EXPECT_EQ(effective_output_tokens(asked, policy), tokens) << asked.value_or(-1);
    EXPECT_EQ(effective_output_tokens(std::nullopt,
                                      {.output_tokens_default = 30, .output_tokens_max = 20}),
              20);
}

// contract: RCPT-04
TEST_F(CommandOutputTest, ShowsJsonAsItWasPrinted) {
    folder_.write("repo/package.json", "{\n  \"name\": \"x\",\n  \"a\": [1, \"\\n\"]\n}\n");
    EXPECT_EQ(exec("cat package.json").receipt,
              "Process exited with code 0\n\nstdout:\n"
              "{\n  \"name\": \"x\",\n  \"a\": [1, \"\\n\"]\n}");
}

TEST_F(CommandOutputTest, ShowsBytesThatAreNotTextAsValidUtf8) {
    EXPECT_EQ(preview_of(exec("printf 'a\\377b\\303'")), "a\uFFFDb\uFFFD");
    // Four-byte characters that the capture and the preview both cut.
    const auto end = exec("awk 'BEGIN { for (i = 0; i < 300000; i++) printf \"😀\" }'");
    const std::string receipt = end.receipt;
    EXPECT_TRUE(base::is_utf8(receipt));
    EXPECT_THAT(receipt, HasSubstr("of 1 lines shown, 1200000 bytes in all]"));
    EXPECT_THAT(receipt, Not(HasSubstr("\uFFFD")));
}

TEST_F(CommandOutputTest, ShowsBlankOutputAsNone) {
    EXPECT_EQ(exec("printf ' \\n\\n'").receipt, "Process exited with code 0");
}

// The complete output of a command whose spill failed.
TEST_F(CommandOutputTest, FailsWhenTheWholeOutputWasLost) {
    auto output = std::make_unique<CommandOutput>();
    output->cmd = "yes";
    output->exit = {.exit_code = 0,
                    .out = {.head = "y\n",
                            .tail = "y\n",
                            .spilled = true,
                            .bytes = 1'000'000,
                            .lines = 500'000,
                            .spill_error = "write: No space left on device"}};
    results::FileArtifacts sink(folder_.path(), "exec-command", ids_);
    const auto envelope = results::project("ExecCommand", std::move(output), sink, {});
    ASSERT_FALSE(envelope.ok());
    EXPECT_EQ(envelope.error().kind, "artifact_write_failed");
    EXPECT_EQ(envelope.error().message,
              "The tool ran, but its output could not be kept: "
              "stdout: write: No space left on device");
}

TEST_F(CommandOutputTest, FailsWhenThereIsNoFolderForArtifacts) {
    folder_.write("home/tool-artifacts", "a file");
    const auto end = exec("touch ran");
    EXPECT_EQ(end.envelope.error().kind, "tool_execution_failed");
    EXPECT_FALSE(std::filesystem::exists(folder_.at("repo/ran")));
}

TEST(Preview, CutsWholeLinesWhereItCan) {
    const auto captured = [](std::string text) {
        const auto lines = static_cast<std::uint64_t>(std::ranges::count(text, '\n'));
        const auto bytes = text.size();
        return base::CapturedStream{.head = std::move(text), .bytes = bytes, .lines = lines};
    };
    // Empty lines before and blanks behind go; the first line keeps its indentation.
    EXPECT_EQ(results::preview(captured("\n \n  a\nb  \n"), 10).text, "  a\nb");
    EXPECT_FALSE(results::preview(captured("  a\nb  \n"), 5).truncated);
    const auto none = results::preview(captured("a\nb\nc\n"), 4);
    EXPECT_TRUE(none.truncated);
    EXPECT_EQ(none.text, "\n[output cut: first 0 and last 0 of 3 lines shown, 6 bytes in all]\n");
    const std::string line(300, 'x');
    EXPECT_EQ(results::preview(captured(line), 200).text,
              std::string(20, 'x') +
                  "\n[output cut: first 1 and last 1 lines shown, 300 bytes in all]\n" +
                  std::string(20, 'x'));
}

}  // namespace
}  // namespace builtin
