// What a run leaves behind, verified and replayed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/plans/plans_fixture.h"

namespace plans_test {
namespace {

using domain::PlanRunStatus;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

using PlanRecordsTest = PlansTest;

// contract: CONF-03
TEST_F(PlanRecordsTest, VerifyNamesTheFirstBrokenLink) {
    const auto plan = plan_of({write_step("w", "a.md", "x"), write_step("v", "b.md", "y")});
    const std::string good = run(plan);
    EXPECT_EQ(first_fault(good), "");
    EXPECT_EQ(life.plans().verify(good)->approved_calls, 2);

    const std::string edited = run(plan);
    replace(file(edited, "calls.jsonl"), "\"stepId\":\"v\"", "\"stepId\":\"u\"");
    EXPECT_THAT(first_fault(edited), HasSubstr("calls.jsonl line 2"));

    const std::string dropped = run(plan);
    const std::string lines = read(file(dropped, "results.jsonl"));
    write(file(dropped, "results.jsonl"), lines.substr(lines.find('\n') + 1));
    EXPECT_THAT(first_fault(dropped), HasSubstr("is missing before"));

    const std::string cut = run(plan);
    const std::string events = read(file(cut, "events.jsonl"));
    write(file(cut, "events.jsonl"), events.substr(0, events.rfind('\n', events.size() - 2) + 1));
    EXPECT_THAT(first_fault(cut), HasSubstr("run.json names"));

    const std::string doubled = run(plan);
    write(file(doubled, "calls.jsonl"),
          read(file(doubled, "calls.jsonl")) + read(file(doubled, "calls.jsonl")));
    EXPECT_THAT(first_fault(doubled), HasSubstr("is there twice"));

    const std::string replanned = run(plan);
    replace(file(replanned, "run.json"), "\"goal\": \"Tidy\",\n    \"riskLevel\"",
            "\"goal\": \"Tidi\",\n    \"riskLevel\"");
    EXPECT_THAT(first_fault(replanned), HasSubstr("not the one that its planHash names"));

    const std::string swapped = run(plan);
    const std::string calls = read(file(swapped, "calls.jsonl"));
    const auto second = calls.find('\n') + 1;
    write(file(swapped, "calls.jsonl"), calls.substr(second) + calls.substr(0, second));
    EXPECT_THAT(first_fault(swapped), HasSubstr("calls.jsonl line 2: record"));
    EXPECT_THAT(first_fault(swapped), HasSubstr("stands behind record"));

    const std::string torn = run(plan);
    write(file(torn, "calls.jsonl"), "{\"seq\":");
    EXPECT_THAT(first_fault(torn), HasSubstr("calls.jsonl line 1"));
}

// contract: CONF-03
TEST_F(PlanRecordsTest, VerifyHoldsWhatRunJsonSaysAgainstTheRecords) {
    const std::string id = run(plan_of({write_step("w", "a.md", "x")}));
    const std::string good = read(file(id, "run.json"));
    const auto fault_of = [&](std::string_view name, const json::value& value) {
        auto said = base::parse_json(good)->get_object();
        said[name] = value;
        write(file(id, "run.json"), base::json_text(said));
        return first_fault(id);
    };
    EXPECT_EQ(fault_of("goal", "Tidy"), "");
    for (const auto& [name, value] :
         {std::pair<std::string_view, json::value>{"goal", "Other"},
          {"status", "failed"},
          {"confirmation", nullptr},
          {"endedAt", "2020-01-01T00:00:00Z"},
          {"startedAt", "2020-01-01T00:00:00Z"},
          {"pass", 2},
          {"failure", {{"stepId", "w"}, {"code", "TIMEOUT"}, {"message", "m"}}}})
        EXPECT_EQ(fault_of(name, value),
                  fmt::format("run.json: {} does not follow from the plan and the events", name));
    for (const auto& [name, value] :
         {std::pair<std::string_view, json::value>{"vault", "/elsewhere"},
          {"params", {{"a", 1}}},
          {"context", {{"cursor", 1}}}})
        EXPECT_THAT(fault_of(name, value),
                    HasSubstr("run.json has another vault, context or params"));
    EXPECT_THAT(fault_of("riskLevel", "read-only"), HasSubstr("riskLevel read-only is less than"));
    for (const auto& [name, value] :
         {std::pair<std::string_view, json::value>{"carrier", "runtime"},
          {"cancelReason", "none"},
          {"counts",
           {{"steps", 1},
            {"succeeded", 1},
            {"failed", 0},
            {"skipped", 0},
            {"calls", 1},
            {"unknownOutcomes", 1}}}})
        EXPECT_THAT(fault_of(name, value), HasSubstr("does not follow from")) << name;
    for (const auto& [name, value] :
         {std::pair<std::string_view, json::value>{"executorVersion", "9.9.9"},
          {"toolRegistryVersion", "other"},
          {"createdAt", "2020-01-01T00:00:00Z"},
          {"title", "Other"},
          {"action", "other"},
          {"reverts", "other"},
          {"plannerVersion", "other"},
          {"riskLevel", "commands"}})
        EXPECT_THAT(fault_of(name, value), HasSubstr("is not what the run was made with")) << name;
    EXPECT_THAT(fault_of("invented", 1), HasSubstr("run.json: invented is not a member"));
    EXPECT_EQ(fault_of("goal", "Tidy"), "");
}

TEST_F(PlanRecordsTest, VerifySaysWhetherThisHomeHasTheRecord) {
    const std::string id = run(plan_of({write_step("w", "a.md", "x")}));
    EXPECT_TRUE(life.plans().verify(id)->authenticated);
    World elsewhere;
    Life other(elsewhere);
    const auto foreign = other.plans().verify((world.home() / "plans" / id).string()).value();
    EXPECT_TRUE(foreign.ok);
    EXPECT_FALSE(foreign.authenticated);
    const auto forged = life.plans().verify(
        forge(id, [](auto& lines) { lines.back().body["message"] = "Run ended well"; }));
    EXPECT_TRUE(forged->ok) << "the forger knows how";
    EXPECT_FALSE(forged->authenticated);
}

// contract: CONF-03
TEST_F(PlanRecordsTest, VerifyTakesARiskFromTheToolAndNotFromTheCall) {
    const std::string id = run(plan_of({write_step("w", "a.md", "x")}));
    EXPECT_EQ(first_fault(forge(id,
                                [](auto& lines) {
                                    auto& call = call_of(lines, "w").body;
                                    call.erase("confirmationId");
                                    call["riskLevel"] = "read-only";
                                })),
              "calls.jsonl line 1: step w says read-only of test.write, which is writes");
}

// contract: CONF-03
TEST_F(PlanRecordsTest, VerifyFindsAChangeWithoutItsApprovalInAChainThatHolds) {
    const std::string id =
        run(plan_of({step("look", "test.echo", {}), write_step("w", "a.md", "x")}));
    EXPECT_EQ(first_fault(forge(id, [](auto&) {})), "") << "the forger knows how";

    EXPECT_THAT(first_fault(forge(
                    id, [](auto& lines) { call_of(lines, "w").body.erase("confirmationId"); })),
                HasSubstr("calls.jsonl line 2: step w changes something without an approval"));
    EXPECT_EQ(first_fault(forge(
                  id, [](auto& lines) { call_of(lines, "look").body.erase("confirmationId"); })),
              "")
        << "reading needs none";
    EXPECT_THAT(
        first_fault(
            forge(id, [](auto& lines) { call_of(lines, "w").body["confirmationId"] = "made-up"; })),
        HasSubstr("step w names the approval made-up, which no event before it has given"));
    EXPECT_THAT(first_fault(forge(id, [](auto& lines) { lines.erase(confirmed(lines)); })),
                HasSubstr("which no event before it has given"));
    EXPECT_THAT(first_fault(forge(id,
                                  [](auto& lines) {
                                      const auto given = confirmed(lines);
                                      std::rotate(given, given + 1, lines.end());
                                  })),
                HasSubstr("which no event before it has given"))
        << "an approval afterwards is none";
    EXPECT_THAT(first_fault(forge(id,
                                  [](auto& lines) {
                                      auto& payload = confirmed(lines)->body.at("payload");
                                      payload.get_object()["planHash"] = "sha256:other";
                                  })),
                HasSubstr("the approval is of another plan or policy"));
    EXPECT_THAT(first_fault(forge(id,
                                  [](auto& lines) {
                                      auto& call = call_of(lines, "w").body;
                                      call.erase("confirmationId");
                                      call.at("policy").get_object()["confirmationsRequired"] =
                                          false;
                                  })),
                HasSubstr("changes something without an approval"))
        << "a call does not say itself whether it needs one";
}

// contract: LOG-02
TEST_F(PlanRecordsTest, AFolderAloneIsVerifiedAndReplayedElsewhere) {
    const std::string id =
        run(plan_of({step("list", "test.list", {{"count", 3}}),
                     {{"id", "loop"},
                      {"tool", "test.write"},
                      {"foreach", {{"from", "$steps.list.items"}, {"itemName", "x"}}},
                      {"args", {{"path", "{x.name}.md"}, {"content", "{x.n}"}}}}}));
    World elsewhere;
    Life other(elsewhere);
    const std::string folder = (world.home() / "plans" / id).string();
    EXPECT_TRUE(other.plans().verify(folder)->ok);
    const auto replay = other.plans().replay(folder).value();
    EXPECT_THAT(replay.divergences, IsEmpty());
    EXPECT_EQ(replay.served, 4);
    EXPECT_EQ(replay.status, PlanRunStatus::Succeeded);
    EXPECT_THAT(elsewhere.tools.ran, IsEmpty());
    EXPECT_THAT(elsewhere.files(), IsEmpty());
}

// contract: LOG-02
TEST_F(PlanRecordsTest, AReplayNamesWhatDiverges) {
    const std::string id =
        run(plan_of({step("a", "test.echo", {{"n", 1}}), write_step("b", "{$steps.a.n}.md", "x")}));
    // The record now has another result of `a`, so `b` is asked for something else.
    replace(file(id, "results.jsonl"), "\"data\":{\"n\":1}", "\"data\":{\"n\":2}");
    const auto replay = life.plans().replay(id).value();
    EXPECT_FALSE(replay.ok);
    ASSERT_THAT(replay.divergences, SizeIs(1));
    EXPECT_THAT(replay.divergences[0], HasSubstr("b attempt 1: the record has args"));
}

// contract: LOG-02
TEST_F(PlanRecordsTest, AReplayLivesThroughRecordsThatContradictThemselves) {
    const auto plan = plan_of({step("a", "test.echo", {{"n", 1}})}, "read-only");
    const std::string unsure = run_read_only(plan);
    replace(file(unsure, "results.jsonl"), "\"ok\":true", "\"ok\":false");
    EXPECT_FALSE(life.plans().replay(unsure)->ok);
    const std::string failed = run_read_only(plan);
    replace(file(failed, "results.jsonl"), "\"status\":\"ok\",\"ok\":true",
            "\"status\":\"error\",\"ok\":false");
    EXPECT_FALSE(life.plans().replay(failed)->ok);
    const std::string edited = run_read_only(plan);
    replace(file(edited, "calls.jsonl"), "\"args\":{\"n\":1}", "\"args\":{\"n\":7}");
    EXPECT_THAT(life.plans().replay(edited)->divergences,
                ElementsAre(HasSubstr("a attempt 1: the record has args")));
}

}  // namespace
}  // namespace plans_test
