// Completions, in the shells that are installed here.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "tests/e2e/program.h"

namespace e2e {
namespace {

using testing::Contains;
using testing::Not;

class Completion : public testing::Test {
protected:
    Completion() {
        program_.script({says("Done.")});
        program_.environment["PATH"] = std::filesystem::path(HOLON_PROGRAM).parent_path().string() +
                                       ":" + program_.environment["PATH"];
    }
    // What Tab offers behind these words, the last of which is being typed.
    std::vector<std::string> bash(const std::string& line) {
        const auto finished =
            program_
                .start_command({"/bin/bash", "-c",
                                "source <(holon completion bash); COMP_WORDS=(" + line +
                                    "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _holon; "
                                    "printf '%s\\n' \"${COMPREPLY[@]}\""})
                .wait();
        EXPECT_EQ(finished.err, "");
        std::vector<std::string> words;
        for (const auto word : base::split_lines(finished.out)) words.emplace_back(word);
        return words;
    }
    // True when the shell accepts the script; also when it is not installed.
    bool is_accepted_by(const std::string& shell) {
        return program_
                   .start_command({"/bin/sh", "-c",
                                   "command -v " + shell +
                                       " >/dev/null || exit 0; holon completion " + shell +
                                       " > script && " + shell + " -n script"})
                   .wait()
                   .exit_code == 0;
    }

    Program program_;
};

TEST_F(Completion, OffersCommandsOptionsAndValues) {
    EXPECT_THAT(bash("holon da"), Contains("daemon"));
    EXPECT_THAT(bash("holon daemon re"), testing::ElementsAre("restart"));
    EXPECT_THAT(bash("holon run --out"), testing::ElementsAre("--output-format"));
    EXPECT_THAT(bash("holon run --output-format j"), testing::ElementsAre("json"));
    ASSERT_EQ(program_.run({"run", "--agent", "reviewer", "--create-agent", "go"}).exit_code, 0);
    EXPECT_THAT(bash("holon status --agent re"), testing::ElementsAre("reviewer"));
    EXPECT_THAT(bash("holon agent stop re"), testing::ElementsAre("reviewer"));
    EXPECT_THAT(bash("holon config set model.d"), Contains("model.default"));
    EXPECT_THAT(bash("holon run --model anthropic/"), Not(testing::IsEmpty()));
}

TEST_F(Completion, OffersFilesOnlyWhereTheyBelong) {
    program_.write(program_.repo() / "readme.txt", "x");
    EXPECT_THAT(bash("holon status re"), Not(Contains("readme.txt")));
    EXPECT_THAT(bash("holon plan run re"), Contains("readme.txt"));
}

TEST_F(Completion, IsReadByEveryShellThatIsHere) {
    for (const char* shell : {"bash", "zsh", "fish"}) EXPECT_TRUE(is_accepted_by(shell)) << shell;
}

}  // namespace
}  // namespace e2e
