#include "agent/context/plan.h"

#include <gmock/gmock.h>

namespace context {
namespace {

using testing::ElementsAre;

// Of about `tokens` tokens.
Candidate made(std::string name, Tier tier, std::size_t tokens, std::size_t chars_min = 0) {
    return {std::move(name), std::string(4 * tokens, 'x'), tier, chars_min};
}

std::vector<std::string> names(const Plan& plan) {
    std::vector<std::string> list;
    for (const auto& candidate : plan.shown) list.push_back(candidate.name);
    return list;
}

const std::vector<Candidate> kAll{
    made("focus", Tier::Pinned, 10), made("trace", Tier::Optional, 10),
    made("list", Tier::Useful, 10, 16), made("skills", Tier::Important, 10),
    made("input", Tier::Pinned, 10)};

TEST(Plan, ShowsEverythingThatFitsInItsOrder) {
    for (const auto bound : {std::optional<std::int64_t>(), std::optional<std::int64_t>(50)})
        EXPECT_THAT(names(plan(kAll, bound)),
                    ElementsAre("focus", "trace", "list", "skills", "input"));
}

TEST(Plan, LeavesOutTheHighestTierFirstAndShortensBeforeItLeavesOut) {
    const auto some = plan(kAll, 36);
    EXPECT_THAT(names(some), ElementsAre("focus", "list", "skills", "input"));
    EXPECT_THAT(some.decisions,
                ElementsAre(Decision{"focus", Tier::Pinned, Verdict::Shown, 10, 10},
                            Decision{"trace", Tier::Optional, Verdict::LeftOut, 10, 0},
                            Decision{"list", Tier::Useful, Verdict::Shortened, 10, 4},
                            Decision{"skills", Tier::Important, Verdict::Shown, 10, 10},
                            Decision{"input", Tier::Pinned, Verdict::Shown, 10, 10}));
    EXPECT_THAT(names(plan(kAll, 30)), ElementsAre("focus", "skills", "input"));
}

TEST(Plan, NeverLeavesOutWhatIsPinned) {
    EXPECT_THAT(names(plan(kAll, 1)), ElementsAre("focus", "input"));
}

}  // namespace
}  // namespace context
