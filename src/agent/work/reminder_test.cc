#include "agent/work/reminder.h"

#include <gmock/gmock.h>

#include "base/text.h"

namespace work {
namespace {

using testing::HasSubstr;
using testing::Not;

std::vector<std::int64_t> reminded(std::int64_t rounds, const Settings& settings,
                                   std::optional<std::int64_t> wrote_in = {}) {
    domain::Attempt attempt;
    std::vector<std::int64_t> list;
    for (std::int64_t round = 1; round <= rounds; ++round) {
        count_round(attempt, round == wrote_in);
        if (!is_reminder_due(attempt, settings)) continue;
        count_reminder(attempt);
        list.push_back(round + 1);  // The request that has it.
    }
    return list;
}

domain::WorkItem item() {
    domain::WorkItem made{.id = {"work_1"},
                          .objective = "ship it",
                          .plan_status = domain::PlanStatus::Ready,
                          .plan = "the plan"};
    made.todo_list = {{"done already", domain::TodoState::Completed},
                      {"write the test", domain::TodoState::InProgress}};
    made.blocked_by = "the review";
    return made;
}

// contract: WORK-88, WORK-96, WORK-97
TEST(WorkReminder, ComesAfterSoManyRoundsAndThenAfterTheCoolDown) {
    EXPECT_EQ(reminded(30, {}), (std::vector<std::int64_t>{11, 21, 31}));
    EXPECT_EQ(reminded(7, {.reminder_rounds = 3, .reminder_cooldown_rounds = 4}),
              (std::vector<std::int64_t>{4, 8}));
    EXPECT_EQ(reminded(6, {.reminder_rounds = 2}), (std::vector<std::int64_t>{3}));
    EXPECT_EQ(reminded(6, {.reminder_rounds = 5}), (std::vector<std::int64_t>{6}));
}

// contract: WORK-89
TEST(WorkReminder, StartsAnewWhenAWorkItemWasWritten) {
    const Settings settings{.reminder_rounds = 3, .reminder_cooldown_rounds = 100};
    EXPECT_EQ(reminded(5, settings, 2), (std::vector<std::int64_t>{6}));
    EXPECT_EQ(reminded(7, settings, 4), (std::vector<std::int64_t>{4, 8}));
}

// contract: WORK-90, WORK-92, WORK-95
TEST(WorkReminder, SaysWhatTheItemIsAndAsksOnlyForRealChanges) {
    const auto text = reminder_text(item(), 10, {});
    for (const char* part : {"10 rounds", "ship it", "ready", "the plan", "write the test",
                             "the review", "If there was material progress"})
        EXPECT_THAT(text, HasSubstr(part));
    EXPECT_THAT(text, Not(HasSubstr("done already")));
}

// contract: WORK-91, WORK-98
TEST(WorkReminder, StaysWithinItsTokens) {
    auto huge = item();
    huge.objective = std::string(50'000, 'x');
    const auto wide = reminder_text(huge, 10, {});
    EXPECT_LE(base::estimate_tokens(wide), 512U);
    const auto narrow = reminder_text(huge, 10, {.reminder_tokens_max = 100});
    EXPECT_LE(base::estimate_tokens(narrow), 100U);
    EXPECT_LT(narrow.size(), wide.size());
}

}  // namespace
}  // namespace work
