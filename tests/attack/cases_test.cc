// Runs every case of cases/ in the real sandbox and then checks, outside of it, whether it escaped.
//
// A case says what it tries; what it prints proves nothing. The judges of stage.h do: the marker
// that lies in every hidden place was not printed, nothing outside the writable root changed, no
// listener outside was reached, no process is left running.
#include <map>

#include "tests/attack/stage.h"

namespace attack {
namespace {

class Attack : public Boundary, public testing::WithParamInterface<Case> {};

TEST_P(Attack, StaysInside) {
    const auto findings = attempt(GetParam(), Confined::Yes);
    EXPECT_EQ(findings, std::vector<std::string>{}) << said_;
    if (GetParam().is_honest) EXPECT_EQ(exit_.exit_code, 0) << said_;
}

INSTANTIATE_TEST_SUITE_P(Cases, Attack, testing::ValuesIn(read_cases()),
                         [](const testing::TestParamInfo<Case>& info) {
                             std::string name = info.param.family + "_" + info.param.name;
                             for (char& c : name)
                                 if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
                             return fmt::format("{:03}_{}", info.index, name);
                         });

// The judges are worth something: without the sandbox they find each of these.
using Judges = Boundary;
TEST_F(Judges, DetectEscapes) {
    const std::pair<const char*, const char*> escapes[] = {
        {"a hidden file was read", "cat \"$TARGET\""},
        {"a hidden file was copied", "cp \"$TARGET\" copy"},
        {"outside changed", "echo x >> \"$OUTSIDE/file.txt\""},
        {"outside changed", "chmod 777 \"$OUTSIDE/file.txt\""},
        {"home changed", "echo x >> \"$HOME/.bashrc\""},
        {"a hidden file was read", "cat \"$HOME/notes.txt\""},
        {"holon changed", "echo x > \"$HOLON/config.json\""},
        {"hooks changed", "echo id > .git/hooks/pre-commit"},
        {"hooks changed", "mv .git .git2; mkdir -p .git/hooks; echo id > .git/hooks/pre-commit"},
        {"git settings changed", "echo >> .git/config"},
        {"agent settings changed", "echo x > .holon/extra"},
        {"left for git: commondir", "echo ../evil > .git/commondir"},
        {"a link or pipe for git", "mkdir -p .git/logs; ln -s \"$OUTSIDE\" .git/logs/HEAD"},
        {"lends its owner's identity", "cp /bin/sh s; chmod 4755 s"},
        {"reached: tcp", "bash -c \"echo x > /dev/tcp/127.0.0.1/$PORT\""},
        {"reached: udp", "bash -c \"echo x > /dev/udp/127.0.0.1/$PORT\""},
        {"reached: unix",
         "python3 -c 'import os,socket; socket.socket(1).connect(os.environ[\"SOCKET\"])'"},
        {"a process outside was ended", "kill -9 $VICTIM"},
    };
    for (const auto& [finding, script] : escapes) {
        SetUp();
        EXPECT_THAT(attempt({.family = "bare", .script = script}, Confined::No),
                    testing::Contains(testing::HasSubstr(finding)))
            << script << "\n"
            << said_;
        TearDown();
    }
}

// A command may move what it can write; the next one must not find what is hidden in it.
TEST_F(Boundary, AHiddenPathInAWritableFolderIsHiddenFromTheNextCommand) {
    write_file(top_ / "shared/conf/deep/key", std::string(kMarker));
    network_.hidden = {(top_ / "shared/conf/deep/key").string()};
    network_.writable_roots = {(top_ / "shared").string()};
    const auto shared = (top_ / "shared").string();
    attempt({.family = "two", .script = "mv " + shared + "/conf " + shared + "/conf2"},
            Confined::Yes);
    EXPECT_TRUE(fs::exists(top_ / "shared/conf/deep/key")) << said_;
    EXPECT_EQ(attempt({.family = "two", .script = "cat " + shared + "/*/*/key"}, Confined::Yes),
              std::vector<std::string>{});
}

TEST(AttackCases, AreManyAndDistinct) {
    const auto cases = read_cases();
    EXPECT_GE(std::ranges::count(cases, false, &Case::is_honest), 300);
    std::map<std::string, int> scripts;
    for (const auto& one : cases) EXPECT_EQ(++scripts[one.script], 1) << one.name;
}

}  // namespace
}  // namespace attack
