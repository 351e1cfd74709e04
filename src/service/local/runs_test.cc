// Runs as their clients see them: admitted once, bound to a lease, over with their own work.
#include <gmock/gmock.h>

#include "base/os/files.h"
#include "exec/tools/fake_tool_for_test.h"
#include "tests/service/fixture.h"

namespace service {
namespace {

class RunsTest : public ServiceTest {
protected:
    // A run whose end is noted.
    struct Started {
        RunHold hold;
        std::shared_ptr<std::optional<base::Status>> ended;
    };
    base::Result<Started> begin(const RunRequest& request) {
        auto ended = std::make_shared<std::optional<base::Status>>();
        auto hold = TRY(service_->start_run(
            request, {}, [ended](const base::Status& status) { *ended = status; }));
        return Started{std::move(hold), ended};
    }
    bool wait(const Started& run) {
        return loop_.run_until([&] { return run.ended->has_value(); });
    }
    bool wait_for_turns(std::size_t count) {
        return loop_.run_until([&] { return events_of("turn_started").size() == count; });
    }
    std::string reason_of_abort() {
        const auto aborted = events_of("message_processing_aborted");
        return aborted.empty() ? "" : base::string_at(aborted.back().data, "reason");
    }
};

TEST_F(RunsTest, AnAgentIsInOneRunAtATime) {
    serve_main(kSlowAnswer);
    auto first = begin({.text = "one", .agent = "main"});
    ASSERT_TRUE(first) << first.error().message;
    const auto second = begin({.text = "two", .agent = "main"});
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, base::ErrorCode::Conflict);
    EXPECT_EQ(messages().size(), 1U);  // Nothing was queued for it.
    ASSERT_TRUE(wait(*first));
    EXPECT_EQ(service_->run_result(first->hold.started.run_id)->final_text, "hello");
    EXPECT_TRUE(begin({.text = "two", .agent = "main"}));
}

TEST_F(RunsTest, AResultCanBeReadWhenTheRunIsOverAndWhileItsLeaseIsHeld) {
    serve_main();
    auto run = begin({.text = "hi", .agent = "main"});
    ASSERT_TRUE(run);
    const std::string id = run->hold.started.run_id;
    EXPECT_EQ(service_->run_result(id).error().code, base::ErrorCode::Conflict);
    ASSERT_TRUE(wait(*run));
    EXPECT_TRUE(service_->run_result(id));
    EXPECT_TRUE(service_->finish_run(id));
    EXPECT_TRUE(service_->status("main"));  // An agent with a name stays.
    run->hold.lease.reset();
    EXPECT_EQ(service_->run_result(id).error().code, base::ErrorCode::NotFound);
}

TEST_F(RunsTest, ALeaseThatIsDroppedInterruptsTheTurnAndKeepsTheMessage) {
    serve_main(kSlowAnswer);
    auto run = begin({.text = "hi", .agent = "main"});
    ASSERT_TRUE(run);
    ASSERT_TRUE(wait_for_turns(1));
    run->hold.lease.reset();
    loop_.run();
    EXPECT_EQ(reason_of_abort(), "client_disconnected");
    EXPECT_EQ(pending(), 1);
    EXPECT_FALSE(*run->ended);  // Nobody is there to receive it.
    // Another client resumes it.
    const auto resumed = this->run({.agent = "main", .resume = true});
    ASSERT_TRUE(resumed) << resumed.error().message;
    EXPECT_EQ(resumed->final_text, "hello");
    EXPECT_EQ(pending(), 0);
}

TEST_F(RunsTest, AnInterruptedRunIsOverAndSaysSo) {
    serve_main(kSlowAnswer);
    auto run = begin({.text = "hi", .agent = "main"});
    ASSERT_TRUE(run);
    ASSERT_TRUE(wait_for_turns(1));
    EXPECT_TRUE(service_->interrupt_run(run->hold.started.run_id, "operator_interrupt"));
    ASSERT_TRUE(wait(*run));
    EXPECT_EQ(reason_of_abort(), "operator_interrupt");
    EXPECT_EQ(service_->run_result(run->hold.started.run_id)->final_status,
              FinalStatus::Interrupted);
}

TEST_F(RunsTest, AnInterruptLeavesTheTurnOfAnotherMessageAlone) {
    serve_main(kSlowAnswer);
    ASSERT_TRUE(service_->enqueue("main", {.body = domain::TextBody{"news"}}));
    ASSERT_TRUE(wait_for_turns(1));
    auto run = begin({.text = "hi", .agent = "main"});
    ASSERT_TRUE(run);
    EXPECT_TRUE(service_->interrupt_run(run->hold.started.run_id, "operator_interrupt"));
    ASSERT_TRUE(wait(*run));
    EXPECT_EQ(service_->run_result(run->hold.started.run_id)->final_status,
              FinalStatus::Interrupted);
    loop_.run();
    EXPECT_EQ(reason_of_abort(), "");
    EXPECT_EQ(pending(), 0);  // The prompt kept its place in the queue.
}

TEST_F(RunsTest, ARunEndsWithItsOwnWorkOnAnAgentThatOthersKeepBusy) {
    serve_main(kSlowAnswer);
    auto run = begin({.text = "hi", .agent = "main"});
    ASSERT_TRUE(run);
    for (int i = 0; i < 3; ++i)
        ASSERT_TRUE(service_->enqueue("main", {.body = domain::TextBody{"news"}}));
    ASSERT_TRUE(wait(*run));
    EXPECT_GT(pending(), 0);
    EXPECT_EQ(service_->run_result(run->hold.started.run_id)->final_status, FinalStatus::Completed);
    loop_.run();
    EXPECT_EQ(pending(), 0);
}

TEST_F(RunsTest, AProcessThatEndsWithItsRunStartsNoOtherTurn) {
    open();
    auto run = begin({.text = "hi", .agent = "main", .create_agent = true});
    ASSERT_TRUE(run);
    ASSERT_TRUE(wait(*run));
    ASSERT_TRUE(service_->enqueue("main", {.body = domain::TextBody{"news"}}));
    loop_.run();
    EXPECT_EQ(events_of("turn_started").size(), 1U);
    EXPECT_EQ(pending(), 1);  // For the next process.
}

TEST_F(RunsTest, ATemporaryAgentStaysListedUntilItIsDeleted) {
    serve();
    const auto response = run({.text = "hi"});
    ASSERT_TRUE(response) << response.error().message;
    EXPECT_EQ(response->final_text, "hello");
    EXPECT_TRUE(response->agent_id.starts_with("tmp_run_"));
    const auto runs = service_->recent_runs(10).value();
    ASSERT_EQ(runs.size(), 1U);
    EXPECT_EQ(runs[0].agent_id, response->agent_id);
    EXPECT_EQ(runs[0].text, "hi");
    EXPECT_EQ(runs[0].turns, 1);
    EXPECT_FALSE(runs[0].is_open);
    EXPECT_TRUE(service_->agent_list({})->empty());
    ASSERT_TRUE(service_->delete_agent(response->agent_id, {}));
    EXPECT_FALSE(service_->status(response->agent_id));
    EXPECT_FALSE(std::filesystem::exists(home_ / response->agent_id));
    EXPECT_TRUE(service_->recent_runs(10)->empty());
    EXPECT_EQ(service_->delete_agent("nobody", {}).error().code, base::ErrorCode::NotFound);
}

TEST_F(RunsTest, ARequestThatCannotBeMetLeavesNoTrace) {
    serve();
    EXPECT_EQ(begin({.text = "hi", .agent = "nobody"}).error().code, base::ErrorCode::NotFound);
    EXPECT_EQ(begin({.agent = "x", .create_agent = true}).error().code,
              base::ErrorCode::InvalidInput);
    EXPECT_EQ(
        begin({.text = "hi", .agent = "x", .create_agent = true, .workspace_root = "/nowhere"})
            .error()
            .code,
        base::ErrorCode::NotFound);
    EXPECT_TRUE(service_->agents()->empty());
}

TEST_F(RunsTest, TextOfTheModelReachesThoseWhoWatchWhileItStreams) {
    serve_main(R"({"rounds":[{"text":"hello to you"}],"loop":true})");
    std::string seen;
    auto token = service_->watch_deltas("main", [&](const Delta& delta) { seen += delta.text; });
    ASSERT_TRUE(run({.text = "hi", .agent = "main"}));
    EXPECT_EQ(seen, "hello to you");
    token.reset();
    ASSERT_TRUE(run({.text = "again", .agent = "main"}));
    EXPECT_EQ(seen, "hello to you");
}

TEST_F(RunsTest, WhatConcernsNoAgentReachesAllWhoWatch) {
    auto& service = serve_main();
    std::vector<std::string> seen;
    const auto watch = [&](const std::string& agent) {
        return service.watch_deltas(
            agent, [&seen, agent](const Delta& delta) { seen.push_back(agent + delta.text); });
    };
    auto main = watch("main");
    auto other = watch("other");
    service.announce({.kind = DeltaKind::Question, .text = " asks"});
    EXPECT_THAT(seen, testing::UnorderedElementsAre("main asks", "other asks"));
    other.reset();
    service.announce({.kind = DeltaKind::Question, .text = ""});
    EXPECT_EQ(seen.back(), "main");
    EXPECT_EQ(seen.size(), 3U);
}

TEST_F(RunsTest, WhatARunningCommandPrintsReachesThoseWhoWatchAlsoWhenTheyComeLater) {
    auto owned = std::make_unique<tools::FakeTool>("Echo");
    auto& echo = *owned;
    registry_.add(std::move(owned));
    echo.prints_to = home_ / "printed.log";
    ASSERT_TRUE(base::write_file_atomic(echo.prints_to, "[ 42%] Building x\n", 0600));
    auto& service = serve_main(R"({"rounds":[{"tool_calls":[{"name":"Echo","input":{"text":"a"}}]},
                                             {"text":"done"}]})");
    ASSERT_TRUE(service.prompt("main", "hello", operator_));
    ASSERT_TRUE(loop_.run_until([&] { return !echo.dones.empty(); }));
    loop_.run();  // Nobody watches: nothing is left to do while the call is under way.
    std::vector<Delta> seen;
    auto token = service.watch_deltas("main", [&](const Delta& delta) { seen.push_back(delta); });
    ASSERT_TRUE(loop_.run_until([&] { return seen.size() == 2; }));
    EXPECT_EQ(seen[0],
              (Delta{.kind = DeltaKind::Output, .text = "[ 42%] Building x", .tool_name = "Echo"}));
    echo.dones[0]({.completed = std::make_unique<tools::EchoOutput>("a")});
    loop_.run();
    EXPECT_EQ(seen.back(), (Delta{.kind = DeltaKind::Text, .text = "done"}));
    EXPECT_EQ(seen.size(), 3U);
}

}  // namespace
}  // namespace service
