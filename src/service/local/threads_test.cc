// The service as a daemon uses it: one thread runs the loop for ever, others call.
#include <gmock/gmock.h>

#include <atomic>
#include <semaphore>
#include <thread>

#include "service/run_client.h"
#include "tests/service/fixture.h"

namespace service {
namespace {

constexpr std::string_view kHello = R"({"rounds":[{"text":"hello"}],"loop":true})";

// Removed after all else is gone.
struct Folder {
    const std::filesystem::path path = temporary_folder();
    ~Folder() { std::filesystem::remove_all(path); }
};

class Daemon {
public:
    LocalService& service() { return runtime_.service(); }

private:
    Folder home_;
    test_support::Resident<test_support::Recording> runtime_{home_.path, {}, kHello};
};

struct Seen final : RunObserver {
    void on_started(const RunStarted& started) override { agent = started.agent_id; }
    void on_event(const domain::Event& event) override { kinds.push_back(event.kind); }
    std::string agent;
    std::vector<std::string> kinds;
};

const Caller kOperator{domain::AdmissionContext::ControlAuthenticated, std::nullopt};

TEST(ServiceThreads, PromptsFromManyThreadsToManyAgentsAreAllAnswered) {
    constexpr int kThreads = 4, kPrompts = 5;
    std::atomic<int> results{0};
    std::binary_semaphore all{0};
    std::vector<std::atomic<int>> done(kThreads);
    Daemon daemon;  // The last: its loop may still call what was watched for.
    auto& service = daemon.service();
    std::vector<std::shared_ptr<void>> tokens;
    for (int t = 0; t < kThreads; ++t) {
        const std::string agent = "a" + std::to_string(t);
        ASSERT_TRUE(service.create_agent(agent, std::nullopt, kOperator));
        tokens.push_back(service.watch(agent, [&, agent](std::int64_t) {
            int answered = 0;
            const auto briefs = service.briefs(agent, {.limit = 100});
            if (!briefs) return;
            for (const auto& brief : briefs->items)
                if (brief.kind == domain::BriefKind::Result) ++answered;
            const auto index = static_cast<std::size_t>(agent[1] - '0');
            const int before = done[index].exchange(answered);
            if (answered == before) return;
            if ((results += answered - before) == kThreads * kPrompts) all.release();
        }));
    }
    {
        std::vector<std::jthread> senders;
        for (int t = 0; t < kThreads; ++t)
            senders.emplace_back([&, t] {
                for (int p = 0; p < kPrompts; ++p)
                    EXPECT_TRUE(service.prompt("a" + std::to_string(t), "hi", kOperator));
            });
    }
    all.acquire();
    EXPECT_EQ(results, kThreads * kPrompts);
}

TEST(ServiceThreads, ARunWaitsForItsAnswerWhileTheRuntimeServes) {
    Daemon daemon;
    Seen seen;
    const auto response = RunClient(daemon.service())
                              .run({.text = "hi", .agent = "main", .create_agent = true}, {}, seen);
    ASSERT_TRUE(response) << response.error().message;
    EXPECT_EQ(response->final_text, "hello");
    EXPECT_EQ(seen.agent, "main");
    EXPECT_THAT(seen.kinds, testing::Contains("turn_terminal"));
}

TEST(ServiceThreads, ATimerFiresInARuntimeThatStays) {
    std::binary_semaphore answered{0};  // Outlives the loop: a call may still be on its way.
    Daemon daemon;
    auto& service = daemon.service();
    ASSERT_TRUE(service.create_agent("main", std::nullopt, kOperator));
    const auto token = service.watch("main", [&](std::int64_t) {
        const auto briefs = service.briefs("main", {.limit = 1});
        if (briefs && !briefs->items.empty() &&
            briefs->items.front().kind == domain::BriefKind::Result)
            answered.release();
    });
    ASSERT_TRUE(service.create_timer("main", {.duration_ms = 20}, kOperator));
    answered.acquire();
    EXPECT_EQ(service.timers("main", {.limit = 1}).value().items.at(0).status,
              domain::TimerStatus::Completed);
}

}  // namespace
}  // namespace service
