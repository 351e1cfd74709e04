#include "agent/work/decide.h"

#include <gmock/gmock.h>

namespace work {
namespace {

using domain::PlanStatus;
using domain::TodoState;
using domain::WaitKind;
using domain::WaitStatus;
using domain::WorkItem;
using domain::WorkItemState;
using domain::WorkReadiness;
using testing::HasSubstr;
using namespace std::chrono_literals;

constexpr base::Time kThen = base::Time(std::chrono::seconds(1'000));
constexpr base::Time kNow = base::Time(std::chrono::seconds(2'000));

WorkItem item(WorkItemState state = WorkItemState::Open, PlanStatus plan = PlanStatus::Ready,
              std::optional<std::string> blocked_by = std::nullopt) {
    return {.id = {"work_1"},
            .agent_id = {"main"},
            .workspace_id = "agent_home",
            .objective = "ship it",
            .state = state,
            .plan_status = plan,
            .blocked_by = std::move(blocked_by),
            .created_at = kThen,
            .updated_at = kThen};
}

WorkItem blocked() {
    auto made = item(WorkItemState::Open, PlanStatus::Ready, "CI");
    made.recheck_at = kThen + 1min;
    return made;
}

// Every combination of the five inputs, and the one that decides.
// contract: WORK-13, WORK-14, WORK-15, WORK-16, WORK-17, WORK-18, WORK-19
TEST(WorkReadiness, IsDecidedByTheFirstInputThatApplies) {
    for (const auto state : {WorkItemState::Open, WorkItemState::Completed})
        for (const auto plan : {PlanStatus::Draft, PlanStatus::Ready, PlanStatus::NeedsInput})
            for (const bool has_blocker : {false, true})
                for (const bool task : {false, true})
                    for (const bool external : {false, true}) {
                        const auto made =
                            item(state, plan,
                                 has_blocker ? std::optional<std::string>("x") : std::nullopt);
                        const auto expected =
                            state == WorkItemState::Completed ? SchedulingState::Completed
                            : plan == PlanStatus::NeedsInput  ? SchedulingState::WaitingOperator
                            : task                            ? SchedulingState::WaitingTask
                            : external                        ? SchedulingState::WaitingExternal
                            : has_blocker                     ? SchedulingState::Blocked
                                                              : SchedulingState::Runnable;
                        EXPECT_EQ(scheduling_state(made, {task, external}), expected);
                    }
    EXPECT_EQ(label_of(SchedulingState::Runnable), WorkReadiness::Runnable);
    EXPECT_EQ(label_of(SchedulingState::WaitingOperator), WorkReadiness::WaitingForOperator);
    for (const auto state :
         {SchedulingState::WaitingTask, SchedulingState::WaitingExternal, SchedulingState::Blocked})
        EXPECT_EQ(label_of(state), WorkReadiness::Blocked);
    EXPECT_EQ(label_of(SchedulingState::Completed), WorkReadiness::Completed);
}

TEST(WorkReadiness, SeesOnlyActiveWaitsOfItsOwnItem) {
    std::vector<domain::Wait> waits;
    const auto add = [&](WaitKind kind, WaitStatus status, const char* of) {
        waits.push_back({.kind = kind, .status = status, .work_item_id = domain::WorkItemId{of}});
    };
    add(WaitKind::Task, WaitStatus::Resolved, "work_1");
    add(WaitKind::External, WaitStatus::Active, "work_2");
    waits.push_back({.kind = WaitKind::Task, .status = WaitStatus::Active});
    EXPECT_FALSE(active_waits({"work_1"}, waits).task);
    EXPECT_FALSE(active_waits({"work_1"}, waits).external);
    add(WaitKind::Task, WaitStatus::Active, "work_1");
    EXPECT_TRUE(active_waits({"work_1"}, waits).task);
    add(WaitKind::External, WaitStatus::Active, "work_1");
    EXPECT_TRUE(active_waits({"work_1"}, waits).external);
}

// contract: WORK-10, WORK-11, WORK-12
TEST(WorkFocus, IsAViewOfTheItemAndWhetherItIsCurrent) {
    const auto done = item(WorkItemState::Completed);
    EXPECT_EQ(focus_of(item(), true), Focus::Current);
    EXPECT_EQ(focus_of(blocked(), true), Focus::Current);
    EXPECT_EQ(focus_of(item(), false), Focus::Queued);
    EXPECT_EQ(focus_of(blocked(), false), Focus::Blocked);
    EXPECT_EQ(focus_of(done, false), Focus::Completed);
    EXPECT_EQ(focus_of(done, true), Focus::Completed);
}

TEST(WorkCreate, StartsOpenAndKeepsOnlyAWeakerTrust) {
    NewItem made{.id = {"w"}, .agent_id = {"main"}, .objective = "o", .trust = {}};
    made.trust = domain::TrustLevel::TrustedOperator;
    const auto own = create(made, kNow);
    EXPECT_EQ(own.state, WorkItemState::Open);
    EXPECT_EQ(own.plan_status, PlanStatus::Draft);
    EXPECT_EQ(own.revision, 1);
    EXPECT_EQ(own.trust, std::nullopt);
    made.trust = domain::TrustLevel::UntrustedExternal;
    EXPECT_EQ(create(made, kNow).trust, domain::TrustLevel::UntrustedExternal);
}

// contract: WORK-59, WORK-60, WORK-61, WORK-66
TEST(WorkUpdate, ChangesOnlyWhatIsGiven) {
    auto before = blocked();
    before.todo_list = {{"a", TodoState::Pending}, {"b", TodoState::Completed}};
    const auto touched = [&](auto fill) {
        auto expected = before;
        fill(expected);
        ++expected.revision;
        expected.updated_at = kNow;
        return expected;
    };
    EXPECT_EQ(update(before, {.id = before.id, .objective = "other"}, kNow).item,
              touched([](auto& next) { next.objective = "other"; }));
    EXPECT_EQ(update(before, {.id = before.id, .plan_status = PlanStatus::Draft}, kNow).item,
              touched([](auto& next) { next.plan_status = PlanStatus::Draft; }));
    const std::vector<domain::TodoItem> one{{"c", TodoState::InProgress}};
    EXPECT_EQ(update(before, {.id = before.id, .todo_list = one}, kNow).item,
              touched([&](auto& next) { next.todo_list = one; }));
    const auto nothing = update(before, {.id = before.id}, kNow);
    EXPECT_FALSE(nothing.is_written);
    EXPECT_EQ(nothing.item, before);
    EXPECT_EQ(nothing.releases_focus, std::nullopt);
}

// contract: WORK-62, WORK-64, WORK-65, WORK-67
TEST(WorkUpdate, ABlockerBringsItsReminderAndTakesItAway) {
    const auto set = update(item(), {.id = {"work_1"}, .blocked_by = "CI"}, kNow);
    EXPECT_EQ(set.item.blocked_by, "CI");
    EXPECT_EQ(set.item.recheck_at, kNow + kRecheckDefault);
    EXPECT_EQ(set.releases_focus, "work_item_blocked");
    const auto soon =
        update(item(), {.id = {"work_1"}, .blocked_by = "CI", .recheck_after_ms = 60'000}, kNow);
    EXPECT_EQ(soon.item.recheck_at, kNow + 1min);

    auto consumed = blocked();
    consumed.recheck_consumed_at = kNow;
    consumed.turns_without_progress = 2;
    const auto again = update(consumed, {.id = {"work_1"}, .blocked_by = "review"}, kNow);
    EXPECT_EQ(again.item.recheck_consumed_at, std::nullopt);
    const auto cleared = update(consumed, {.id = {"work_1"}, .blocked_by = ""}, kNow);
    EXPECT_EQ(cleared.item.blocked_by, std::nullopt);
    EXPECT_EQ(cleared.item.recheck_at, std::nullopt);
    EXPECT_EQ(cleared.item.recheck_consumed_at, std::nullopt);
    EXPECT_EQ(cleared.item.turns_without_progress, 0);
    EXPECT_EQ(cleared.releases_focus, std::nullopt);
}

TEST(WorkUpdate, AQuestionToTheOperatorReleasesFocus) {
    const auto asked =
        update(item(), {.id = {"work_1"}, .plan_status = PlanStatus::NeedsInput}, kNow);
    EXPECT_EQ(asked.releases_focus, "work_item_needs_input");
}

TEST(WorkUpdate, KeepsTheWeakestTrustOfItsAuthors) {
    Update change{.id = {"work_1"}, .objective = "x"};
    change.trust = domain::TrustLevel::UntrustedExternal;
    const auto tainted = update(item(), change, kNow).item;
    EXPECT_EQ(tainted.trust, domain::TrustLevel::UntrustedExternal);
    change.trust = domain::TrustLevel::TrustedOperator;
    EXPECT_EQ(update(tainted, change, kNow).item.trust, domain::TrustLevel::UntrustedExternal);
}

// contract: WORK-72
TEST(WorkComplete, EndsWhatBlockedItAndHappensOnce) {
    auto before = blocked();
    before.recheck_consumed_at = kNow;
    const auto done = complete(before, {.id = before.id}, kNow);
    EXPECT_TRUE(done.is_written);
    EXPECT_EQ(done.item.state, WorkItemState::Completed);
    EXPECT_EQ(done.item.blocked_by, std::nullopt);
    EXPECT_EQ(done.item.recheck_at, std::nullopt);
    EXPECT_EQ(done.item.recheck_consumed_at, std::nullopt);
    EXPECT_EQ(done.releases_focus, "work_item_completed");
    const auto again = complete(done.item, {.id = before.id}, kNow + 1s);
    EXPECT_FALSE(again.is_written);
    EXPECT_EQ(again.item, done.item);
}

TEST(WorkRefusal, NamesUnknownForeignAndCompletedItems) {
    EXPECT_EQ(may_change(item(), {"work_1"}, {"main"}), std::nullopt);
    EXPECT_EQ(may_change(std::nullopt, {"x"}, {"main"})->kind, "unknown_work_item");
    EXPECT_EQ(may_change(item(), {"work_1"}, {"other"})->kind, "unknown_work_item");
    EXPECT_EQ(may_change(item(WorkItemState::Completed), {"work_1"}, {"main"})->kind,
              "work_item_completed");
}

// contract: WORK-46, WORK-63
TEST(WorkRefusal, NamesTheFieldThatIsOutOfBounds) {
    const auto field = [](const Update& change) {
        const auto refusal = check(change);
        return refusal ? refusal->field : "";
    };
    EXPECT_EQ(check(NewItem{.objective = " \n"})->field, "objective");
    EXPECT_EQ(check(NewItem{.objective = std::string(kObjectiveCharsMax + 1, 'x')})->field,
              "objective");
    EXPECT_EQ(check(NewItem{.objective = "o", .todo_list = {{" ", {}}}})->field, "todo_list");
    EXPECT_EQ(check(NewItem{.objective = "o",
                            .todo_list = std::vector<domain::TodoItem>(kTodosMax + 1, {"x", {}})})
                  ->field,
              "todo_list");
    EXPECT_EQ(check(NewItem{.objective = "o"}), std::nullopt);
    EXPECT_EQ(field({.objective = ""}), "objective");
    EXPECT_EQ(field({.blocked_by = std::string(kBlockerCharsMax + 1, 'x')}), "blocked_by");
    EXPECT_EQ(field({.recheck_after_ms = 5}), "recheck_after");
    EXPECT_EQ(field({.blocked_by = "", .recheck_after_ms = 5}), "recheck_after");
    EXPECT_EQ(field({.blocked_by = "x", .recheck_after_ms = 0}), "recheck_after");
    EXPECT_EQ(field({.blocked_by = "x", .recheck_after_ms = -1}), "recheck_after");
    EXPECT_EQ(field({.blocked_by = "x", .recheck_after_ms = kRecheckMsMax + 1}), "recheck_after");
    EXPECT_EQ(field({.blocked_by = "x", .recheck_after_ms = 1}), "");
}

TEST(WorkTransition, SaysHowFocusMoved) {
    auto other = item();
    other.id = {"work_2"};
    EXPECT_EQ(transition(std::nullopt, item(), std::nullopt).switch_kind, "same_work_item");
    EXPECT_EQ(transition(item(), item(), std::nullopt).switch_kind, "same_work_item");
    const auto overridden = transition(item(), other, std::nullopt);
    EXPECT_EQ(overridden.switch_kind, "explicit_focus_override");
    EXPECT_TRUE(overridden.lacks_reason);
    EXPECT_EQ(overridden.current_focus_mode, "runnable");
    EXPECT_FALSE(transition(item(), other, "urgent").lacks_reason);
    const auto picked = transition(blocked(), other, std::nullopt);
    EXPECT_EQ(picked.switch_kind, "explicit_focus_pick");
    EXPECT_FALSE(picked.lacks_reason);
    EXPECT_EQ(transition(std::nullopt, blocked(), std::nullopt).current_focus_mode, "inspection");
}

// Every combination of what the focus is, what is queued, and whether work is held back.
// contract: WORK-25, WORK-115, WORK-116, WORK-117, WORK-118, CLOSE-07
TEST(WorkActivation, ContinuesTheFocusElseTheQueueAndHoldsBackWhatDidNotChange) {
    const auto waiting = item(WorkItemState::Open, PlanStatus::NeedsInput);
    const auto done = item(WorkItemState::Completed);
    auto queued = item();
    queued.id = {"work_2"};
    const std::vector<std::optional<WorkItem>> focuses{std::nullopt, item(), blocked(), waiting,
                                                       done};
    for (const auto& focus : focuses)
        for (const bool has_queued : {false, true})
            for (const auto held_since :
                 {std::optional<base::Time>(), std::optional(kThen - 1s), std::optional(kThen)}) {
                const bool is_held = held_since == kThen;
                const auto signal =
                    activation({.current = focus,
                                .queued = has_queued ? std::optional(queued) : std::nullopt,
                                .held_since = held_since});
                const bool is_runnable = focus && readiness_of(*focus) == WorkReadiness::Runnable;
                if (is_held || (!is_runnable && !has_queued)) {
                    EXPECT_EQ(signal, std::nullopt);
                    continue;
                }
                ASSERT_TRUE(signal);
                EXPECT_EQ(signal->work_item_id.value, is_runnable ? "work_1" : "work_2");
                EXPECT_EQ(signal->reactivation_mode,
                          is_runnable ? domain::ReactivationMode::ContinueActive
                                      : domain::ReactivationMode::ActivateQueued);
                EXPECT_EQ(signal->status, is_runnable ? domain::WorkSignalStatus::Active
                                                      : domain::WorkSignalStatus::Queued);
            }
}

// contract: WORK-20, WORK-22, WORK-23, WORK-24
TEST(WorkRecheck, FiresOnceAndLeavesTheBlockerAlone) {
    const auto before = blocked();
    EXPECT_FALSE(is_recheck_due(before, *before.recheck_at - 1us));
    EXPECT_TRUE(is_recheck_due(before, *before.recheck_at));
    const auto after = consume_recheck(before, kNow);
    EXPECT_FALSE(is_recheck_due(after, kNow + 1h));
    EXPECT_EQ(after.blocked_by, before.blocked_by);
    EXPECT_EQ(after.recheck_at, before.recheck_at);
    EXPECT_EQ(scheduling_state(after, {}), SchedulingState::Blocked);
    auto unblocked = before;
    unblocked.blocked_by.reset();
    EXPECT_FALSE(is_recheck_due(unblocked, kNow));
    auto done = before;
    done.state = WorkItemState::Completed;
    EXPECT_FALSE(is_recheck_due(done, kNow));
}

TurnEnd ended(std::string digest = "", bool by_runtime = true) {
    return {.is_completed = true,
            .was_started_for_it = by_runtime,
            .progress_digest = std::move(digest)};
}

// contract: WORK-110, WORK-112
TEST(WorkTurnEnd, LeavesAnItemOpenThatNobodyCompletedOrBlocked) {
    const auto settled = settle(item(), ended("calls"), kNow);
    EXPECT_FALSE(settled.is_written);
    EXPECT_EQ(settled.item.state, WorkItemState::Open);
    EXPECT_EQ(settled.item.blocked_by, std::nullopt);
    EXPECT_EQ(settled.item.updated_at, kThen);
}

TEST(WorkTurnEnd, TouchesNothingThatTheTurnItselfBlocked) {
    auto end = ended();
    end.has_open_task = true;
    for (const auto& before : {blocked(), item(WorkItemState::Open, PlanStatus::NeedsInput)})
        EXPECT_EQ(settle(before, end, kNow).item, before);
    auto failed = end;
    failed.is_completed = false;
    EXPECT_EQ(settle(item(), failed, kNow).item, item());
}

// contract: WORK-111
TEST(WorkTurnEnd, BlocksAnItemWhoseTaskStillRuns) {
    auto end = ended("calls");
    end.has_open_task = true;
    const auto settled = settle(item(), end, kNow);
    EXPECT_TRUE(settled.is_written);
    EXPECT_TRUE(settled.waits_for_task);
    EXPECT_EQ(settled.item.blocked_by, kBlockedByTask);
    EXPECT_EQ(settled.item.revision, 2);
}

TEST(WorkTurnEnd, BlocksAnItemThatMakesNoProgressForSoManyTurns) {
    auto now = item();
    for (std::int64_t turn = 1; turn < kTurnsWithoutProgressMax; ++turn) {
        const auto settled = settle(now, ended(), kNow);
        EXPECT_FALSE(settled.lacks_progress);
        EXPECT_EQ(settled.item.turns_without_progress, turn);
        now = settled.item;
    }
    const auto last = settle(now, ended(), kNow);
    EXPECT_TRUE(last.lacks_progress);
    EXPECT_TRUE(last.is_written);
    EXPECT_THAT(last.item.blocked_by.value(), HasSubstr("no progress in 3 turns"));
}

TEST(WorkTurnEnd, CountsARepetitionAsNoProgressAndNewCallsAsProgress) {
    const auto first = settle(item(), ended("a"), kNow).item;
    EXPECT_EQ(first.turns_without_progress, 0);
    const auto repeated = settle(first, ended("a"), kNow).item;
    EXPECT_EQ(repeated.turns_without_progress, 1);
    EXPECT_EQ(settle(repeated, ended("b"), kNow).item.turns_without_progress, 0);
    // A turn that somebody else asked for says nothing about the item.
    EXPECT_EQ(settle(repeated, ended("", false), kNow).item.turns_without_progress, 1);
}

}  // namespace
}  // namespace work
