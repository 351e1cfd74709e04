#include "config/sections/retention.h"

#include <gmock/gmock.h>

namespace config {
namespace {

RetentionSection retention_section(std::string_view text) {
    return base::from_json<RetentionSection>(base::parse_json(text).value(), base::Unknown::Reject)
        .value();
}

TEST(RetentionSection, KeepsNinetyDaysAndTenGibibytesUnlessToldOtherwise) {
    EXPECT_EQ(retention_of({}), (Retention{.enabled = true,
                                           .max_age_days = 90,
                                           .max_bytes = std::int64_t{10} << 30,
                                           .min_age_days = 7,
                                           .keep_turns = 50,
                                           .temporary_agent_days = 30}));
    EXPECT_EQ(retention_of(retention_section(R"({"max_age_days": 30, "keep_turns": 1})")),
              (Retention{.max_age_days = 30, .keep_turns = 1}));
    EXPECT_FALSE(retention_of(retention_section(R"({"enabled": false})")).enabled);
}

TEST(RetentionSection, AShorterAgeLowersTheShortestOne) {
    EXPECT_EQ(retention_of(retention_section(R"({"max_age_days": 2})")).min_age_days, 2);
}

TEST(RetentionSection, RefusesBoundsThatMeanNothing) {
    const std::pair<std::string_view, std::string_view> cases[] = {
        {R"({"max_age_days": 0})", "/retention/max_age_days"},
        {R"({"max_age_days": 400000})", "/retention/max_age_days"},
        {R"({"min_age_days": -1})", "/retention/min_age_days"},
        {R"({"max_bytes": 0})", "/retention/max_bytes"},
        {R"({"keep_turns": 0})", "/retention/keep_turns"},
        {R"({"temporary_agent_days": 0})", "/retention/temporary_agent_days"}};
    for (const auto& [text, place] : cases) {
        const auto checked = check_retention(retention_section(text));
        ASSERT_FALSE(checked) << text;
        EXPECT_THAT(checked.error().message, testing::HasSubstr(place)) << text;
    }
    EXPECT_TRUE(check_retention({}));
}

}  // namespace
}  // namespace config
