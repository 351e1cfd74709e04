#include "flow/retention/decide.h"

#include <gmock/gmock.h>

namespace retention {
namespace {

using base::Time;
using std::chrono::days;
using store::AgedRow;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr Time kNow{std::chrono::sys_days(std::chrono::year(2031) / 6 / 1)};

std::vector<std::int64_t> removable_seqs(const Choice& choice) {
    std::vector<std::int64_t> list;
    for (const auto& row : choice.removable) list.push_back(row.seq);
    return list;
}

TEST(RetentionDecide, HalvesTheAgeDownToTheShortestOneWhileTooMuchDiskIsUsed) {
    const config::Retention set{.max_age_days = 90, .min_age_days = 20, .temporary_agent_days = 30};
    EXPECT_EQ(cut_of(set, kNow, 0), (Cut{kNow - days(90), kNow - days(30), 50}));
    EXPECT_EQ(cut_of(set, kNow, 1)->before, kNow - days(45));
    EXPECT_EQ(cut_of(set, kNow, 2)->before, kNow - days(22));
    EXPECT_EQ(cut_of(set, kNow, 2)->temporary_before, kNow - days(22));
    EXPECT_EQ(cut_of(set, kNow, 3)->before, kNow - days(20));
    EXPECT_EQ(cut_of(set, kNow, 4), std::nullopt);
}

TEST(RetentionDecide, ChoosesWhatIsOldAndNeitherNeededNorPinnedNorAmongTheNewest) {
    const Time old = kNow - days(1);
    const AgedRow rows[] = {{.seq = 1, .at = old},
                            {.seq = 2, .id = "needed", .at = old, .is_needed = true},
                            {.seq = 3, .id = "pinned", .at = old},
                            {.seq = 4, .at = old},
                            {.seq = 5, .at = old}};
    const auto choice = choose(rows, {.before = kNow, .last_seq = 4, .pinned = {"pinned"}}, 9);
    EXPECT_THAT(removable_seqs(choice), ElementsAre(1, 4));
    EXPECT_EQ(choice.next_after, 4);
    EXPECT_TRUE(choice.is_over);
}

TEST(RetentionDecide, EndsAtTheFirstRowThatIsYoungEnough) {
    const AgedRow rows[] = {{.seq = 1, .at = kNow - days(1)},
                            {.seq = 2, .at = kNow, .is_needed = true},
                            {.seq = 3, .at = kNow},
                            {.seq = 4, .at = kNow - days(1)}};
    const auto choice = choose(rows, {.before = kNow, .last_seq = 99}, 4);
    EXPECT_THAT(removable_seqs(choice), ElementsAre(1));
    EXPECT_TRUE(choice.is_over);
}

TEST(RetentionDecide, ContinuesBehindAFullPageOfRowsThatAreNeeded) {
    const AgedRow rows[] = {{.seq = 7, .at = kNow - days(1), .is_needed = true},
                            {.seq = 8, .at = kNow - days(1), .is_needed = true}};
    const auto choice = choose(rows, {.before = kNow, .last_seq = 99}, 2);
    EXPECT_THAT(choice.removable, IsEmpty());
    EXPECT_EQ(choice.next_after, 8);
    EXPECT_FALSE(choice.is_over);
}

TEST(RetentionDecide, ARowThatCannotBeReadIsAsOldAsTheNextThatCan) {
    const AgedRow rows[] = {
        {.seq = 1}, {.seq = 2, .at = kNow - days(1)}, {.seq = 3}, {.seq = 4, .at = kNow}};
    EXPECT_THAT(removable_seqs(choose(rows, {.before = kNow, .last_seq = 99}, 9)),
                ElementsAre(1, 2));
}

}  // namespace
}  // namespace retention
