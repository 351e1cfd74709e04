#include "exec/plan/run/revert.h"

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
