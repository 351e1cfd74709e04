// Several writers of one note: threads, processes, and programs that know nothing of the locks.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include <gmock/gmock.h>

#include "base/ids.h"
#include "base/text.h"
#include "exec/results/artifacts.h"
#include "exec/tools/patch/folder_for_test.h"
#include "exec/tools/vault/changes/write.h"
#include "exec/tools/vault/decide.h"

namespace vault {
namespace {

namespace fs = std::filesystem;

class WritersTest : public testing::Test {
protected:
    WritersTest() { folder_.write("v/note.md", ""); }

    Root root() { return Root::open(folder_.at("v")).value(); }
    Outcome<Done> append(const std::string& line) {
        const Root vault = root();
        const Write write{.path = "note.md", .content = line + "\n", .mode = WriteMode::Append};
        return execute(vault, [&](bool) { return decide_write(vault, write); }, sink_,
                       {.files = {"note.md"}});
    }
    std::vector<std::string> lines() {
        const std::string text = base::read_file(folder_.at("v/note.md"), 1 << 24).value();
        std::vector<std::string> out;
        for (const auto line : base::split_lines(text)) out.emplace_back(line);
        std::ranges::sort(out);
        return out;
    }
    std::vector<std::string> names() {
        std::vector<std::string> out;
        for (const auto& entry : fs::directory_iterator(folder_.at("v")))
            out.push_back(entry.path().filename().string());
        return out;
    }

    patch::TestFolder folder_{patch::TestFolder::in_memory()};
    base::SystemClock clock_;
    base::RandomIds ids_{clock_};
    results::FileArtifacts sink_{folder_.path() / "artifacts", "before", ids_};
};

std::vector<std::string> expected(int writers, int each) {
    std::vector<std::string> out;
    for (int w = 0; w < writers; ++w)
        for (int i = 0; i < each; ++i) out.push_back(fmt::format("{}-{}", w, i));
    std::ranges::sort(out);
    return out;
}

TEST_F(WritersTest, ThreadsThatAppendToOneNoteLoseAndDoubleNothing) {
    constexpr int kThreads = 4, kLines = 25;
    {
        std::vector<std::jthread> threads;
        for (int t = 0; t < kThreads; ++t)
            threads.emplace_back([&, t] {
                for (int i = 0; i < kLines; ++i) EXPECT_TRUE(append(fmt::format("{}-{}", t, i)));
            });
    }
    EXPECT_EQ(lines(), expected(kThreads, kLines));
    EXPECT_THAT(names(), testing::ElementsAre("note.md"));
}

TEST_F(WritersTest, ProcessesThatAppendToOneNoteLoseAndDoubleNothing) {
    constexpr int kProcesses = 3, kLines = 25;
    std::vector<pid_t> children;
    for (int p = 0; p < kProcesses; ++p) {
        const pid_t child = ::fork();
        if (child == 0) {
            bool all = true;
            for (int i = 0; i < kLines; ++i)
                all = all && append(fmt::format("{}-{}", p, i)).has_value();
            ::_exit(all ? 0 : 1);
        }
        children.push_back(child);
    }
    for (const pid_t child : children) {
        int status = 0;
        ::waitpid(child, &status, 0);
        EXPECT_EQ(status, 0);
    }
    EXPECT_EQ(lines(), expected(kProcesses, kLines));
    EXPECT_THAT(names(), testing::ElementsAre("note.md"));
}

// It opens, writes and closes the file as a shell's ">>" does, without any lock.
TEST_F(WritersTest, AProgramWithoutLocksThatAppendsLosesNothingEither) {
    constexpr int kLines = 150, kTheirs = 300;
    {
        std::jthread foreign([&] {
            for (int i = 0; i < kTheirs; ++i) {
                const base::Fd file(
                    ::open(folder_.at("v/note.md").c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
                ASSERT_TRUE(file);
                ASSERT_TRUE(base::write_all(file.get(), fmt::format("1-{}\n", i)));
                std::this_thread::yield();
            }
        });
        for (int i = 0; i < kLines; ++i) {
            const auto done = append(fmt::format("0-{}", i));
            EXPECT_TRUE(done) << done.error().message;
        }
    }
    auto wanted = expected(1, kLines);
    for (int i = 0; i < kTheirs; ++i) wanted.push_back(fmt::format("1-{}", i));
    std::ranges::sort(wanted);
    EXPECT_EQ(lines(), wanted);
    EXPECT_THAT(names(), testing::ElementsAre("note.md"));
}

TEST_F(WritersTest, AFileThatAnotherProgramHoldsOpenForWritingIsAConflictAndStays) {
    const base::Fd writer(::open(folder_.at("v/note.md").c_str(), O_WRONLY | O_CLOEXEC));
    const Root vault = root();
    FileLocks locks;
    const ModifyFile step{"note.md", "", "mine"};
    const auto done = replace_file({.root = vault, .locks = locks}, step, {.path = "note.md"});
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().kind, "conflict");
    ASSERT_TRUE(base::write_all(writer.get(), "theirs\n"));
    EXPECT_THAT(lines(), testing::ElementsAre("theirs"));
    EXPECT_THAT(names(), testing::ElementsAre("note.md"));
}

TEST_F(WritersTest, WaitingForALockEndsWhenTheCallIsCancelled) {
    const Root vault = root();
    const auto held = FileLocks::hold(vault, {"note.md"}, nullptr).value();
    const std::atomic<bool> stop{true};
    const auto second = FileLocks::hold(vault, {"note.md"}, &stop);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().kind, "tool_cancelled");
}

}  // namespace
}  // namespace vault
