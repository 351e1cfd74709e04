// The lines that a run leaves, as somebody reads them who has the contract and not our codec.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/os/files.h"
#include "base/text.h"
#include "tests/plans/world.h"

namespace plans_test {
namespace {

using testing::MatchesRegex;
using testing::UnorderedElementsAre;

constexpr const char* kUuid = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}";
constexpr const char* kHash = "sha256:[0-9a-f]{64}";
constexpr const char* kTime = "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]+Z";

json::object plan_of(json::array steps) {
    return {
        {"version", "1.0"}, {"goal", "Show"}, {"riskLevel", "writes"}, {"steps", std::move(steps)}};
}

class PlanWire : public testing::Test {
protected:
    std::string create(const json::object& plan) {
        Life life(world);
        const auto created = life.plans().create({.text = base::json_text(plan)}).value();
        CHECK(created.run.has_value(), "the plan is good");
        return created.run->run_id.value;
    }
    std::string run(const json::object& plan, sim::FaultPlan fault = {}) {
        const std::string id = create(plan);
        CHECK(Life(world).plans().approve(id, "ada", std::chrono::hours(24)).has_value(), "");
        try {
            (void)Life(world, fault).plans().execute(id);
        } catch (const sim::Crash&) {
            (void)Life(world).plans().execute(id);
        }
        return id;
    }
    std::vector<json::object> lines(const std::string& run, const char* file) const {
        std::vector<json::object> list;
        const auto text = base::read_file(world.home() / "plans" / run / file, 1 << 24).value();
        for (const auto line : base::split_lines(text))
            list.push_back(json::parse(line).get_object());
        return list;
    }

    World world;
};

std::vector<std::string> names(const json::value& object) {
    std::vector<std::string> list;
    for (const auto& member : object.get_object())
        list.emplace_back(std::string_view(member.key()));
    return list;
}
std::string text(const json::object& line, std::string_view name) {
    return std::string(line.at(name).as_string());
}
std::string later(const std::string& time, std::chrono::milliseconds by) {
    return base::to_text(base::parse_time(time).value() + by);
}

// contract: CALL-01, CALL-03, CALL-04, CALL-05, CALL-06, CALL-07
TEST_F(PlanWire, ACallHasTheMembersOfTheContractUnderTheirNames) {
    json::object each{{"id", "each"},
                      {"tool", "test.write"},
                      {"foreach", {{"from", "$steps.list.items"}, {"itemName", "note"}}},
                      {"args", {{"path", "{note.name}.md"}, {"content", "x"}}},
                      {"timeoutMs", 1500}};
    const std::string id =
        run(plan_of({{{"id", "list"}, {"tool", "test.list"}, {"args", {{"count", 2}}}}, each}));
    const auto calls = lines(id, "calls.jsonl");
    ASSERT_EQ(calls.size(), 3U);
    EXPECT_THAT(
        names(calls[0]),
        UnorderedElementsAre("seq", "callId", "runId", "stepId", "tool", "attempt", "args",
                             "argsHash", "timeoutMs", "deadlineAt", "cancellable", "idempotencyKey",
                             "createdAt", "executorVersion", "toolRegistryVersion", "preview",
                             "riskLevel", "category", "policy", "confirmationId", "hash"));
    const auto& one = calls[1];
    for (const char* name : {"iteration", "loopId", "timeoutMs", "deadlineAt"})
        EXPECT_TRUE(one.contains(name)) << name;
    std::set<std::string> ids;
    for (const auto& call : calls) {
        EXPECT_THAT(text(call, "callId"), MatchesRegex(kUuid));
        EXPECT_TRUE(ids.insert(text(call, "callId")).second);
        EXPECT_EQ(text(call, "runId"), id);
        EXPECT_EQ(call.at("attempt"), json::value(1));
        EXPECT_TRUE(call.at("cancellable").is_bool());
        EXPECT_THAT(text(call, "argsHash"), MatchesRegex(kHash));
        EXPECT_THAT(text(call, "createdAt"), MatchesRegex(kTime));
        EXPECT_THAT(text(call, "deadlineAt"), MatchesRegex(kTime));
    }
    EXPECT_EQ(text(one, "stepId"), "each");
    EXPECT_EQ(text(one, "tool"), "test.write");
    EXPECT_EQ(one.at("args"), json::value({{"path", "note 0.md"}, {"content", "x"}}));
    EXPECT_EQ(one.at("timeoutMs"), json::value(1500));
    EXPECT_EQ(text(one, "deadlineAt"),
              later(text(one, "createdAt"), std::chrono::milliseconds(1500)));
    EXPECT_EQ(one.at("iteration"), json::value({{"index", 0},
                                                {"itemName", "note"},
                                                {"itemValue", {{"n", 0}, {"name", "note 0"}}}}));
    EXPECT_EQ(text(one, "loopId"), text(calls[2], "loopId"));
    EXPECT_EQ(text(calls[0], "riskLevel"), "read-only");
    EXPECT_EQ(text(one, "riskLevel"), "writes");
    EXPECT_THAT(text(one, "confirmationId"), MatchesRegex(kUuid));
    const auto& policy = one.at("policy");
    EXPECT_THAT(names(policy), UnorderedElementsAre("confirmationsRequired", "sandbox", "limits"));
    EXPECT_THAT(names(policy.at("sandbox")),
                UnorderedElementsAre("enabled", "allowedRoots", "denyPatterns"));
    EXPECT_TRUE(policy.at("limits").at("maxConcurrency").is_int64());
}

// contract: RES-01, RES-04, RES-05, RES-06
TEST_F(PlanWire, AResultHasTheMembersOfTheContractUnderTheirNames) {
    world.put("old.md", "one");
    world.put("away.md", "two");
    world.put("from.md", "three");
    const auto step = [](std::string_view id, std::string_view tool, json::object args) {
        return json::object{
            {"id", id}, {"tool", tool}, {"args", std::move(args)}, {"onError", "skip"}};
    };
    const std::string id =
        run(plan_of({step("new", "test.write", {{"path", "new.md"}, {"content", "x"}}),
                     step("change", "test.write", {{"path", "old.md"}, {"content", "x"}}),
                     step("away", "test.remove", {{"path", "away.md"}}),
                     step("move", "test.move", {{"from", "from.md"}, {"to", "to.md"}}),
                     step("slow", "test.slow", {{"ms", 40}}),
                     step("bad", "test.fail", {{"code", "CONFLICT"}, {"retryable", false}})}));
    std::map<std::string, json::object> by_step;
    for (auto& line : lines(id, "results.jsonl")) by_step[text(line, "stepId")] = line;
    ASSERT_EQ(by_step.size(), 6U);
    for (const auto& call : lines(id, "calls.jsonl"))
        for (const char* name : {"callId", "runId", "stepId", "tool", "attempt"})
            EXPECT_EQ(by_step[text(call, "stepId")].at(name), call.at(name)) << name;

    EXPECT_THAT(
        names(by_step["new"]),
        UnorderedElementsAre("seq", "callId", "runId", "stepId", "tool", "attempt", "status", "ok",
                             "data", "dataHash", "startedAt", "endedAt", "durationMs", "effects",
                             "userMessage", "debugMessage", "hash"));
    const auto& slow = by_step["slow"];
    EXPECT_THAT(text(slow, "startedAt"), MatchesRegex(kTime));
    EXPECT_EQ(slow.at("durationMs"), json::value(40));
    EXPECT_EQ(text(slow, "endedAt"), later(text(slow, "startedAt"), std::chrono::milliseconds(40)));

    const auto effects = [&](const char* of) { return by_step[of].at("effects"); };
    const auto file = [](const char* path) {
        return json::object{{"path", path}, {"kind", "file"}};
    };
    EXPECT_EQ(effects("new"), json::value({{"sideEffectsObserved", json::array{"create-file"}},
                                           {"created", json::array{file("new.md")}}}));
    const auto change = effects("change").at("modified").at(0);
    EXPECT_THAT(names(change), UnorderedElementsAre("path", "kind", "beforeEtag", "afterEtag"));
    EXPECT_NE(change.at("beforeEtag"), change.at("afterEtag"));
    auto away = file("away.md");
    away["trashed"] = false;
    EXPECT_EQ(effects("away").at("deleted"), json::value(json::array{away}));
    EXPECT_EQ(effects("move").at("renamed"),
              json::value(json::array{json::object{{"from", "from.md"}, {"to", "to.md"}}}));

    const auto& bad = by_step["bad"];
    EXPECT_EQ(text(bad, "status"), "error");
    EXPECT_EQ(bad.at("ok"), json::value(false));
    EXPECT_FALSE(bad.contains("data"));
    EXPECT_EQ(bad.at("error").at("code"), json::value("CONFLICT"));
    EXPECT_EQ(bad.at("error").at("message"), json::value("It failed as it was told to."));
    for (const auto& name : names(bad.at("error")))
        EXPECT_THAT(name, testing::AnyOf("code", "message", "details", "retryable"));
}

// contract: XEVT-01, XEVT-02
TEST_F(PlanWire, AnEventHasTheMembersOfTheContractUnderTheirNames) {
    const json::object echo{{"id", "a"}, {"tool", "test.echo"}, {"args", {{"n", 1}}}};
    const json::object bad{{"id", "b"}, {"tool", "test.fail"}, {"args", json::object()}};
    const json::object mark{{"id", "c"}, {"tool", "test.mark"}, {"args", json::object()}};
    const std::string failed = run(plan_of({echo, bad, mark}));
    const std::string resumed = run(plan_of({echo, mark}), {sim::Fault::CrashAfterCommit, 1});
    const std::string cancelled = create(plan_of({mark}));
    ASSERT_TRUE(Life(world).plans().cancel(cancelled, "no"));

    std::set<std::string> types;
    std::set<std::string> levels;
    for (const auto& id : {failed, resumed, cancelled})
        for (const auto& event : lines(id, "events.jsonl")) {
            SCOPED_TRACE(json::serialize(event));
            types.insert(text(event, "type"));
            levels.insert(text(event, "level"));
            EXPECT_EQ(text(event, "runId"), id);
            EXPECT_THAT(text(event, "timestamp"), MatchesRegex(kTime));
            EXPECT_NE(text(event, "message"), "");
            EXPECT_THAT(names(event), testing::IsSubsetOf({"seq", "type", "runId", "timestamp",
                                                           "level", "message", "callId", "stepId",
                                                           "tool", "payload", "hash"}));
            if (event.contains("payload")) EXPECT_TRUE(event.at("payload").is_object());
            const bool is_of_a_call =
                text(event, "type") == "step.started" || text(event, "type") == "step.finished" ||
                text(event, "type") == "step.failed" || text(event, "type") == "step.progress";
            if (!is_of_a_call) continue;
            EXPECT_THAT(text(event, "callId"), MatchesRegex(kUuid));
            EXPECT_THAT(text(event, "stepId"), testing::AnyOf("a", "b", "c"));
            EXPECT_THAT(text(event, "tool"), testing::StartsWith("test."));
        }
    EXPECT_THAT(types, UnorderedElementsAre("run.started", "run.confirmationRequested",
                                            "run.confirmed", "run.cancelled", "step.scheduled",
                                            "step.started", "step.progress", "step.finished",
                                            "step.failed", "run.finished"));
    EXPECT_THAT(levels, UnorderedElementsAre("info", "warn", "error"));
}

}  // namespace
}  // namespace plans_test
