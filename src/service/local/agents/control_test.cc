// Control of agents: who may, what is stored, and what follows.
#include <gmock/gmock.h>

#include "tests/service/fixture.h"

namespace service {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST_F(ServiceTest, NobodyButTheOperatorPromptsWakesOrControls) {
    auto& service = serve_main();
    const Caller stranger{domain::AdmissionContext::PublicUnauthenticated, std::nullopt};
    EXPECT_EQ(service.prompt("main", "hi", stranger).error().code, base::ErrorCode::Refused);
    EXPECT_EQ(service.wake("main", {.reason = "x"}, stranger).error().code,
              base::ErrorCode::Refused);
    EXPECT_EQ(service.set_lifecycle("main", LifecycleAction::Stop, stranger).error().code,
              base::ErrorCode::Refused);
    EXPECT_EQ(service.create_timer("main", {.duration_ms = 1}, stranger).error().code,
              base::ErrorCode::Refused);
    EXPECT_EQ(service.external_trigger("main", false, stranger).error().code,
              base::ErrorCode::Refused);
    EXPECT_EQ(service.create_agent("other", std::nullopt, stranger).error().code,
              base::ErrorCode::Refused);
}

// contract: STATE-31, STATE-32, STATE-33, MSG-42
TEST_F(ServiceTest, EveryWayInIsClosedWhileTheAgentIsStoppedAndSaysHowToOpenIt) {
    auto& service = serve_main();
    const auto url =
        base::string_at(service.external_trigger("main", false, operator_).value(), "trigger_url");
    const std::string token = url.substr(url.rfind('/') + 1);
    ASSERT_TRUE(service.set_lifecycle("main", LifecycleAction::Stop, operator_));
    const auto newest = service.newest_event("main").value();
    std::vector<base::Error> refusals;
    refusals.push_back(service.prompt("main", "hi", operator_).error());
    refusals.push_back(service.enqueue("main", {.body = domain::TextBody{"x"}}).error());
    refusals.push_back(
        service.enqueue("main", {.surface = domain::DeliverySurface::HttpWebhook}).error());
    refusals.push_back(service.wake("main", {.reason = "x"}, operator_).error());
    refusals.push_back(service.callback({.token = token, .mode = "wake"}).error());
    refusals.push_back(service.callback({.token = token, .mode = "enqueue"}).error());
    for (const auto& error : refusals) {
        EXPECT_EQ(error.code, base::ErrorCode::Conflict);
        EXPECT_EQ(error.kind, "agent_stopped");
        EXPECT_THAT(error.message, HasSubstr("resume it first"));
        EXPECT_EQ(base::string_at(error.details, "agent_id"), "main");
        EXPECT_THAT(base::string_at(error.details, "hint"), HasSubstr("holon agent start main"));
    }
    loop_.run();
    EXPECT_THAT(messages(), IsEmpty());
    EXPECT_EQ(service.newest_event("main").value(), newest);
    EXPECT_EQ(status(), "stopped");
}

// contract: MSG-40
TEST_F(ServiceTest, ControlIsOnRecordAsWhatItIs) {
    auto& service = serve_main();
    for (const auto action :
         {LifecycleAction::Pause, LifecycleAction::Resume, LifecycleAction::Stop})
        ASSERT_TRUE(service.set_lifecycle("main", action, operator_));
    std::vector<std::string> actions;
    for (const auto& event : events_of("control_applied")) {
        EXPECT_EQ(base::string_at(event.data, "kind"), "control");
        EXPECT_EQ(base::string_at(event.data, "admission_context"), "control_authenticated");
        actions.push_back(base::string_at(event.data, "action"));
    }
    EXPECT_THAT(actions, ElementsAre("pause", "resume", "stop"));
}

TEST_F(ServiceTest, AbortingEndsTheRunForGoodAndLeavesTheAgentStopped) {
    auto& service = serve_main(kSlowAnswer);
    const auto nothing = service.abort_run("main", std::nullopt, operator_);
    ASSERT_FALSE(nothing);
    EXPECT_EQ(nothing.error().kind, "no_current_run");

    ASSERT_TRUE(service.prompt("main", "work", operator_));
    loop_.run_until([&] { return model_->requests.size() == 1; });
    const auto stale = service.abort_run("main", "another", operator_);
    ASSERT_FALSE(stale);
    EXPECT_EQ(stale.error().kind, "stale_run_id");
    const std::string run = base::string_at(stale.error().details, "current_run_id");
    EXPECT_EQ(status(), "awake_running");

    const auto aborted = service.abort_run("main", run, operator_);
    ASSERT_TRUE(aborted);
    EXPECT_EQ(base::string_at(*aborted, "run_id"), run);
    loop_.run();
    EXPECT_EQ(status(), "stopped");
    EXPECT_EQ(messages().at(0).entry.status, domain::QueueStatus::Dropped);
    const auto terminal = events_of("turn_terminal").at(0).data;
    EXPECT_EQ(base::string_at(terminal, "kind"), "aborted");
    EXPECT_EQ(base::string_at(terminal, "reason"), domain::kReasonAborted);
    ASSERT_TRUE(service.set_lifecycle("main", LifecycleAction::Start, operator_));
    loop_.run();
    EXPECT_EQ(model_->requests.size(), 1U);  // It does not come back.
    EXPECT_EQ(service.briefs("main", {.limit = 1}).value().items.at(0).kind,
              domain::BriefKind::Failure);
}

TEST_F(ServiceTest, AnAbortThatACrashCutOffIsCarriedOutByTheNextProcess) {
    auto& service = serve_main(kSlowAnswer);
    ASSERT_TRUE(service.prompt("main", "work", operator_));
    loop_.run_until([&] { return model_->requests.size() == 1; });
    ASSERT_TRUE(service.abort_run("main", std::nullopt, operator_));
    serve();  // Before the loop could stop anything.
    loop_.run();
    EXPECT_TRUE(model_->requests.empty());
    EXPECT_EQ(messages().at(0).entry.status, domain::QueueStatus::Dropped);
    EXPECT_EQ(status(), "stopped");
}

// contract: STATE-05
TEST_F(ServiceTest, AnAgentBootsBeforeItRuns) {
    auto& service = serve_main();
    const auto changes = events_of("agent_state_changed");
    ASSERT_EQ(changes.size(), 1U);
    EXPECT_EQ(base::string_at(changes[0].data, "previous_status"), "booting");
    EXPECT_EQ(base::string_at(changes[0].data, "status"), "awake_idle");
    EXPECT_TRUE(std::filesystem::is_directory(home_ / "main"));

    // A crash in between: the home is missing, the row is there.
    ASSERT_TRUE(store_->write(store::Durability::Disk, [&](store::Tx& tx) -> base::Status {
        auto agent = *TRY(tx.agent({"main"}));
        agent.booting = true;
        return tx.put_agent(agent);
    }));
    std::filesystem::remove_all(home_ / "main");
    EXPECT_EQ(status(), "booting");
    ASSERT_TRUE(service.prompt("main", "hi", operator_));
    loop_.run();
    EXPECT_EQ(model_->requests.size(), 1U);
    EXPECT_EQ(status(), "awake_idle");
    EXPECT_TRUE(std::filesystem::is_directory(home_ / "main"));
}

// contract: MSG-23, MSG-24
TEST_F(ServiceTest, ChangesOfControlAreEventsAndNeverMessages) {
    auto& service = serve_main();
    ASSERT_TRUE(service.attach_workspace("main", home_.string(), operator_));
    ASSERT_TRUE(service.create_timer("main", {.duration_ms = 60'000}, operator_));
    for (const auto* kind : {"agent_created", "workspace_attached", "timer_created"}) {
        const auto found = events_of(kind);
        EXPECT_EQ(found.size(), 1U) << kind;
        for (const auto& event : found)
            EXPECT_FALSE(event.data.as_object().contains("delivery_surface"));
    }
    EXPECT_THAT(messages(), IsEmpty());
}

TEST_F(ServiceTest, AnAgentThatExistsIsReturnedAsItIs) {
    auto& service = serve_main();
    const auto first = service.create_agent("main", std::nullopt, operator_).value();
    loop_.after(std::chrono::seconds(5), [] {});
    loop_.run_one();
    EXPECT_EQ(service.create_agent("main", std::nullopt, operator_).value(), first);
    EXPECT_EQ(first.kind, domain::AgentKind::Default);
    EXPECT_EQ(service.create_agent("other", std::nullopt, operator_).value().kind,
              domain::AgentKind::Named);
    for (const auto* bad : {"", "a/b", "..", "tmp_x"})
        EXPECT_EQ(service.create_agent(bad, std::nullopt, operator_).error().code,
                  base::ErrorCode::InvalidInput)
            << bad;
}

TEST_F(ServiceTest, TimersAreMadeListedAndCancelled) {
    auto& service = serve_main();
    const auto timer =
        service.create_timer("main", {.duration_ms = 500, .summary = "tea"}, operator_).value();
    EXPECT_EQ(service.timers("main", {.limit = 5}).value().items.at(0), timer);
    const auto cancelled = service.cancel_timer("main", timer.id.value, operator_).value();
    EXPECT_EQ(cancelled.status, domain::TimerStatus::Cancelled);
    loop_.run();
    EXPECT_TRUE(model_->requests.empty());
    EXPECT_EQ(service.cancel_timer("main", "nobody", operator_).error().code,
              base::ErrorCode::NotFound);
    ASSERT_TRUE(service.create_agent("other", std::nullopt, operator_));
    EXPECT_EQ(service.cancel_timer("other", timer.id.value, operator_).error().code,
              base::ErrorCode::NotFound);
    for (const auto& bad :
         std::vector<TimerRequest>{{.duration_ms = -1}, {.duration_ms = 1, .interval_ms = 10}})
        EXPECT_EQ(service.create_timer("main", bad, operator_).error().code,
                  base::ErrorCode::InvalidInput);
    ASSERT_TRUE(service.create_timer("main", {.duration_ms = 500}, operator_));
    loop_.run();
    EXPECT_EQ(model_->requests.size(), 1U);
}

}  // namespace
}  // namespace service
