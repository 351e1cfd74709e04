#include "base/os/crash/crash_marks.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include <gmock/gmock.h>

namespace base {
namespace {

using testing::IsEmpty;
using testing::UnorderedElementsAre;

class CrashMarksTest : public testing::Test {
protected:
    std::filesystem::path folder_{testing::TempDir() + "marks-" + std::to_string(::getpid())};
    ~CrashMarksTest() override { std::filesystem::remove_all(folder_); }

    // Runs `work` in a process that then dies by a signal.
    void die_in(const std::function<void()>& work) const {
        const pid_t child = ::fork();
        ASSERT_GE(child, 0);
        if (child == 0) {
            const auto marks = CrashMarks::open(folder_);
            work();
            ::_exit(1);
        }
        int status = 0;
        ASSERT_EQ(::waitpid(child, &status, 0), child);
    }
    std::vector<std::string> left() const { return CrashMarks::open(folder_).value()->left(); }
};

TEST_F(CrashMarksTest, TheNextProcessLearnsWhatTheLastOneWasExecuting) {
    die_in([] {
        const CrashMark other("done");
        {
            const CrashMark inner("guilty");
            ::raise(SIGKILL);
        }
    });
    EXPECT_THAT(left(), UnorderedElementsAre("guilty"));
    EXPECT_THAT(left(), UnorderedElementsAre("guilty")) << "until the caller has recorded it";
    CrashMarks::open(folder_).value()->forget_left();
    EXPECT_THAT(left(), IsEmpty());
}

TEST_F(CrashMarksTest, WhatWasOverBeforeTheEndIsNotNamed) {
    die_in([] {
        {
            const CrashMark over("over");
        }
        ::raise(SIGKILL);
    });
    EXPECT_THAT(left(), IsEmpty());
}

TEST_F(CrashMarksTest, EveryThreadHasAMarkOfItsOwn) {
    die_in([] {
        const CrashMark one("one");
        std::thread([] {
            const CrashMark two("two");
            ::raise(SIGKILL);
        }).join();
    });
    EXPECT_THAT(left(), UnorderedElementsAre("one", "two"));
}

TEST_F(CrashMarksTest, AProcessThatLivesOrEndsInOrderIsNotCounted) {
    {
        const auto marks = CrashMarks::open(folder_).value();
        const CrashMark mine("mine");
        EXPECT_THAT(marks->left(), IsEmpty());
    }
    EXPECT_THAT(left(), IsEmpty());
}

TEST_F(CrashMarksTest, WithoutAFileAMarkDoesNothing) {
    const CrashMark mark("nobody");
}

}  // namespace
}  // namespace base
