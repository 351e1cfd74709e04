#include "exec/plan/run/revert.h"

#include <map>

#include <gmock/gmock.h>

namespace plan {
namespace {

using domain::PlanRecordKind;
using testing::ElementsAre;

domain::PlanRecord call(const std::string& id) {
    return {.kind = PlanRecordKind::Call, .line = base::json_text(json::object{{"callId", id}})};
}

// `undo` has "action path" for each thing that the call did.
domain::PlanRecord result(const std::string& id, const std::vector<std::string>& undo) {
    json::array list;
    for (const auto& entry : undo) {
        const auto blank = entry.find(' ');
        list.push_back({{"action", entry.substr(0, blank)}, {"path", entry.substr(blank + 1)}});
    }
    return {.kind = PlanRecordKind::Result,
            .line = base::json_text(json::object{
                {"callId", id}, {"stepId", "s"}, {"data", {{"undo", std::move(list)}}}})};
}

std::vector<std::string> reverted(const std::vector<domain::PlanRecord>& records) {
    std::vector<std::string> list;
    const auto plan = revert_plan({}, records).value().value();
    for (const auto& step : plan.at("steps").as_array())
        list.push_back(base::string_at(step.at("args"), "action") + " " +
                       base::string_at(step.at("args"), "path"));
    return list;
}

TEST(Revert, TakesBackTheLastChangeFirst) {
    EXPECT_THAT(reverted({call("a"), result("a", {"mkdir n", "create n/x"}), call("b"),
                          result("b", {"modify n/x", "rename n/y"})}),
                ElementsAre("rename n/y", "modify n/x", "create n/x", "mkdir n"));
}

TEST(Revert, AFolderThatCallsSideBySideFilledGoesWhenItIsEmpty) {
    // The second ended first, in the folder that the first had made.
    EXPECT_THAT(reverted({call("a"), call("b"), result("b", {"create n/b"}),
                          result("a", {"mkdir n", "create n/a"})}),
                ElementsAre("create n/a", "create n/b", "mkdir n"));
    EXPECT_THAT(
        reverted({call("a"), call("b"), call("c"), result("c", {"create n/m/c", "create no"}),
                  result("b", {"mkdir n/m", "create n/m/b"}), result("a", {"mkdir n"})}),
        ElementsAre("create n/m/b", "create no", "create n/m/c", "mkdir n/m", "mkdir n"));
}

// A folder of the same name that was there before is another one.
TEST(Revert, AFolderThatWasMadeAgainIsTakenBackInItsPlace) {
    EXPECT_THAT(reverted({call("a"), result("a", {"mkdir n", "create n/x"}), call("b"),
                          result("b", {"delete n"}), call("c"), result("c", {"mkdir n"})}),
                ElementsAre("mkdir n", "delete n", "create n/x", "mkdir n"));
}

// "before>after path": the journal has results in the order in which calls ended, not in which they
// changed the file.
domain::PlanRecord appended(const std::string& id, const std::string& path,
                            const std::string& before, const std::string& after) {
    return {.kind = PlanRecordKind::Result,
            .line = base::json_text(
                json::object{{"callId", id},
                             {"stepId", "s"},
                             {"data",
                              {{"undo", json::array{json::object{{"action", "modify"},
                                                                 {"path", path},
                                                                 {"beforeEtag", before},
                                                                 {"afterEtag", after}}}}}}})};
}

TEST(Revert, ChangesOfOneFileByCallsSideBySideAreTakenBackInTheirOrder) {
    const std::vector<domain::PlanRecord> records{call("a"),
                                                  call("b"),
                                                  call("c"),
                                                  appended("b", "n", "1", "2"),
                                                  appended("c", "n", "2", "3"),
                                                  call("d"),
                                                  appended("a", "n", "0", "1"),
                                                  appended("d", "n", "3", "4")};
    const auto plan = revert_plan({}, records).value().value();
    std::string order;
    for (const auto& step : plan.at("steps").as_array())
        order += base::string_at(step.at("args"), "afterEtag");
    EXPECT_EQ(order, "4321");
}

std::string order_of(const std::vector<domain::PlanRecord>& records) {
    std::string order;
    const auto plan = revert_plan({}, records).value().value();
    for (const auto& step : plan.at("steps").as_array())
        order += base::string_at(step.at("args"), "afterEtag");
    return order;
}

// The second change waits for the first, whose call ended late; the third began when the second was
// over, so it waits as well.
TEST(Revert, AChangeThatFollowsOneThatWaitsIsTakenBackBeforeIt) {
    EXPECT_EQ(order_of({call("a"), call("b"), appended("b", "n", "1", "2"), call("c"),
                        appended("c", "n", "2", "3"), call("d"), appended("a", "n", "0", "1"),
                        appended("d", "n", "3", "4")}),
              "4321");
}

TEST(Revert, TheOrderOfAnyOverlapOfCallsIsFound) {
    // Calls change the file in turn; each ends up to four changes later, and one that ended is
    // followed by another.
    for (std::uint32_t seed = 1; seed <= 200; ++seed) {
        std::uint32_t random = seed;
        const auto pick = [&](std::uint32_t below) {
            random = random * 1664525 + 1013904223;
            return (random >> 16U) % below;
        };
        std::vector<domain::PlanRecord> records;
        std::vector<int> running, changed;
        int begun = 0, changes = 0, ended = 0;
        constexpr int kCalls = 40;
        const auto id = [](int number) { return "c" + std::to_string(number); };
        const auto etag = [](int number) {
            return std::string(1, static_cast<char>('0' + number));
        };
        std::map<int, int> found;  // What a call found, by its number.
        while (ended < kCalls) {
            const auto choice = pick(3);
            if (choice == 0 && begun < kCalls && running.size() + changed.size() < 4) {
                records.push_back(call(id(begun)));
                running.push_back(begun++);
            } else if (choice == 1 && !running.empty()) {
                const auto at = pick(static_cast<std::uint32_t>(running.size()));
                found[running[at]] = changes++;
                changed.push_back(running[at]);
                running.erase(running.begin() + at);
            } else if (choice == 2 && !changed.empty()) {
                const auto at = pick(static_cast<std::uint32_t>(changed.size()));
                const int one = changed[at];
                records.push_back(appended(id(one), "n", etag(found[one]), etag(found[one] + 1)));
                changed.erase(changed.begin() + at);
                ++ended;
            }
        }
        std::string expected;
        for (int change = kCalls; change >= 1; --change) expected += etag(change);
        ASSERT_EQ(order_of(records), expected) << "seed " << seed;
    }
}

TEST(Revert, CoversACallOfUnknownOutcome) {
    const json::object details{
        {"outcome", "unknown"},
        {"undo", json::array{json::object{{"action", "create"}, {"path", "n"}}}}};
    const domain::PlanRecord unknown{
        .kind = PlanRecordKind::Result,
        .line = base::json_text(
            json::object{{"callId", "a"}, {"stepId", "s"}, {"error", {{"details", details}}}})};
    EXPECT_THAT(reverted({call("a"), unknown}), ElementsAre("create n"));
}

}  // namespace
}  // namespace plan
