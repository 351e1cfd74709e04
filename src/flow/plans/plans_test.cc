// What operators do with runs: approvals, ends, parameters, actions, names.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/plans/plans_fixture.h"

namespace plans_test {
namespace {

using base::ErrorCode;
using domain::PlanRecordKind;
using domain::PlanRunStatus;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// contract: CONF-01
TEST_F(PlansTest, NothingRunsBeforeTheApprovalAndEveryCallCarriesIt) {
    const std::string id =
        create(plan_of({step("look", "test.echo", {}), write_step("w", "a.md", "x")}));
    EXPECT_EQ(life.plans().execute(id).error().code, ErrorCode::Refused);
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
    EXPECT_EQ(life.plans().execute(id).error().code, ErrorCode::Conflict);
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

        // A later cancellation finds it over, and changes nothing about that.
        EXPECT_EQ(life.plans().approve(id, "ada", std::chrono::hours(1)).error().code,
                  ErrorCode::Conflict);
        EXPECT_EQ(life.plans().reject(id, "ada", "no").error().code, ErrorCode::Conflict);
        EXPECT_EQ(life.plans().execute(id).error().code, ErrorCode::Conflict);
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
    EXPECT_THAT(life.plans().execute(late).error().message, HasSubstr("expired"));
    ASSERT_TRUE(life.plans().approve(late, "ada", std::chrono::hours(1)));

    const std::string changed = create(plan_of({write_step("w", "b.md", "x")}));
    ASSERT_TRUE(life.plans().approve(changed, "ada", std::chrono::hours(1)));
    // Somebody edits the stored policy behind the approval.
    ASSERT_TRUE(life.store().write(store::Durability::Disk, [&](store::Tx& tx) -> base::Status {
        auto stored = TRY(tx.plan_run({changed}));
        stored->policy.sandbox.enabled = false;
        return tx.put_plan_run(*stored);
    }));
    EXPECT_EQ(life.plans().execute(changed).error().code, ErrorCode::Corrupt);
    EXPECT_THAT(world.files(), IsEmpty());
}

TEST_F(PlansTest, AnApprovalHoldsOnlyForTheVaultAndParametersItWasGivenFor) {
    const auto create_with = [&](std::string_view text) {
        const auto plan = plan_of({write_step("w", "b.md", "$vars.params.text")});
        domain::PlanRequest request{.text = base::json_text(plan)};
        request.params["text"] = text;
        return life.plans().create(request).value().run.value().run_id;
    };
    const auto approved = create_with("harmless");
    const auto other = create_with("harmful");
    ASSERT_TRUE(life.plans().approve(approved.value, "ada", std::chrono::hours(1)));
    // Somebody copies the approval to a run of the same plan with other parameters.
    ASSERT_TRUE(life.store().write(store::Durability::Disk, [&](store::Tx& tx) -> base::Status {
        auto stored = TRY(tx.plan_run(other));
        stored->approval = TRY(tx.plan_run(approved))->approval;
        return tx.put_plan_run(*stored);
    }));
    const auto refused = life.plans().execute(other.value);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::Refused);
    EXPECT_THAT(refused.error().message, HasSubstr("parameters"));
    EXPECT_THAT(world.files(), IsEmpty());
}

TEST_F(PlansTest, AnApprovalNeedsTheWholeIdOfTheRun) {
    const std::string read = create(plan_of({write_step("w", "a.md", "x")}));
    pass(std::chrono::hours(1));
    const std::string proposed = create(plan_of({write_step("w", "b.md", "x")}));
    for (const std::string& vague : {std::string("last"), read.substr(0, read.size() - 2)})
        EXPECT_EQ(life.plans().approve(vague, "ada", std::chrono::hours(1)).error().code,
                  ErrorCode::InvalidInput);
    ASSERT_TRUE(life.plans().approve(read, "ada", std::chrono::hours(1)));
    EXPECT_EQ(life.plans().execute(proposed).error().code, ErrorCode::Refused);
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
    EXPECT_THAT(life.plans().runs(9, {}).value(), IsEmpty());
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
