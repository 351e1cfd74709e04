// What service::Plans promises, held against the one in the runtime and the one over HTTP.
#include <gmock/gmock.h>

#include "base/os/files.h"
#include "service/remote/remote_plans.h"
#include "tests/remote/plan_world.h"
#include "tests/support/eventually.h"

namespace plans_test {
namespace {

using base::ErrorCode;
using domain::PlanRunStatus;
using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

enum class Where { Here, There };

struct Recorder final : service::PlanObserver {
    void on_record(const domain::PlanRecord& record) override { records.push_back(record); }
    std::vector<domain::PlanRecord> records;
};

class PlansConformance : public PlanServerTest, public testing::WithParamInterface<Where> {
protected:
    void SetUp() override {
        PlanServerTest::SetUp();
        remote_.emplace(service::RemotePlansParts{.address = {.socket = socket_path()},
                                                  .vault = resident_->vault()});
    }
    service::Plans& subject() {
        if (GetParam() == Where::Here) return plans();
        return *remote_;
    }
    service::PlanRequest request(const json::object& plan) {
        return {.text = base::json_text(plan), .vault = resident_->vault().string()};
    }
    std::string create(const json::object& plan) {
        const auto created = subject().create(request(plan));
        CHECK(created && created->run, created ? "" : created.error().message.c_str());
        return created->run->run_id.value;
    }
    std::string written(const char* name) const {
        return base::read_file(resident_->vault() / name, 1 << 20).value_or("");
    }

    service::PlanObserver nobody_;

private:
    std::optional<service::RemotePlans> remote_;
};

INSTANTIATE_TEST_SUITE_P(Plans, PlansConformance, testing::Values(Where::Here, Where::There),
                         [](const auto& info) {
                             return info.param == Where::Here ? "Here" : "There";
                         });

TEST_P(PlansConformance, ChecksAndPreviews) {
    const auto plan = write_plan("a.md", "hello");
    const auto good = subject().check(request(plan)).value();
    EXPECT_TRUE(good.ok);
    EXPECT_EQ(good.risk_level, "writes");
    EXPECT_EQ(good.steps, 1);
    const auto bad = subject().check({.text = R"({"version":"1.0"})"}).value();
    EXPECT_FALSE(bad.ok);
    EXPECT_FALSE(bad.faults.empty());
    const auto preview = subject().preview(request(plan)).value();
    EXPECT_EQ(preview.at("ok"), json::value(true));
    EXPECT_THAT(preview.at("creates").get_array(), SizeIs(1));
    EXPECT_EQ(written("a.md"), "") << "a preview wrote";
    EXPECT_FALSE(subject().create({.text = "{"})->run);
}

TEST_P(PlansConformance, RunsAnApprovedPlanAndVerifiesIt) {
    const std::string run = create(write_plan("a.md", "hello"));
    EXPECT_EQ(subject().begin(run).error().code, ErrorCode::Refused);
    const auto approved = subject().approve(run, "ada", std::chrono::hours(1)).value();
    ASSERT_TRUE(approved.approval);
    Recorder seen;
    const auto ended = subject().execute(run, seen).value();
    EXPECT_EQ(ended.status, PlanRunStatus::Succeeded);
    EXPECT_EQ(ended.carrier, domain::PlanCarrier::Runtime);
    EXPECT_EQ(written("a.md"), "hello");
    // Everything behind the approval, each line once and to the byte.
    const auto all = subject().records(run, approved.last_seq, 512).value();
    EXPECT_EQ(seen.records, all);
    EXPECT_EQ(all.back().seq, ended.last_seq);
    EXPECT_EQ(plans().records(run, approved.last_seq, 512).value(), all);
    EXPECT_EQ(subject().run(run).value(), ended);
    EXPECT_FALSE(subject().is_executing(run).value());
    EXPECT_TRUE(subject().verify(run)->ok);
    EXPECT_TRUE(subject().verify((folder_ / "home" / "plans" / run).string())->ok);
    EXPECT_TRUE(subject().replay(run)->ok);
    EXPECT_THAT(subject().show(run)->at("calls").get_array(), SizeIs(1));
    EXPECT_EQ(subject().execute(run, nobody_).error().code, ErrorCode::Conflict);
}

TEST_P(PlansConformance, RejectsAndSaysSo) {
    const std::string run = create(write_plan("a.md", "hello"));
    EXPECT_EQ(subject().reject(run, "ada", "not today")->status, PlanRunStatus::Cancelled);
    EXPECT_EQ(subject().begin(run).error().code, ErrorCode::Conflict);
    EXPECT_EQ(written("a.md"), "");
}

TEST_P(PlansConformance, BeginsAndNotifiesWatchersUntilTheEnd) {
    const std::string run = create(loop_plan("test.slow", 8, 5));
    // A call may still be on its way when the token is dropped.
    struct Notified {
        std::mutex mutex;
        std::condition_variable changed;
        std::int64_t newest{0};
    };
    const auto notified = std::make_shared<Notified>();
    const auto token = subject().watch(run, [notified](std::int64_t seq) {
        const std::lock_guard lock(notified->mutex);
        notified->newest = std::max(notified->newest, seq);
        notified->changed.notify_all();
    });
    ASSERT_TRUE(token);
    EXPECT_EQ(subject().begin(run)->status, PlanRunStatus::Running);
    std::unique_lock lock(notified->mutex);
    ASSERT_TRUE(notified->changed.wait_for(lock, test_support::kEventually, [&] {
        const auto shown = plans().run(run);
        return shown && !shown->is_open() && notified->newest == shown->last_seq;
    }));
}

TEST_P(PlansConformance, CancelsCallsInFlight) {
    const std::string run = create(loop_plan("test.stuck", 2));
    ASSERT_TRUE(subject().begin(run));
    EXPECT_EQ(subject().begin(run).error().code, ErrorCode::Conflict);
    EXPECT_TRUE(subject().is_executing(run).value());
    const auto ended = subject().cancel(run, "enough").value();
    EXPECT_EQ(ended.status, PlanRunStatus::Cancelled);
    EXPECT_EQ(ended.cancel_reason, "enough");
    EXPECT_EQ(subject().cancel(run, "again").error().code, ErrorCode::Conflict);
    EXPECT_EQ(subject().cancel("nope", "x").error().code, ErrorCode::NotFound);
}

TEST_P(PlansConformance, RevertsTheChangesOfARun) {
    const std::string run = create(write_plan("a.md", "hello"));
    ASSERT_TRUE(subject().approve(run, "ada", std::chrono::hours(1)));
    ASSERT_TRUE(subject().execute(run, nobody_));
    const auto reverted = subject().revert(run, "ada", nobody_).value();
    ASSERT_TRUE(reverted.run);
    EXPECT_EQ(reverted.run->status, PlanRunStatus::Succeeded);
    EXPECT_EQ(reverted.run->reverts->value, run);
    EXPECT_THAT(reverted.restored, SizeIs(1));
    EXPECT_THAT(reverted.not_restored, IsEmpty());
    EXPECT_EQ(written("a.md"), "");
}

TEST_P(PlansConformance, KeepsActions) {
    const auto saved =
        subject().save("tidy", "Tidies", std::nullopt, base::json_text(loop_plan("test.slow", 1)));
    ASSERT_TRUE(saved) << saved.error().message;
    EXPECT_EQ(subject().action("tidy").value(), *saved);
    EXPECT_EQ(subject().actions().value(), std::vector{*saved});
    EXPECT_EQ(subject().save("no name", "", std::nullopt, "{}").error().code,
              ErrorCode::InvalidInput);
    service::PlanRequest request{.action = "tidy", .vault = resident_->vault().string()};
    const auto created = subject().create(request).value();
    EXPECT_EQ(subject().execute(created.run->run_id.value, nobody_)->status,
              PlanRunStatus::Succeeded);
    EXPECT_TRUE(subject().remove_action("tidy"));
    EXPECT_EQ(subject().action("tidy").error().code, ErrorCode::NotFound);
}

TEST_P(PlansConformance, NamesRunsAndTools) {
    EXPECT_THAT(subject().runs({.limit = 10}).value().items, IsEmpty());
    const std::string first = create(loop_plan("test.slow", 1));
    const std::string second = create(loop_plan("test.slow", 1));
    EXPECT_EQ(subject().run("last")->run_id.value, second);
    EXPECT_EQ(subject().run(first)->run_id.value, first);
    EXPECT_EQ(subject().run("nope").error().code, ErrorCode::NotFound);
    EXPECT_THAT(subject().runs({.limit = 10}).value().items, SizeIs(2));
    const auto newest = subject().runs({.limit = 1}).value();
    ASSERT_THAT(newest.items, SizeIs(1));
    EXPECT_EQ(newest.items[0].run_id.value, second);
    const auto oldest = subject().runs({.limit = 1, .before = newest.next}).value();
    ASSERT_THAT(oldest.items, SizeIs(1));
    EXPECT_EQ(oldest.items[0].run_id.value, first);
    EXPECT_EQ(oldest.next, "");
    EXPECT_EQ(subject().runs({.before = "nope"}).error().kind, "cursor_not_found");
    const auto tools = subject().tools().value();
    const auto here = plans().tools().value();
    ASSERT_EQ(tools.size(), here.size());
    for (std::size_t i = 0; i < tools.size(); ++i)
        EXPECT_EQ(base::to_json(tools[i]), base::to_json(here[i]));
}

class RemotePlansTest : public PlanServerTest {};

TEST_F(RemotePlansTest, WaitsForARuntimeThatRestarts) {
    service::RemotePlans there({.address = {.socket = socket_path()}, .vault = folder_});
    const auto plan = loop_plan("test.slow", 40, 10);
    const auto created = there.create({.text = base::json_text(plan)}).value();
    Recorder seen;
    base::Result<domain::PlanRun> ended = base::fail(ErrorCode::Internal, "not yet");
    std::jthread waiting([&] { ended = there.execute(created.run->run_id.value, seen); });
    const std::string run = created.run->run_id.value;
    EXPECT_TRUE(test_support::eventually([&] { return plans().run(run)->counts.calls >= 8; }));
    server_.reset();
    resident_->drain();
    resident_.reset();
    serve({});
    waiting.join();
    ASSERT_TRUE(ended) << ended.error().message;
    EXPECT_EQ(ended->status, PlanRunStatus::Succeeded);
    EXPECT_EQ(std::ssize(seen.records), ended->last_seq) << "a line was lost or came twice";
    EXPECT_TRUE(plans().verify(run)->ok);
}

TEST_F(RemotePlansTest, AnInterruptCancelsTheRunThatIsWaitedFor) {
    service::RemotePlans there({.address = {.socket = socket_path()}, .vault = folder_});
    EXPECT_FALSE(there.interrupt("nothing runs"));
    const auto created =
        there.create({.text = base::json_text(loop_plan("test.stuck", 1))}).value();
    service::PlanObserver no_observer;
    base::Result<domain::PlanRun> ended = base::fail(ErrorCode::Internal, "not yet");
    std::jthread waiting([&] { ended = there.execute(created.run->run_id.value, no_observer); });
    EXPECT_TRUE(test_support::eventually([&] { return there.interrupt("operator_interrupt"); }));
    waiting.join();
    ASSERT_TRUE(ended) << ended.error().message;
    EXPECT_EQ(ended->status, PlanRunStatus::Cancelled);
}

}  // namespace
}  // namespace plans_test
