#include "config/agents/children.h"

#include <gmock/gmock.h>

namespace config {
namespace {

ChildrenSection children_section(std::string_view text) {
    return base::from_json<ChildrenSection>(base::parse_json(text).value(), base::Unknown::Reject)
        .value();
}

TEST(ChildrenSection, HasSafeDefaultsAndTakesEachLimit) {
    EXPECT_EQ(children_of({}), (Children{.max_depth = 2,
                                         .max_alive = 8,
                                         .max_tree_alive = 32,
                                         .max_tree_tokens = 5'000'000,
                                         .max_tree_wall_ms = 43'200'000,
                                         .max_named = 32}));
    EXPECT_EQ(children_of(children_section(
                  R"({"max_depth": 1, "max_alive": 2, "max_tree_alive": 3, "max_tree_tokens": 4,
                      "max_tree_wall_ms": 5, "max_named": 6})")),
              (Children{.max_depth = 1,
                        .max_alive = 2,
                        .max_tree_alive = 3,
                        .max_tree_tokens = 4,
                        .max_tree_wall_ms = 5,
                        .max_named = 6}));
}

TEST(ChildrenSection, RefusesLimitsThatMeanNothing) {
    for (const auto* member : {"max_depth", "max_alive", "max_tree_alive", "max_tree_tokens",
                               "max_tree_wall_ms", "max_named"})
        for (const auto* value : {"0", "-1", "9000000000000000000"}) {
            const auto checked =
                check_children(children_section(fmt::format(R"({{"{}": {}}})", member, value)));
            ASSERT_FALSE(checked) << member << value;
            EXPECT_THAT(checked.error().message,
                        testing::HasSubstr(fmt::format("/children/{}", member)));
        }
    EXPECT_FALSE(check_children(children_section(R"({"max_depth": 9})")));
}

}  // namespace
}  // namespace config
