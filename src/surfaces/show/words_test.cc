#include "surfaces/show/words.h"

#include <gtest/gtest.h>

#include "surfaces/show/times.h"

namespace show {
namespace {

TEST(Texts, OfFailuresNameTheCause) {
    EXPECT_EQ(failure_text("a/m: fail_fast (auth_error, status=401): a rejects the key in A_KEY"),
              "a/m: a rejects the key in A_KEY");
    EXPECT_EQ(failure_text("a/m: retries_exhausted after 3 attempts (server_error, status=503): no "
                           "luck; b/m: retries_exhausted after 2 attempts (timeout): slow; c/m: "
                           "fail_fast (contract_error): wrong"),
              "a/m: no answer after 3 tries (HTTP 503): no luck; b/m: no answer after 2 tries: "
              "slow; c/m: wrong");
    EXPECT_EQ(failure_text("the turn used up its rounds"), "the turn used up its rounds");
    EXPECT_EQ(failure_text("a: fail_fast (cut"), "a: fail_fast (cut");
    EXPECT_EQ(failure_text(""), "");
}

TEST(Texts, OfTimesAndCounts) {
    EXPECT_EQ(duration_text(0), "0.0s");
    EXPECT_EQ(duration_text(9'949), "9.9s");
    EXPECT_EQ(duration_text(10'000), "10s");
    EXPECT_EQ(duration_text(184'000), "3m 04s");
    EXPECT_EQ(duration_text(3'725'000), "1h 02m");
    EXPECT_EQ(count_text(999), "999");
    EXPECT_EQ(count_text(4'200), "4.2k");
    EXPECT_EQ(count_text(1'300'000), "1.3M");
    EXPECT_EQ(age_text(4), "just now");
    EXPECT_EQ(age_text(119), "119s ago");
    EXPECT_EQ(age_text(300), "5m ago");
    EXPECT_EQ(age_text(7'200), "2h ago");
    EXPECT_EQ(age_text(259'200), "3d ago");
}

}  // namespace
}  // namespace show
