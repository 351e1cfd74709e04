#include "tests/support/skip.h"

#include <gtest/gtest-spi.h>

#include <cstdlib>
#include <optional>
#include <string>

namespace test_support {
namespace {

class Skip : public testing::Test {
protected:
    Skip() {
        if (const char* set = std::getenv("HOLON_NO_SKIPS")) before_ = set;
    }
    ~Skip() override {
        if (before_)
            ::setenv("HOLON_NO_SKIPS", before_->c_str(), 1);
        else
            ::unsetenv("HOLON_NO_SKIPS");
    }

    // What HOLON_SKIP reports, without ending this test.
    static void report_to(testing::TestPartResultArray& results) {
        const testing::ScopedFakeTestPartResultReporter reporter(
            testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD, &results);
        [] { HOLON_SKIP("no reason"); }();
    }

private:
    std::optional<std::string> before_;
};

TEST_F(Skip, IsAFailureOnlyWhereTheSwitchIsSet) {
    ::setenv("HOLON_NO_SKIPS", "1", 1);
    testing::TestPartResultArray failed;
    report_to(failed);
    ::unsetenv("HOLON_NO_SKIPS");
    testing::TestPartResultArray skipped;
    report_to(skipped);
    ASSERT_EQ(failed.size(), 1);
    EXPECT_TRUE(failed.GetTestPartResult(0).fatally_failed());
    EXPECT_STREQ(failed.GetTestPartResult(0).message(),
                 "Failed\nHOLON_NO_SKIPS is set, and: no reason");
    ASSERT_EQ(skipped.size(), 1);
    EXPECT_TRUE(skipped.GetTestPartResult(0).skipped());
}

}  // namespace
}  // namespace test_support
