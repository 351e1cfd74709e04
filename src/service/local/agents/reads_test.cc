// What operators read of agents and their records.
#include <gmock/gmock.h>

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

TEST_F(ServiceTest, TheListShowsActivePublicAgentsInTheirShape) {
    auto& service = serve_main();
    ASSERT_TRUE(service.create_agent("b", std::nullopt, operator_));
    ASSERT_TRUE(store_->write(store::Durability::Disk, [&](store::Tx& tx) {
        domain::Agent hidden{.agent_id = {"hidden"}, .identity = {.agent_id = {"hidden"}}};
        hidden.identity.visibility = domain::Visibility::Private;
        return tx.put_agent(hidden);
    }));
    const auto list = service.agent_list({}).value();
    ASSERT_EQ(list.size(), 2U);
    EXPECT_THAT(keys(list[0]), testing::UnorderedElementsAre(
                                   "identity", "status", "scheduling_posture", "lifecycle",
                                   "pending", "model", "waiting_reason", "active_workspace_entry"));
    EXPECT_FALSE(list[0].at("model").as_object().contains("resolved_policy"));
    EXPECT_EQ(base::string_at(list[1].at("identity"), "agent_id"), "main");
}

TEST_F(ServiceTest, TheListHasTheBeginningOfWhatAnAgentReportedLast) {
    auto& service = serve_main();
    EXPECT_FALSE(service.agent_list({}).value().at(0).contains("last_brief"));
    const base::Time then{std::chrono::seconds(1'900'000'000)};
    ASSERT_TRUE(store_->write(store::Durability::Disk, [&](store::Tx& tx) -> base::Status {
        TRY(tx.append_brief(
            {.id = {"1"}, .agent_id = {"main"}, .text = "Done.\n" + std::string(9000, 'x')}));
        TRY(tx.append_brief({.id = {"2"},
                             .agent_id = {"main"},
                             .kind = domain::BriefKind::Ack,
                             .text = "Queued."}));
        auto statistics = TRY(tx.statistics({"main"}));
        statistics.last_brief_at = then;
        return tx.put_statistics(statistics);
    }));
    const auto entry = service.agent_list({}).value().at(0);
    EXPECT_THAT(base::string_at(entry, "last_brief"), testing::StartsWith("Done. xxx"));
    EXPECT_LT(base::string_at(entry, "last_brief").size(), 200U);
    EXPECT_EQ(base::string_at(entry, "last_brief_at"), base::to_text(then));
}

TEST_F(ServiceTest, EveryAgentIsInAListHoweverManyThereAre) {
    auto& service = serve_main();
    ASSERT_TRUE(store_->write(store::Durability::Disk, [&](store::Tx& tx) -> base::Status {
        for (int i = 0; i < 2 * kAgentsPageMax + 1; ++i) {
            const domain::AgentId id{fmt::format("a{:05}", i)};
            TRY(tx.put_agent({.agent_id = id, .identity = {.agent_id = id}}));
        }
        return {};
    }));
    EXPECT_EQ(std::ssize(service.agents().value()), 2 * kAgentsPageMax + 2);
    EXPECT_EQ(std::ssize(service.agent_list({}).value()), kAgentsPageMax);
    const auto last = service.agent_list({.after = "a02000"}).value();
    ASSERT_EQ(last.size(), 1U);
    EXPECT_EQ(base::string_at(last[0].at("identity"), "agent_id"), "main");
}

TEST_F(ServiceTest, LongListsAreReadInPartsFromTheNewestToTheOldest) {
    auto& service = serve_main();
    ASSERT_TRUE(store_->write(store::Durability::Disk, [&](store::Tx& tx) -> base::Status {
        for (int i = 1; i <= 5; ++i) {
            const auto id = std::to_string(i);
            TRY(tx.append_brief({.id = {id}, .agent_id = {"main"}, .text = id}));
            TRY(tx.append_transcript({.id = id, .agent_id = {"main"}, .data = json::object{}}));
            TRY(tx.put_timer({.id = {id}, .agent_id = {"main"}}));
        }
        return {};
    }));
    const auto read_all = [&](auto read) {
        std::vector<std::string> parts;
        ListQuery query{.limit = 2};
        do {
            auto part = (service.*read)("main", query).value();
            auto& ids = parts.emplace_back();
            for (const auto& item : part.items) ids += fmt::format("{} ", item.id);
            query.before = std::move(part.next);
        } while (!query.before.empty());
        return parts;
    };
    EXPECT_THAT(read_all(&Service::briefs), ElementsAre("4 5 ", "2 3 ", "1 "));
    EXPECT_THAT(read_all(&Service::transcript), ElementsAre("4 5 ", "2 3 ", "1 "));
    EXPECT_THAT(read_all(&Service::timers), ElementsAre("5 4 ", "3 2 ", "1 "));
    for (const auto* before : {"x", "-1", "99999999999999999999", "1x"}) {
        EXPECT_EQ(service.briefs("main", {.before = before}).error().kind, "cursor_not_found");
        EXPECT_EQ(service.timers("main", {.before = before}).error().kind, "cursor_not_found");
    }
    EXPECT_TRUE(service.briefs("main", {.limit = 0}).value().next.empty());
}

// The client would otherwise miss the events in between without a word.
TEST_F(ServiceTest, ACursorWhoseEventsAreNoLongerKeptIsRefusedWithTheOldestThatIs) {
    auto& service = serve_main();
    ASSERT_TRUE(store_->write(store::Durability::Disk, [&](store::Tx& tx) -> base::Status {
        for (int i = 0; i < 30; ++i) TRY(tx.append_event({"main"}, {.id = {"e"}, .kind = "k"}));
        TRY(tx.erase_rows({"main"}, store::Stream::Events, 0, 20));
        return {};
    }));
    const auto newest = service.newest_event("main").value();
    for (const auto& refused :
         {service.event_page("main", {.after_seq = 19, .newest_first = false}),
          service.events("main", 19, 5)}) {
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().code, base::ErrorCode::NotFound);
        EXPECT_EQ(refused.error().kind, "cursor_not_found");
        EXPECT_EQ(refused.error().details,
                  (json::object{{"after_seq", 19}, {"oldest_seq", 21}, {"event_seq", newest}}));
    }
    EXPECT_EQ(service.events("main", 20, 5).value().front().event_seq, 21);
    EXPECT_EQ(service.events("main", 0, 5).value().front().event_seq, 21);
    EXPECT_EQ(service.event_page("main", {.limit = 1}).value().front().event_seq, newest);
    EXPECT_TRUE(service.events("main", newest, 5).value().empty());
}

TEST_F(ServiceTest, AnArchivedAgentIsNotThereButWhatItDidIs) {
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
    EXPECT_THAT(service.agent_list({}).value(), IsEmpty());
    EXPECT_THAT(service.status("main").error().message, HasSubstr("holon transcript --agent main"));
    EXPECT_TRUE(service.transcript("main", {}));
    EXPECT_TRUE(service.briefs("main", {}));
    EXPECT_TRUE(service.events("main", 0, 1));
    EXPECT_TRUE(service.event_page("main", {}));
    EXPECT_TRUE(service.newest_event("main"));
    EXPECT_EQ(service.transcript("nobody", {}).error().code, base::ErrorCode::NotFound);
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

// contract: API-13
TEST_F(ServiceTest, TheStateOfAnAgentRepeatsOfItsSummaryOnlyWhatIsNamed) {
    const auto state = serve_main().state("main").value();
    const auto& summary = state.at("agent").as_object();
    const auto& agent = summary.at("agent").as_object();
    std::vector<std::string> repeated;
    const auto note = [&](const json::object& part, const std::string& where) {
        for (const auto& member : part)
            if (summary.contains(member.key()) || agent.contains(member.key()))
                repeated.push_back(where + member.key_c_str());
    };
    note(state, "");
    note(state.at("workspace").as_object(), "workspace.");
    note(state.at("session").as_object(), "session.");
    // state_view.h has the reasons.
    EXPECT_THAT(repeated, testing::UnorderedElementsAre(
                              "agent", "execution", "workspace.attached_workspaces",
                              "workspace.active_workspace_entry", "session.current_run_id",
                              "workspace.worktree_session"));
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
    EXPECT_TRUE(service.status("main") && service.state("main") && service.agent_list({}) &&
                service.debug_prompt("main", "x", domain::TrustLevel::TrustedOperator) &&
                service.transcript("main", {.limit = 5}) && service.timers("main", {.limit = 5}));
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

}  // namespace
}  // namespace service
