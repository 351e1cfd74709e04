// What operators read and do, and what becomes of it.
#include <gmock/gmock.h>

#include <map>
#include <set>

#include "agent/workspace/choose.h"
#include "agent/workspace/workspace.h"
#include "service/views/presentation.h"
#include "tests/service/fixture.h"

namespace service {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::vector<std::string> keys(const json::object& object) {
    std::vector<std::string> list;
    for (const auto& member : object) list.emplace_back(member.key());
    return list;
}

TEST_F(ServiceTest, APromptIsQueuedAndAnswered) {
    auto& service = serve_main();
    const auto id = service.prompt("main", "hi", operator_);
    ASSERT_TRUE(id);
    EXPECT_EQ(pending(), 1);
    loop_.run();
    EXPECT_EQ(model_->requests.size(), 1U);
    const auto message = messages().at(0);
    EXPECT_EQ(message.message.id.value, *id);
    EXPECT_EQ(message.message.priority, domain::Priority::Interject);
    EXPECT_EQ(message.message.delivery_surface, domain::DeliverySurface::HttpControlPrompt);
    EXPECT_EQ(message.entry.status, domain::QueueStatus::Processed);
    EXPECT_EQ(service.briefs("main", 1).value().at(0).text, "hello");
}

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

// contract: MSG-03, MSG-06, MSG-07
TEST_F(ServiceTest, EachWayInGivesItsMessagesTheirKindTheirOriginAndAnIdOfTheirOwn) {
    auto& service = serve_main();
    ASSERT_TRUE(service.wake("main", {.reason = "x"}, operator_));
    constexpr int kEach = 350;
    for (int n = 0; n < kEach; ++n) {
        ASSERT_TRUE(service.prompt("main", "hi", operator_));
        ASSERT_TRUE(service.enqueue("main", {.kind = domain::MessageKind::ChannelEvent,
                                             .origin = domain::ChannelOrigin{"c"},
                                             .body = domain::TextBody{"x"}}));
        ASSERT_TRUE(service.enqueue("main", {.body = domain::TextBody{"x"},
                                             .surface = domain::DeliverySurface::HttpWebhook}));
    }
    std::set<std::string> ids;
    std::map<std::pair<std::string, std::string>, int> labels;
    for (const auto& one : messages()) {
        EXPECT_TRUE(ids.insert(one.message.id.value).second) << one.message.id.value;
        ++labels[{std::string(base::enum_name(one.message.kind)),
                  base::string_at(base::to_json(one.message.origin), "kind")}];
    }
    EXPECT_EQ(labels, (std::map<std::pair<std::string, std::string>, int>{
                          {{"operator_prompt", "operator"}, kEach},
                          {{"channel_event", "channel"}, kEach},
                          {{"webhook_event", "webhook"}, kEach},
                          {{"system_tick", "system"}, 1}}));
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
    EXPECT_EQ(service.briefs("main", 1).value().at(0).kind, domain::BriefKind::Failure);
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

TEST_F(ServiceTest, TheListShowsActivePublicAgentsInTheirShape) {
    auto& service = serve_main();
    ASSERT_TRUE(service.create_agent("b", std::nullopt, operator_));
    ASSERT_TRUE(store_->write(store::Durability::Disk, [&](store::Tx& tx) {
        domain::Agent hidden{.agent_id = {"hidden"}, .identity = {.agent_id = {"hidden"}}};
        hidden.identity.visibility = domain::Visibility::Private;
        return tx.put_agent(hidden);
    }));
    const auto list = service.agent_list().value();
    ASSERT_EQ(list.size(), 2U);
    EXPECT_THAT(keys(list[0]), testing::UnorderedElementsAre(
                                   "identity", "status", "scheduling_posture", "lifecycle",
                                   "pending", "model", "waiting_reason", "active_workspace_entry"));
    EXPECT_FALSE(list[0].at("model").as_object().contains("resolved_policy"));
    EXPECT_EQ(base::string_at(list[1].at("identity"), "agent_id"), "main");
}

TEST_F(ServiceTest, AnArchivedAgentIsNotThere) {
    auto& service = serve_main();
    ASSERT_TRUE(store_->write(store::Durability::Disk, [&](store::Tx& tx) -> base::Status {
        auto agent = *TRY(tx.agent({"main"}));
        agent.identity.status = domain::IdentityStatus::Archived;
        return tx.put_agent(agent);
    }));
    EXPECT_EQ(service.status("main").error().code, base::ErrorCode::NotFound);
    EXPECT_EQ(service.state("main").error().code, base::ErrorCode::NotFound);
    EXPECT_EQ(service.prompt("main", "hi", operator_).error().code, base::ErrorCode::NotFound);
    EXPECT_EQ(service.wake("main", {.reason = "x"}, operator_).error().code,
              base::ErrorCode::NotFound);
    EXPECT_THAT(service.agent_list().value(), IsEmpty());
}

TEST_F(ServiceTest, TheStateOfAnAgentHasItsBoundedParts) {
    auto& service = serve_main();
    for (int n = 0; n < 60; ++n)
        ASSERT_TRUE(service.create_timer("main", {.duration_ms = 60'000}, operator_));
    ASSERT_TRUE(store_->write(store::Durability::Disk, [&](store::Tx& tx) -> base::Status {
        for (int n = 0; n < 50; ++n) {
            domain::Task task{.id = {std::to_string(n)},
                              .agent_id = {"main"},
                              .updated_at = base::from_micros(n)};
            task.detail = json::object{{"cmd", std::string(5000, 'x')}};
            TRY(tx.put_task(task));
        }
        return {};
    }));
    const auto state = service.state("main").value();
    EXPECT_THAT(keys(state),
                testing::UnorderedElementsAre("agent", "session", "tasks", "timers", "work_items",
                                              "waiting_intents", "external_triggers",
                                              "operator_notifications", "workspace", "execution"));
    EXPECT_EQ(state.at("timers").as_array().size(), 50U);
    const auto& tasks = state.at("tasks").as_array();
    ASSERT_EQ(tasks.size(), 40U);
    EXPECT_EQ(base::string_at(tasks[0], "id"), "49");
    const std::string cmd = base::string_at(tasks[0].at("detail"), "cmd");
    EXPECT_EQ(cmd.size(), 2048U);
    EXPECT_TRUE(cmd.ends_with("..."));
    const auto& trigger = state.at("external_triggers").as_array().at(0).as_object();
    EXPECT_FALSE(trigger.contains("token_hash") || trigger.contains("trigger_url"));
    EXPECT_THAT(base::json_text(state), Not(HasSubstr("cb_")));
}

TEST_F(ServiceTest, ActivityCountsWhatIsGoingOn) {
    auto& service = serve_main(kSlowAnswer);
    EXPECT_EQ(base::string_at(service.activity().value(), "state"), "idle");
    ASSERT_TRUE(service.prompt("main", "work", operator_));
    loop_.run_until([&] { return model_->requests.size() == 1; });
    const auto activity = service.activity().value();
    EXPECT_EQ(base::string_at(activity, "state"), "processing");
    EXPECT_EQ(base::int_at(activity, "processing_agent_count"), 1);
    EXPECT_EQ(base::int_at(activity, "active_agent_count"), 1);
}

TEST_F(ServiceTest, ReadingStartsNothing) {
    auto& service = serve_main();
    ASSERT_TRUE(service.set_lifecycle("main", LifecycleAction::Pause, operator_));
    ASSERT_TRUE(service.prompt("main", "hi", operator_));
    loop_.run();
    const auto newest = service.newest_event("main").value();
    EXPECT_TRUE(service.status("main") && service.state("main") && service.agent_list() &&
                service.debug_prompt("main", "x", domain::TrustLevel::TrustedOperator) &&
                service.transcript("main", 5) && service.timers("main", 5));
    loop_.run();
    EXPECT_EQ(service.newest_event("main").value(), newest);
    EXPECT_TRUE(model_->requests.empty());
}

TEST_F(ServiceTest, TheDebugPromptIsThePromptThatWouldBeSent) {
    auto& service = serve_main();
    const auto dump =
        service.debug_prompt("main", "what now?", domain::TrustLevel::TrustedOperator).value();
    EXPECT_THAT(dump, HasSubstr("what now?"));
    ASSERT_TRUE(service.prompt("main", "what now?", operator_));
    loop_.run();
    const auto& request = model_->requests.at(0);
    for (const auto& block : request.frame.system_blocks) EXPECT_THAT(dump, HasSubstr(block.text));
    const auto& context = request.frame.context_blocks;
    for (std::size_t i = 0; i + 1 < context.size(); ++i)
        EXPECT_THAT(dump, HasSubstr(context[i].text));
}

TEST_F(ServiceTest, AWatcherHearsOfTheNewestEventUntilItsTokenIsDropped) {
    auto& service = serve_main();
    loop_.run();
    std::vector<std::int64_t> heard;
    auto token = service.watch("main", [&](std::int64_t seq) { heard.push_back(seq); });
    ASSERT_TRUE(service.prompt("main", "hi", operator_));
    loop_.run();
    ASSERT_FALSE(heard.empty());
    EXPECT_EQ(heard.back(), service.newest_event("main").value());
    EXPECT_TRUE(std::ranges::is_sorted(heard));
    const auto count = heard.size();
    token.reset();
    ASSERT_TRUE(service.prompt("main", "again", operator_));
    loop_.run();
    EXPECT_EQ(heard.size(), count);
}

TEST_F(ServiceTest, EventsComeInPagesFromEitherEnd) {
    auto& service = serve_main();
    ASSERT_TRUE(service.prompt("main", "hi", operator_));
    loop_.run();
    const auto newest = service.newest_event("main").value();
    const auto last = service.event_page("main", {.limit = 3}).value();
    ASSERT_EQ(last.size(), 3U);
    EXPECT_EQ(last[0].event_seq, newest);
    const auto first =
        service.event_page("main", {.after_seq = 2, .before_seq = 5, .newest_first = false})
            .value();
    ASSERT_EQ(first.size(), 2U);
    EXPECT_EQ(first[0].event_seq, 3);
}

// contract: STATE-12, STATE-13, EXEC-06
TEST_F(ServiceTest, WorkspacesAreAttachedLeftAndDetached) {
    auto& service = serve_main();
    std::filesystem::create_directories(home_ / "one");
    std::filesystem::create_directories(home_ / "two");
    const auto state = [&] { return service.status("main").value().at("agent").as_object(); };
    EXPECT_EQ(base::string_at(state(), "active_workspace_id"), "agent_home:main");
    EXPECT_EQ(base::string_at(service.status("main").value().at("execution"), "execution_root"),
              (home_ / "main").string());
    const auto one = service.attach_workspace("main", (home_ / "one").string(), operator_).value();
    const auto two = service.attach_workspace("main", (home_ / "two").string(), operator_).value();
    EXPECT_EQ(state().at("attached_workspaces"),
              (json::value{json::value(one.workspace_id), json::value(two.workspace_id)}));
    EXPECT_EQ(base::string_at(state(), "active_workspace_id"), "agent_home:main");
    ASSERT_TRUE(store_->write(store::Durability::Disk, [&](store::Tx& tx) -> base::Status {
        auto agent = *TRY(tx.agent({"main"}));
        agent.active_workspace_entry = one;
        return tx.put_agent(agent);
    }));
    EXPECT_EQ(base::string_at(state(), "active_workspace_id"), one.workspace_id);
    EXPECT_EQ(service.detach_workspace("main", one.workspace_id, operator_).error().code,
              base::ErrorCode::Conflict);
    ASSERT_TRUE(service.exit_workspace("main", operator_));
    EXPECT_EQ(base::string_at(state(), "active_workspace_id"), "agent_home:main");
    ASSERT_TRUE(service.detach_workspace("main", one.workspace_id, operator_));
    EXPECT_EQ(state().at("attached_workspaces"), (json::array{json::value(two.workspace_id)}));
    EXPECT_EQ(service.detach_workspace("main", one.workspace_id, operator_).error().code,
              base::ErrorCode::NotFound);
    EXPECT_EQ(service.attach_workspace("main", "/no/such/folder", operator_).error().code,
              base::ErrorCode::NotFound);
}

// contract: WT-21, WT-24, WT-26, WT-27, WT-28, WT-29
TEST_F(ServiceTest, AWorkspaceIsTakenFromOneAgentAndFromNothingElse) {
    auto& service = serve_main();
    ASSERT_TRUE(service.create_agent("other", std::nullopt, operator_));
    std::filesystem::create_directories(home_ / "one");
    const auto one = service.attach_workspace("main", (home_ / "one").string(), operator_).value();
    ASSERT_TRUE(service.attach_workspace("other", (home_ / "one").string(), operator_));
    const auto attached = [&](const char* agent) {
        return service.status(agent).value().at("agent").at("attached_workspaces");
    };
    const auto set_active = [&](const domain::WorkspaceEntry& entry) {
        return store_->write(store::Durability::Disk, [&](store::Tx& tx) -> base::Status {
            auto agent = *TRY(tx.agent({"main"}));
            agent.active_workspace_entry = entry;
            return tx.put_agent(agent);
        });
    };
    ASSERT_TRUE(set_active(one));
    const auto active = service.detach_workspace("main", one.workspace_id, operator_).error();
    EXPECT_EQ(active.code, base::ErrorCode::Conflict);
    EXPECT_THAT(active.message, HasSubstr("switch"));
    EXPECT_THAT(active.message, HasSubstr("AgentHome"));
    EXPECT_EQ(attached("main"), (json::array{json::value(one.workspace_id)}));

    ASSERT_TRUE(service.exit_workspace("main", operator_));
    for (const char* home : {"agent_home", "agent_home:main"}) {
        const auto kept = service.detach_workspace("main", home, operator_).error();
        EXPECT_EQ(kept.code, base::ErrorCode::Refused);
        EXPECT_THAT(kept.message, HasSubstr("AgentHome"));
    }
    ASSERT_TRUE(service.exit_workspace("main", operator_));  // It is where it stays.
    EXPECT_EQ(service.status("main").value().at("execution").at("workspace_id"), "agent_home:main");

    EXPECT_EQ(service.detach_workspace("main", "", operator_).error().code,
              base::ErrorCode::NotFound);
    ASSERT_TRUE(std::filesystem::exists(home_ / "one"));
    const domain::ManagedWorktree copy{.agent_id = {"main"},
                                       .workspace_id = one.workspace_id,
                                       .session = {.worktree_path = (home_ / "copy").string()}};
    std::filesystem::create_directories(home_ / "copy");
    ASSERT_TRUE(store_->write(store::Durability::Disk,
                              [&](store::Tx& tx) { return tx.put_worktree(copy); }));
    ASSERT_TRUE(service.detach_workspace("main", one.workspace_id, operator_));
    EXPECT_TRUE(std::filesystem::exists(home_ / "one"));
    EXPECT_TRUE(std::filesystem::exists(home_ / "copy"));
    EXPECT_EQ(attached("main"), json::array{});
    EXPECT_EQ(attached("other"), (json::array{json::value(one.workspace_id)}));
    ASSERT_TRUE(store_->read([&](store::Tx& tx) -> base::Status {
        EXPECT_EQ(TRY(tx.workspace(one.workspace_id)), one);  // The host still knows it.
        EXPECT_EQ(TRY(tx.worktree(copy.session.worktree_path)), copy);
        return {};
    }));
    EXPECT_EQ(serve().status("main").value().at("agent").at("attached_workspaces"), json::array{});
    // What is gone from disk can be taken away, too.
    std::filesystem::remove_all(home_ / "one");
    EXPECT_TRUE(service_->detach_workspace("other", one.workspace_id, operator_));
}

// contract: WT-22
TEST_F(ServiceTest, AnAgentWhoseWorkspaceIsGoneIsAtHomeAndToldSo) {
    auto& service = serve_main();
    std::filesystem::create_directories(home_ / "one");
    const auto one = service.attach_workspace("main", (home_ / "one").string(), operator_).value();
    ASSERT_TRUE(store_->write(store::Durability::Disk, [&](store::Tx& tx) -> base::Status {
        auto agent = *TRY(tx.agent({"main"}));
        agent.active_workspace_entry = one;
        return tx.put_agent(agent);
    }));
    std::filesystem::remove_all(home_ / "one");
    std::filesystem::remove_all(home_ / "main");
    ASSERT_TRUE(service.prompt("main", "hi", operator_));
    loop_.run();
    EXPECT_THAT(opening(0), HasSubstr("You worked in " + one.execution_root));
    EXPECT_THAT(opening(0), HasSubstr("execution_root: " + (home_ / "main").string()));
    const auto summary = service.status("main").value();
    EXPECT_EQ(summary.at("execution").at("workspace_id"), "agent_home:main");
    EXPECT_TRUE(std::filesystem::is_directory(home_ / "main"));
    EXPECT_EQ(events_of("workspace_exited").size(), 1U);
    // What was attached stays so: the folder may come back.
    EXPECT_EQ(summary.at("agent").at("attached_workspaces"),
              (json::array{json::value(one.workspace_id)}));
    ASSERT_TRUE(service.prompt("main", "and now?", operator_));
    loop_.run();
    EXPECT_THAT(opening(1), Not(HasSubstr("You worked in")));
}

TEST_F(ServiceTest, AgentsHaveNoMoreWorkspacesThanTheBound) {
    auto& service = serve_main();
    ASSERT_TRUE(store_->write(store::Durability::Disk, [&](store::Tx& tx) -> base::Status {
        auto agent = *TRY(tx.agent({"main"}));
        for (std::size_t i = 0; i < workspace::kAttachedMax; ++i)
            agent.attached_workspaces.push_back(fmt::format("ws-{}", i));
        return tx.put_agent(agent);
    }));
    const auto refused = service.attach_workspace("main", home_.string(), operator_);
    EXPECT_EQ(refused.error().code, base::ErrorCode::Refused);
    EXPECT_THAT(refused.error().message, HasSubstr("holon workspace detach"));
}

TEST_F(ServiceTest, TimersAreMadeListedAndCancelled) {
    auto& service = serve_main();
    const auto timer =
        service.create_timer("main", {.duration_ms = 500, .summary = "tea"}, operator_).value();
    EXPECT_EQ(service.timers("main", 5).value().at(0), timer);
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

TEST_F(ServiceTest, TheSameKeyTwiceIsOneMessage) {
    auto& service = serve_main();
    const EnqueueRequest request{.body = domain::TextBody{"x"}, .dedupe_key = "delivery-1"};
    const auto first = service.enqueue("main", request).value();
    EXPECT_EQ(service.enqueue("main", request).value(), first);
    EXPECT_EQ(messages().size(), 1U);
}

// contract: MSG-27
TEST_F(ServiceTest, WhatIsEnqueuedFromOutsideClaimsNothing) {
    auto& service = serve_main();
    EXPECT_EQ(service.enqueue("main", {.priority = domain::Priority::Interject}).error().code,
              base::ErrorCode::Refused);
    EXPECT_EQ(service
                  .enqueue("main", {.kind = domain::MessageKind::OperatorPrompt,
                                    .origin = domain::OperatorOrigin{}})
                  .error()
                  .code,
              base::ErrorCode::Refused);
    ASSERT_TRUE(service.enqueue(
        "main", {.body = domain::TextBody{"x"},
                 .metadata = json::object{{"work_item_id", "work_1"}, {"task_id", "t"}}}));
    const auto message = messages().at(0).message;
    EXPECT_FALSE(message.work_item_id || message.task_id);
    EXPECT_EQ(message.authority_class, domain::AuthorityClass::IntegrationSignal);
}

TEST_F(ServiceTest, ABudgetOfATurnEndsItWithABriefThatSaysWhich) {
    constexpr std::string_view kForever =
        R"({"rounds":[{"usage":{"input_tokens":60,"output_tokens":50},"tool_calls":[{"name":"NoSuchTool","input":{}}]}],"loop":true})";
    struct Row {
        scheduler::Limits limits;
        std::string text;
        std::size_t requests;
    };
    for (const auto& row : std::vector<Row>{{{.turn_rounds = 2}, "limit of 2 model rounds", 2},
                                            {{.turn_tokens = 300}, "limit of 300 tokens", 3}}) {
        auto& service = serve(kForever, row.limits);
        ASSERT_TRUE(service.create_agent("main", std::nullopt, operator_));
        ASSERT_TRUE(service.prompt("main", "go", operator_));
        loop_.run();
        EXPECT_EQ(model_->requests.size(), row.requests);
        const auto brief = service.briefs("main", 1).value().at(0);
        EXPECT_EQ(brief.kind, domain::BriefKind::Failure);
        EXPECT_THAT(brief.text, HasSubstr(row.text));
        EXPECT_EQ(pending(), 0);
    }
}

TEST_F(ServiceTest, ATurnThatTakesTooLongIsEndedWhileItWaits) {
    auto& service =
        serve(R"({"rounds":[{"text":"late","delay_ms":5000}]})", {.turn_wall_ms = 1000});
    ASSERT_TRUE(service.create_agent("main", std::nullopt, operator_));
    ASSERT_TRUE(service.prompt("main", "go", operator_));
    const auto begun = loop_.now();
    loop_.run_until([&] { return !events_of("turn_terminal").empty(); });
    EXPECT_EQ(loop_.now() - begun, std::chrono::seconds(1));
    const auto brief = service.briefs("main", 1).value().at(0);
    EXPECT_THAT(brief.text, HasSubstr("limit of 1000 ms"));
    EXPECT_EQ(base::string_at(events_of("turn_terminal").at(0).data, "reason"),
              domain::kReasonTimeLimit);
}

TEST_F(ServiceTest, AnAgentThatHasUsedUpItsBudgetIsPausedAndItsInputKept) {
    auto& service = serve(kOneAnswer, {.agent_rounds = 1});
    ASSERT_TRUE(service.create_agent("main", std::nullopt, operator_));
    ASSERT_TRUE(service.prompt("main", "one", operator_));
    ASSERT_TRUE(service.prompt("main", "two", operator_));
    loop_.run();
    EXPECT_EQ(model_->requests.size(), 1U);
    EXPECT_EQ(status(), "paused");
    EXPECT_EQ(pending(), 1);
    const auto brief = service.briefs("main", 1).value().at(0);
    EXPECT_THAT(brief.text, HasSubstr("runtime.max_agent_rounds"));
    EXPECT_EQ(brief.visibility, domain::BriefVisibility::ActionRequired);
}

// contract: BRIEF-12
TEST_F(ServiceTest, ABriefThatEndsATurnIsATurnResult) {
    for (const auto& [scenario, kind] : std::vector<std::pair<std::string_view, domain::BriefKind>>{
             {kOneAnswer, domain::BriefKind::Result},
             {R"({"rounds":[{"fault":{"kind":"auth_error","message":"no key"}}]})",
              domain::BriefKind::Failure}}) {
        auto& service = serve_main(scenario);
        ASSERT_TRUE(service.prompt("main", "one", operator_));
        loop_.run();
        const auto briefs = service.briefs("main", 2).value();
        EXPECT_EQ(briefs.at(1).kind, kind);
        EXPECT_EQ(briefs.at(1).visibility, domain::BriefVisibility::TurnResult);
        EXPECT_EQ(briefs.at(0).kind, domain::BriefKind::Ack);
        EXPECT_FALSE(briefs.at(0).visibility);
    }
}

// contract: BRIEF-10, EVENT-29
TEST_F(ServiceTest, ABriefOfAnAgentThatAwaitsItsOperatorAsksForAction) {
    auto& service = serve_main();
    ASSERT_TRUE(service.enqueue("main", {.body = domain::TextBody{"news"}}));
    ASSERT_TRUE(store_->write(store::Durability::Disk, [&](store::Tx& tx) {
        return tx.put_wait({.id = {"w"},
                            .agent_id = {"main"},
                            .kind = domain::WaitKind::Operator,
                            .waiting_for = "a decision"});
    }));
    loop_.run();
    EXPECT_EQ(service.briefs("main", 1).value().at(0).visibility,
              domain::BriefVisibility::ActionRequired);
    EXPECT_EQ(views::present(events_of("brief_created").back()).visibility,
              views::Visibility::ActionRequired);
}

TEST_F(ServiceTest, ARunUsesTheSameSchedulerAndLeavesOtherAgentsAlone) {
    auto& service = open();
    ASSERT_TRUE(service.create_agent("other", std::nullopt, operator_));
    ASSERT_TRUE(service.prompt("other", "not now", operator_));
    loop_.run();
    model_->requests.clear();
    Observer observer;
    const auto response =
        service.run({.text = "hi", .agent = "main", .create_agent = true}, observer);
    ASSERT_TRUE(response) << response.error().message;
    EXPECT_EQ(response->final_status, FinalStatus::Completed);
    EXPECT_EQ(response->final_text, "hello");
    EXPECT_EQ(response->message_count, 1);
    EXPECT_EQ(model_->requests.size(), 1U);
    EXPECT_TRUE(service.run({.text = "again", .agent = "main"}, observer));
}

}  // namespace
}  // namespace service
