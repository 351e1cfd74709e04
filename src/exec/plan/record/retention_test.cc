#include "exec/plan/record/retention.h"

#include <gmock/gmock.h>

namespace plan {
namespace {

using domain::PlanRunStatus;
using std::chrono::hours;
using testing::ElementsAre;
using testing::IsEmpty;

const base::Time kNow = base::from_micros(0) + hours(24 * 1000);

KeptRun kept(const std::string& id, int days_ago, std::int64_t bytes = 10) {
    domain::PlanRun run{.run_id = {id}, .status = PlanRunStatus::Succeeded};
    run.ended_at = kNow - hours(24 * days_ago);
    return {.run = std::move(run), .bytes = bytes};
}

std::vector<std::string> removed(const Retention& retention, std::vector<KeptRun> runs,
                                 std::int64_t others = 0) {
    Totals totals{.runs = std::ssize(runs) + others, .bytes = 0};
    for (const auto& run : runs) totals.bytes += run.bytes;
    std::vector<std::string> ids;
    for (const auto& one : expired(runs, retention, totals, kNow))
        ids.push_back(one.run.run_id.value);
    return ids;
}

TEST(PlanRetention, RemovesByAgeThenFromTheOldestByNumberAndRoom) {
    const std::vector<KeptRun> runs{kept("a", 100), kept("b", 50, 500), kept("c", 20),
                                    kept("d", 1)};
    EXPECT_THAT(removed({}, runs), IsEmpty());
    EXPECT_THAT(removed({.max_age = hours(24 * 90)}, runs), ElementsAre("a"));
    EXPECT_THAT(removed({.max_age = hours(24 * 100)}, runs), IsEmpty()) << "not yet over it";
    EXPECT_THAT(removed({.max_runs = 2}, runs), ElementsAre("a", "b"));
    EXPECT_THAT(removed({.max_runs = 4}, runs, 1), ElementsAre("a")) << "all runs count";
    EXPECT_THAT(removed({.max_bytes = 520}, runs), ElementsAre("a"));
    EXPECT_THAT(removed({.max_bytes = 519}, runs), ElementsAre("a", "b"));
    EXPECT_THAT(removed({.max_age = hours(24 * 90), .max_runs = 3, .max_bytes = 1000}, runs),
                ElementsAre("a"))
        << "one that goes for its age makes room";
}

TEST(PlanRetention, KeepsWhatIsOpenResumableOrAnActionsOrigin) {
    auto run = kept("a", 999).run;
    EXPECT_FALSE(is_needed(run, {}, kNow));
    const std::vector<domain::PlanAction> actions{{.name = "n", .saved_from = domain::RunId{"a"}}};
    EXPECT_TRUE(is_needed(run, actions, kNow));
    run.approval = domain::PlanApproval{.expires_at = kNow + hours(1)};
    EXPECT_FALSE(is_needed(run, {}, kNow)) << "it has succeeded";
    run.status = PlanRunStatus::Failed;
    EXPECT_TRUE(is_needed(run, {}, kNow));
    run.approval->expires_at = kNow;
    EXPECT_FALSE(is_needed(run, {}, kNow));
    for (const auto open : {PlanRunStatus::AwaitingApproval, PlanRunStatus::Running}) {
        run.status = open;
        EXPECT_TRUE(is_needed(run, {}, kNow));
    }
}

}  // namespace
}  // namespace plan
