#include "base/result.h"

#include <cerrno>
#include <memory>

#include <gmock/gmock.h>

namespace base {
namespace {

Result<int> half(int number) {
    if (number % 2 != 0) return fail(ErrorCode::InvalidInput, "{} is odd", number);
    return number / 2;
}

Result<int> quarter(int number) {
    return TRY(half(TRY(half(number))));
}

Status check_even(int number, bool& reached) {
    TRY(half(number));
    reached = true;
    return {};
}

Status check_twice(int number, bool& reached) {
    TRY(check_even(number, reached));
    return {};
}

Result<std::unique_ptr<int>> made(bool works) {
    if (!works) return fail(ErrorCode::Io, "no");
    return std::make_unique<int>(5);
}

Result<int> unwrapped(bool works) {
    const std::unique_ptr<int> owned = TRY(made(works));
    return *owned;
}

TEST(Result, TryGivesTheValueOrReturnsTheError) {
    EXPECT_EQ(quarter(12), 3);
    EXPECT_EQ(quarter(6).error(), (Error{ErrorCode::InvalidInput, "3 is odd"}));
    EXPECT_EQ(quarter(5).error(), (Error{ErrorCode::InvalidInput, "5 is odd"}));
}

TEST(Result, TryStopsAFunctionWithoutAValue) {
    bool reached = false;
    EXPECT_FALSE(check_twice(3, reached));
    EXPECT_FALSE(reached);
    EXPECT_TRUE(check_twice(4, reached));
    EXPECT_TRUE(reached);
}

TEST(Result, TryMovesTheValue) {
    EXPECT_EQ(unwrapped(true), 5);
    EXPECT_EQ(unwrapped(false).error().code, ErrorCode::Io);
}

TEST(Result, SaysWhichCallFailedAndWhy) {
    errno = EACCES;
    EXPECT_EQ(fail_errno("open /a").error(), (Error{ErrorCode::Io, "open /a: Permission denied"}));
    errno = ENOENT;
    EXPECT_EQ(fail_errno("open /a").error(),
              (Error{ErrorCode::NotFound, "open /a: No such file or directory"}));
}

TEST(Result, CheckThrowsABugThatNamesThePlace) {
    EXPECT_NO_THROW(CHECK(1 + 1 == 2, "sums"));
    try {
        CHECK(1 + 1 == 3, "sums work");
        FAIL();
    } catch (const Bug& bug) {
        EXPECT_THAT(bug.what(), testing::HasSubstr("result_test.cc"));
        EXPECT_THAT(bug.what(), testing::HasSubstr("sums work (1 + 1 == 3)"));
    }
}

}  // namespace
}  // namespace base
