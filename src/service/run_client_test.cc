#include "service/run_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/no_service.h"

namespace service {
namespace {

using testing::ElementsAre;

// Plays one run: what happens is set before, and happens while the client starts to follow.
class OneRun final : public test_support::NoService {
public:
    std::vector<std::string> calls{};
    base::Status end{};
    base::Status finished{};
    int deltas{0};
    bool ends_by_itself{true};
    bool is_quiet{false};  // Nothing is watched: it ends when it starts.
    std::weak_ptr<void> lease{};
    bool was_held{false};  // When its result was read.

    base::Result<RunHold> start_run(const RunRequest& request, const Caller&,
                                    RunEnded ended) override {
        calls.push_back("start " + request.text);
        ended_ = std::move(ended);
        auto token = std::make_shared<int>();
        lease = token;
        if (ends_by_itself && is_quiet) ended_(end);
        return RunHold{
            .started = {.run_id = "r", .agent_id = "a", .model_ref = "m", .event_seq = 10},
            .lease = token};
    }
    base::Status interrupt_run(const std::string& run_id, const std::string& reason) override {
        calls.push_back(fmt::format("interrupt {} {}", run_id, reason));
        ended_(end);
        return {};
    }
    base::Result<RunResponse> run_result(const std::string& run_id) override {
        calls.push_back("result " + run_id);
        was_held = !lease.expired();
        return RunResponse{.agent_id = "a", .final_text = "Done."};
    }
    base::Status finish_run(const std::string& run_id) override {
        calls.push_back("finish " + run_id);
        return finished;
    }
    std::shared_ptr<void> watch(const std::string&,
                                std::function<void(std::int64_t)> changed) override {
        changed(12);
        return std::make_shared<int>();
    }
    std::shared_ptr<void> watch_deltas(const std::string&,
                                       std::function<void(const Delta&)> changed) override {
        for (int i = 1; i <= deltas; ++i) changed({.text = std::to_string(i)});
        if (ends_by_itself) ended_(end);
        return std::make_shared<int>();
    }
    base::Result<std::vector<domain::Event>> events(const std::string&, std::int64_t after_seq,
                                                    std::int64_t) override {
        std::vector<domain::Event> list;
        for (std::int64_t seq = after_seq + 1; seq <= 12; ++seq) list.push_back({.event_seq = seq});
        return list;
    }

private:
    RunEnded ended_;
};

struct Watching final : RunObserver {
    void on_started(const RunStarted& started) override {
        seen.push_back(started.agent_id + " " + started.model_ref);
    }
    void on_event(const domain::Event& event) override {
        seen.push_back(fmt::format("#{}", event.event_seq));
    }
    void on_delta(const Delta& delta) override { deltas.push_back(delta.text); }
    std::vector<std::string> seen{};
    std::vector<std::string> deltas{};
};

struct Quiet final : RunObserver {
    bool is_live() const override { return false; }
    void on_event(const domain::Event&) override { ADD_FAILURE() << "an event was read"; }
};

TEST(RunClient, StartsFollowsReadsTheResultAndCleansUp) {
    OneRun service;
    Watching observer;
    const auto response = RunClient(service).run({.text = "go"}, {}, observer);
    ASSERT_TRUE(response) << response.error().message;
    EXPECT_EQ(response->final_text, "Done.");
    EXPECT_THAT(service.calls, ElementsAre("start go", "result r", "finish r"));
    EXPECT_THAT(observer.seen, ElementsAre("a m", "#11", "#12"));
    EXPECT_TRUE(service.was_held);
    EXPECT_TRUE(service.lease.expired());
}

TEST(RunClient, KeepsTheAnswerOfARunThatCannotBeCleanedUp) {
    OneRun service;
    service.finished = base::fail(base::ErrorCode::Io, "the folder cannot be removed");
    Watching observer;
    const auto response = RunClient(service).run({.text = "go"}, {}, observer);
    ASSERT_TRUE(response) << response.error().message;
    EXPECT_EQ(response->final_text, "Done.");
}

TEST(RunClient, ReadsNoEventsForAnObserverThatWantsNone) {
    OneRun service;
    service.is_quiet = true;
    Quiet observer;
    EXPECT_TRUE(RunClient(service).run({.text = "go"}, {}, observer));
}

TEST(RunClient, KeepsTheNewestDeltasForASlowObserverAndEveryEvent) {
    OneRun service;
    service.deltas = 5000;
    Watching observer;
    EXPECT_TRUE(RunClient(service).run({.text = "go"}, {}, observer));
    EXPECT_EQ(observer.deltas.size(), 1024U);
    EXPECT_EQ(observer.deltas.back(), "5000");
    EXPECT_THAT(observer.seen, ElementsAre("a m", "#11", "#12"));
}

TEST(RunClient, PassesOnAnInterruptThatCameBeforeTheRunHadStarted) {
    OneRun service;
    service.ends_by_itself = false;
    Watching observer;
    RunClient client(service);
    client.interrupt("operator_interrupt");
    EXPECT_TRUE(client.run({.text = "go"}, {}, observer));
    EXPECT_THAT(service.calls,
                ElementsAre("start go", "interrupt r operator_interrupt", "result r", "finish r"));
}

TEST(RunClient, ReadsNoResultOfARunThatItCouldNotFollow) {
    OneRun service;
    service.end = base::fail(base::ErrorCode::Unavailable, "the daemon is gone");
    Watching observer;
    const auto response = RunClient(service).run({.text = "go"}, {}, observer);
    ASSERT_FALSE(response);
    EXPECT_EQ(response.error().message, "the daemon is gone");
    EXPECT_THAT(service.calls, ElementsAre("start go"));
}

}  // namespace
}  // namespace service
