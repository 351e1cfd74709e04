// What operators get from service::Plans: approvals, proofs, replays, reverts, actions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/os/files.h"
#include "exec/plan/record/chain.h"
#include "exec/plan/record/folder.h"
#include "tests/plans/world.h"

namespace plans_test {
namespace {

using base::ErrorCode;
using domain::PlanRecordKind;
using domain::PlanRunStatus;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

json::object plan_of(json::array steps, std::string_view risk = "writes") {
    return {{"version", "1.0"}, {"goal", "Tidy"}, {"riskLevel", risk}, {"steps", std::move(steps)}};
}

json::object step(std::string_view id, std::string_view tool, json::object args) {
    return {{"id", id}, {"tool", tool}, {"args", std::move(args)}};
}

json::object write_step(std::string_view id, std::string_view path, std::string_view content) {
    return step(id, "test.write", {{"path", path}, {"content", content}});
}

class PlansTest : public testing::Test {
protected:
    std::string create(const json::object& plan) {
        const auto created = life.plans().create({.text = base::json_text(plan)}).value();
        CHECK(created.run.has_value(), "the plan is good");
        return created.run->run_id.value;
    }
    domain::PlanRun execute(const std::string& run) {
        const auto ended = life.plans().execute(run, nobody);
        CHECK(ended.has_value(), ended ? "" : ended.error().message.c_str());
        return *ended;
    }
    // Created, approved and carried to its end.
    std::string run(const json::object& plan) {
        const std::string id = create(plan);
        CHECK(life.plans().approve(id, "ada", std::chrono::hours(1)).has_value(), "approved");
        execute(id);
        return id;
    }
    std::string run_read_only(const json::object& plan) {
        const std::string id = create(plan);
        execute(id);
        return id;
    }
    std::filesystem::path file(const std::string& run, const char* name) const {
        return world.home() / "plans" / run / name;
    }
    std::string read(const std::filesystem::path& path) const {
        return base::read_file(path, 1 << 24).value();
    }
    void write(const std::filesystem::path& path, std::string_view text) const {
        CHECK(base::write_file_atomic(path, text, 0600).has_value(), "it is written");
    }
    void replace(const std::filesystem::path& path, std::string_view from, std::string_view to) {
        std::string text = read(path);
        const auto at = text.find(from);
        CHECK(at != std::string::npos, "there is something to replace");
        write(path, text.replace(at, from.size(), to));
    }
    std::string first_fault(const std::string& run) {
        const auto verdict = life.plans().verify(run).value();
        EXPECT_EQ(verdict.ok, verdict.faults.empty());
        return verdict.faults.empty() ? "" : verdict.faults.front();
    }
    // A copy of the run's folder as somebody would leave it who changes its lines and then computes
    // the chain anew.
    struct Line {
        PlanRecordKind kind;
        json::object body;
    };
    std::string forge(const std::string& run, const std::function<void(std::vector<Line>&)>& edit) {
        auto files = plan::read_folder(world.home() / "plans" / run).value();
        std::vector<Line> lines;
        for (const auto& record : files.records) {
            auto body = base::parse_json(record.line)->get_object();
            body.erase("seq");
            body.erase("hash");
            lines.push_back({record.kind, std::move(body)});
        }
        edit(lines);
        files.run.last_seq = 0;
        files.run.last_hash =
            plan::first_link(files.run.run_id, files.run.plan_hash, files.run.policy_hash);
        std::vector<domain::PlanRecord> records;
        for (auto& line : lines)
            records.push_back(plan::seal(files.run.last_seq, files.run.last_hash, line.kind,
                                         std::move(line.body)));
        const auto folder = world.home() / fmt::format("forged-{}", ++forged);
        CHECK(plan::RunFolder::open(folder, files.run, files.document, records).has_value(),
              "it is written");
        return folder.string();
    }
    static Line& call_of(std::vector<Line>& lines, std::string_view step) {
        return *std::ranges::find_if(lines, [&](const Line& line) {
            return line.kind == PlanRecordKind::Call && line.body.at("stepId") == json::value(step);
        });
    }
    static auto confirmed(std::vector<Line>& lines) {
        return std::ranges::find_if(lines, [](const Line& line) {
            return base::string_at(line.body, "type") == "run.confirmed";
        });
    }
    void pass(std::chrono::hours time) {
        life.loop().after(time, [] {});
        life.loop().run();
    }

    World world;
    Life life{world};
    service::PlanObserver nobody;
    int forged{0};
};

// contract: CONF-01
TEST_F(PlansTest, NothingRunsBeforeTheApprovalAndEveryCallCarriesIt) {
    const std::string id =
        create(plan_of({step("look", "test.echo", {}), write_step("w", "a.md", "x")}));
    EXPECT_EQ(life.plans().execute(id, nobody).error().code, ErrorCode::Refused);
    EXPECT_THAT(world.files(), IsEmpty());
    EXPECT_THAT(world.tools.ran, IsEmpty());
    const auto approved = life.plans().approve(id, "ada", std::chrono::hours(1)).value();
    EXPECT_EQ(approved.approval->approver, "ada");
    EXPECT_EQ(execute(id).status, PlanRunStatus::Succeeded);
    const auto shown = life.plans().show(id).value();
    for (const auto& call : shown.at("calls").get_array())
        EXPECT_EQ(base::string_at(call, "confirmationId"), approved.approval->confirmation_id);
    std::vector<std::string> types;
    for (const auto& event : shown.at("events").get_array())
        if (base::string_at(event, "type").starts_with("run."))
            types.push_back(base::string_at(event, "type"));
    EXPECT_THAT(types, ElementsAre("run.confirmationRequested", "run.confirmed", "run.started",
                                   "run.finished"));
}

// contract: CONF-02
TEST_F(PlansTest, ARejectedRunEndsCancelledAndCannotBeBegun) {
    world.put("a.md", "before");
    const auto before = world.files();
    const std::string id = create(plan_of({write_step("w", "a.md", "x")}));
    EXPECT_EQ(life.plans().reject(id, "ada", "not today")->status, PlanRunStatus::Cancelled);
    EXPECT_EQ(life.plans().execute(id, nobody).error().code, ErrorCode::Conflict);
    EXPECT_EQ(life.plans().approve(id, "ada", std::chrono::hours(1)).error().code,
              ErrorCode::Conflict);
    EXPECT_EQ(world.files(), before);
    EXPECT_THAT(read(file(id, "events.jsonl")), HasSubstr("run.cancelled"));
    EXPECT_EQ(first_fault(id), "");
}

// contract: CONF-02
TEST_F(PlansTest, ARunThatIsCancelledBeforeItBeginsNeverDoes) {
    world.put("a.md", "before");
    const auto before = world.files();
    for (const bool is_approved : {false, true}) {
        SCOPED_TRACE(is_approved ? "approved" : "awaiting approval");
        const std::string id = create(plan_of({write_step("w", "a.md", "x")}));
        if (is_approved) ASSERT_TRUE(life.plans().approve(id, "ada", std::chrono::hours(1)));
        const auto cancelled = life.plans().cancel(id, "changed my mind");
        ASSERT_TRUE(cancelled) << cancelled.error().message;
        EXPECT_EQ(cancelled->status, PlanRunStatus::Cancelled);
        EXPECT_EQ(cancelled->cancel_reason, "changed my mind");

        // Whoever comes later finds it over, and changes nothing about that.
        EXPECT_EQ(life.plans().approve(id, "ada", std::chrono::hours(1)).error().code,
                  ErrorCode::Conflict);
        EXPECT_EQ(life.plans().reject(id, "ada", "no").error().code, ErrorCode::Conflict);
        EXPECT_EQ(life.plans().execute(id, nobody).error().code, ErrorCode::Conflict);
        EXPECT_EQ(life.plans().cancel(id, "again").error().code, ErrorCode::Conflict);
        EXPECT_EQ(life.plans().run(id), *cancelled);

        std::vector<std::string> types;
        for (const auto& event : life.plans().show(id)->at("events").get_array())
            types.push_back(base::string_at(event, "type"));
        if (is_approved) {
            EXPECT_THAT(types,
                        ElementsAre("run.confirmationRequested", "run.confirmed", "run.cancelled"));
        } else {
            EXPECT_THAT(types, ElementsAre("run.confirmationRequested", "run.cancelled"));
        }
        EXPECT_EQ(read(file(id, "calls.jsonl")) + read(file(id, "results.jsonl")), "");
        EXPECT_EQ(base::string_at(*base::parse_json(read(file(id, "run.json"))), "status"),
                  "cancelled");
        EXPECT_EQ(first_fault(id), "");
        EXPECT_EQ(world.files(), before);
        EXPECT_THAT(world.tools.ran, IsEmpty());
    }
}

TEST_F(PlansTest, AnApprovalHoldsOnlyForItsTimeAndForItsPlan) {
    const std::string late = create(plan_of({write_step("w", "a.md", "x")}));
    ASSERT_TRUE(life.plans().approve(late, "ada", std::chrono::hours(1)));
    pass(std::chrono::hours(2));
    EXPECT_THAT(life.plans().execute(late, nobody).error().message, HasSubstr("expired"));
    ASSERT_TRUE(life.plans().approve(late, "ada", std::chrono::hours(1)));

    const std::string changed = create(plan_of({write_step("w", "b.md", "x")}));
    ASSERT_TRUE(life.plans().approve(changed, "ada", std::chrono::hours(1)));
    // Somebody edits the stored policy behind the approval.
    ASSERT_TRUE(life.store().write(store::Durability::Disk, [&](store::Tx& tx) -> base::Status {
        auto stored = TRY(tx.plan_run({changed}));
        stored->policy.sandbox.enabled = false;
        return tx.put_plan_run(*stored);
    }));
    EXPECT_EQ(life.plans().execute(changed, nobody).error().code, ErrorCode::Corrupt);
    EXPECT_THAT(world.files(), IsEmpty());
}

// contract: LOG-01
TEST_F(PlansTest, ARunHasItsFilesAndTheyAreOnlyForTheirOwner) {
    const std::string id = run(plan_of({write_step("w", "a.md", "x")}));
    const auto document = base::parse_json(read(file(id, "run.json"))).value();
    EXPECT_EQ(base::string_at(document, "status"), "succeeded");
    EXPECT_EQ(document.at("plan").at("goal"), json::value("Tidy"));
    EXPECT_TRUE(document.at("policy").at("confirmationsRequired").get_bool());
    EXPECT_EQ(document.at("confirmation").at("approver"), json::value("ada"));
    const auto records = life.plans().records(id, 0, 1000).value();
    for (const auto& [name, kind] : {std::pair{"calls.jsonl", PlanRecordKind::Call},
                                     std::pair{"results.jsonl", PlanRecordKind::Result},
                                     std::pair{"events.jsonl", PlanRecordKind::Event}}) {
        std::string expected;
        for (const auto& record : records)
            if (record.kind == kind) expected += record.line + "\n";
        EXPECT_EQ(read(file(id, name)), expected) << name;
        EXPECT_EQ(std::filesystem::status(file(id, name)).permissions(),
                  std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
    }
}

// contract: CONF-03
TEST_F(PlansTest, VerifyNamesTheFirstBrokenLink) {
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
TEST_F(PlansTest, VerifyHoldsWhatRunJsonSaysAgainstTheRecords) {
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
}

// contract: CONF-03
TEST_F(PlansTest, VerifyTakesARiskFromTheToolAndNotFromTheCall) {
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
TEST_F(PlansTest, VerifyFindsAChangeWithoutItsApprovalInAChainThatHolds) {
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
TEST_F(PlansTest, AFolderAloneIsVerifiedAndReplayedElsewhere) {
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
TEST_F(PlansTest, AReplayNamesWhatDiverges) {
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
TEST_F(PlansTest, AReplayLivesThroughRecordsThatContradictThemselves) {
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

TEST_F(PlansTest, RevertTakesEveryChangeBackByteForByte) {
    world.put("change.md", std::string("before\0\xff", 8));
    world.put("gone.md", "was here");
    world.put("old.md", "moved");
    const auto before = world.files();
    const std::string id =
        run(plan_of({step("dir", "test.mkdir", {{"path", "Folder"}}),
                     {{"id", "new"},
                      {"tool", "test.write"},
                      {"dependsOn", json::array{"dir"}},
                      {"args", {{"path", "Folder/new.md"}, {"content", "x"}}}},
                     write_step("change", "change.md", "after"),
                     {{"id", "twice"},
                      {"tool", "test.write"},
                      {"dependsOn", json::array{"change"}},
                      {"args", {{"path", "change.md"}, {"content", "after that"}}}},
                     step("gone", "test.remove", {{"path", "gone.md"}}),
                     step("move", "test.move", {{"from", "old.md"}, {"to", "$$steps.md"}})}));
    EXPECT_NE(world.files(), before);
    const auto reverted = life.plans().revert(id, "ada", nobody).value();
    EXPECT_THAT(reverted.not_restored, IsEmpty());
    EXPECT_THAT(reverted.no_way_back, IsEmpty());
    EXPECT_EQ(world.files(), before);
    EXPECT_EQ(reverted.run->reverts, domain::RunId{id});
    EXPECT_EQ(first_fault(reverted.run->run_id.value), "");

    // A revert is a run, so it can be taken back as well.
    ASSERT_TRUE(life.plans().revert(reverted.run->run_id.value, "ada", nobody));
    EXPECT_EQ(world.files().at("change.md"), "after that");
    EXPECT_EQ(world.files().at("$steps.md"), "moved");
    EXPECT_EQ(world.files().at("Folder/new.md"), "x");
}

TEST_F(PlansTest, WhatIsLeftOfARunIsNotDoneOnceTheRestIsTakenBack) {
    const std::string id = run(plan_of({write_step("w", "a.md", "x"),
                                        {{"id", "f"},
                                         {"tool", "test.fail"},
                                         {"dependsOn", json::array{"w"}},
                                         {"args", {{"times", 1}, {"code", "NOT_FOUND"}}}}}));
    const auto reverted = life.plans().revert(id, "ada", nobody).value();
    const auto refused = life.plans().execute(id, nobody);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::Conflict);
    EXPECT_THAT(refused.error().message,
                HasSubstr("taken back by run " + reverted.run->run_id.value));
    // With the revert taken back it stands as it did.
    ASSERT_TRUE(life.plans().revert(reverted.run->run_id.value, "ada", nobody));
    EXPECT_EQ(execute(id).status, PlanRunStatus::Succeeded);
}

TEST_F(PlansTest, RevertLeavesAloneWhatChangedSinceAndSaysSo) {
    world.put("a.md", "one");
    world.put("b.md", "one");
    const std::string id =
        run(plan_of({write_step("a", "a.md", "two"), write_step("b", "b.md", "two"),
                     write_step("c", "c.md", "two")}));
    world.put("a.md", "three");
    std::filesystem::remove(world.vault() / "c.md");
    const auto reverted = life.plans().revert(id, "ada", nobody).value();
    ASSERT_THAT(reverted.not_restored, SizeIs(1));
    EXPECT_THAT(reverted.not_restored[0], HasSubstr("a.md has changed since"));
    EXPECT_EQ(reverted.restored.size(), 2u);
    EXPECT_EQ(world.files(),
              (std::map<std::string, std::string>{{"a.md", "three"}, {"b.md", "one"}}));
}

TEST_F(PlansTest, ADamagedOrForeignArtifactIsNotWrittenIntoTheVault) {
    world.put("a.md", "one");
    const std::string id = run(plan_of({write_step("a", "a.md", "two")}));
    for (const auto& entry :
         std::filesystem::directory_iterator(world.home() / "plans" / id / "tool-artifacts"))
        write(entry.path(), "forged");
    EXPECT_THAT(life.plans().revert(id, "ada", nobody)->not_restored.at(0),
                HasSubstr("has lost the copy"));
    write(world.home() / "secret", "s");
    const std::string undo =
        run(plan_of({step("u", "plan.undo",
                          {{"action", "delete"},
                           {"path", "b.md"},
                           {"beforeArtifact", (world.home() / "secret").string()}})}));
    EXPECT_EQ(life.plans().run(undo)->failure->code, "POLICY_DENIED");
    EXPECT_EQ(world.files(), (std::map<std::string, std::string>{{"a.md", "two"}}));
}

TEST_F(PlansTest, ParametersHaveTheTypesThatTheToolsAskFor) {
    const json::object plan =
        plan_of({step("r", "vault.readFile",
                      {{"path", "$vars.params.note"}, {"maxBytes", "$vars.params.limit"}}),
                 {{"id", "w"},
                  {"tool", "test.write"},
                  {"foreach", {{"from", "$vars.params.names"}, {"itemName", "n"}}},
                  {"args", {{"path", "{n}-{$vars.params.year}.md"}, {"content", "x"}}}}});
    const auto saved = life.plans().save("typed", "", std::nullopt, base::json_text(plan)).value();
    EXPECT_EQ(
        saved.param_types,
        (std::map<std::string, std::string>{
            {"limit", "integer"}, {"names", "array"}, {"note", "string"}, {"year", "string"}}));
    const auto refused =
        life.plans()
            .create(
                {.action = "typed",
                 .params = {{"note", json::array()}, {"limit", "x"}, {"names", "n"}, {"year", 1}}})
            .value();
    ASSERT_THAT(refused.faults, SizeIs(3));
    EXPECT_THAT(refused.faults[0].message, HasSubstr("'limit' must be of type integer"));
    const auto created =
        life.plans()
            .create({.action = "typed",
                     .params = {{"note", 2024}, {"limit", 5}, {"names", {"a"}}, {"year", 2024}}})
            .value();
    ASSERT_TRUE(created.run);
    EXPECT_EQ(created.run->params.at("note"), json::value("2024"))
        << "typed as a number, meant as text";
}

TEST_F(PlansTest, ActionsAreSavedListedRunAndForgotten) {
    const auto plan = plan_of({write_step("w", "$vars.params.folder/a.md", "x")});
    const auto action =
        life.plans().save("weekly", "", std::nullopt, base::json_text(plan)).value();
    EXPECT_THAT(action.params, ElementsAre("folder"));
    EXPECT_EQ(action.description, "Tidy");
    const auto missing = life.plans().create({.action = "weekly"}).value();
    ASSERT_THAT(missing.faults, SizeIs(1));
    EXPECT_THAT(missing.faults[0].message, HasSubstr("'folder' has no value"));
    const auto created =
        life.plans().create({.action = "weekly", .params = {{"folder", "Inbox"}}}).value();
    const std::string id = created.run->run_id.value;
    EXPECT_EQ(created.run->action, "weekly");
    ASSERT_TRUE(life.plans().approve(id, "ada", std::chrono::hours(1)));
    execute(id);
    EXPECT_EQ(world.files().count("Inbox/a.md"), 1u);

    EXPECT_EQ(life.plans().save("again", "mine", id, std::nullopt)->plan_hash, action.plan_hash);
    EXPECT_THAT(life.plans().actions().value(), SizeIs(2));
    ASSERT_TRUE(life.plans().remove_action("weekly"));
    EXPECT_EQ(life.plans().action("weekly").error().code, ErrorCode::NotFound);
    EXPECT_EQ(life.plans().save("no good", "", id, std::nullopt).error().code,
              ErrorCode::InvalidInput);
    const std::string failed = run(plan_of({step("f", "test.fail", {})}, "read-only"));
    EXPECT_EQ(life.plans().save("bad", "", failed, std::nullopt).error().code, ErrorCode::Conflict);
}

// contract: CALL-09, REFS-02
TEST_F(PlansTest, ARefusedPlanLeavesNoTrace) {
    const auto refused = life.plans()
                             .create({.text = base::json_text(plan_of(
                                          {write_step("w", "a.md", "x"), step("b", "no.tool", {}),
                                           step("c", "test.echo", {{"x", "$steps.nobody.n"}})}))})
                             .value();
    EXPECT_FALSE(refused.run);
    EXPECT_THAT(refused.faults, SizeIs(2));
    EXPECT_THAT(life.plans().runs(9).value(), IsEmpty());
    EXPECT_THAT(world.tools.ran, IsEmpty());
    EXPECT_THAT(world.files(), IsEmpty());
    EXPECT_FALSE(std::filesystem::exists(world.home() / "plans"));
}

// contract: CALL-02, REFS-03
TEST_F(PlansTest, ArgsHashIsOfTheResolvedArgsWhateverTheOrderOfTheirMembers) {
    const auto hash = [&](json::object args) {
        const std::string id = run(
            plan_of({step("a", "test.echo", {{"v", 1}}), step("b", "test.echo", std::move(args))},
                    "read-only"));
        const auto calls = of_kind(life.plans().records(id, 0, 1000).value(), PlanRecordKind::Call);
        EXPECT_EQ(base::string_at(calls.at(1), "argsHash"),
                  domain::args_hash(calls.at(1).at("args")));
        EXPECT_TRUE(calls.at(1).at("args").at("x").is_int64()) << "a reference was left";
        return base::string_at(calls.at(1), "argsHash");
    };
    const auto one = hash({{"x", "$steps.a.v"}, {"y", json::object{{"p", 1}, {"q", 2}}}});
    EXPECT_EQ(one, hash({{"y", json::object{{"q", 2}, {"p", 1}}}, {"x", 1}}));
    EXPECT_NE(one, hash({{"y", json::object{{"q", 2}, {"p", 1}}}, {"x", 2}}));
}

TEST_F(PlansTest, RunsAreNamedByABeginningThatFitsOneOfThem) {
    const std::string one = run(plan_of({step("a", "test.echo", {})}, "read-only"));
    pass(std::chrono::hours(1));
    const std::string two = run(plan_of({step("a", "test.echo", {})}, "read-only"));
    EXPECT_EQ(life.plans().run("last")->run_id.value, two);
    EXPECT_EQ(life.plans().run(one.substr(0, one.size() - 2))->run_id.value, one);
    EXPECT_EQ(life.plans().run("0").error().code, ErrorCode::InvalidInput);
    EXPECT_EQ(life.plans().run("nope").error().code, ErrorCode::NotFound);
}

}  // namespace
}  // namespace plans_test
