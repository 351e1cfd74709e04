#include "provider/http/retry_after.h"

#include <gtest/gtest.h>

namespace provider {
namespace {

using namespace std::chrono_literals;

TEST(RetryAfter, IsSecondsOrADate) {
    const base::Time now = base::parse_time("1994-11-06T08:49:30Z").value();
    const std::vector<std::pair<std::string_view, std::optional<std::chrono::milliseconds>>> rows{
        {"3", 3s},
        {" 0 ", 0s},
        {"99999999999999999999999", std::chrono::hours(24 * 365)},
        {"Sun, 06 Nov 1994 08:49:37 GMT", 7s},
        {"Sun, 06 Nov 1994 08:49:00 GMT", 0s},
        {"", std::nullopt},
        {"soon", std::nullopt},
        {"-1", std::nullopt},
        {"1.5", std::nullopt},
    };
    for (const auto& [value, wait] : rows) EXPECT_EQ(parse_retry_after(value, now), wait) << value;
}

}  // namespace
}  // namespace provider
