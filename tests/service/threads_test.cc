// The service as a daemon uses it: one thread runs the loop for ever, others call.
#include <gmock/gmock.h>

#include <atomic>
#include <semaphore>
#include <thread>

#include "base/asio_loop.h"
#include "tests/service/fixture.h"

namespace service {
namespace {

class Daemon {
public:
    explicit Daemon(std::string_view scenario = R"({"rounds":[{"text":"hello"}],"loop":true})")
        : store_(sqlite::open({.file = home_ / "holon.db"}).value()),
          model_(provider::parse_scenario(scenario).value(), loop_),
          dispatcher_({.registry = registry_, .clock = clock_, .ids = ids_}),
          service_({.turn = {.store = *store_,
                             .loop = loop_,
                             .clock = clock_,
                             .ids = ids_,
                             .provider = model_,
                             .dispatcher = dispatcher_,
                             .feed = feed_,
                             .home_of = [this](const auto& agent) { return home_ / agent.value; }},
                    .tasks = tasks_,
                    .models = {.runtime_default_model = "scripted/test"},
                    .check_run = [](const std::string&) { return base::Status{}; },
                    .name_model = [](const std::string& m) { return base::Result<std::string>(m); },
                    .workspace_dir = home_,
                    .started_in = home_,
                    .run_loop = [] {},
                    .stop_loop = [] {},
                    .trigger_key = "key"}) {
        service_.start();
        thread_ = std::jthread([this] { loop_.run(); });
    }
    ~Daemon() {
        std::binary_semaphore drained{0};
        service_.drain([&] { drained.release(); });
        drained.acquire();
        loop_.stop();
        thread_.join();
        std::filesystem::remove_all(home_);
    }
    LocalService& service() { return service_; }

private:
    const std::filesystem::path home_ = temporary_folder();
    base::SystemClock clock_;
    base::RandomIds ids_{clock_};
    base::AsioLoop loop_;
    std::unique_ptr<store::Store> store_;
    provider::ScriptedProvider model_;
    tools::Registry registry_;
    tools::Dispatcher dispatcher_;
    events::Feed feed_;
    supervisor::FakeMachine machine_;
    supervisor::FakeSupervisor supervisor_{loop_, machine_};
    tasks::Host tasks_{{.store = *store_,
                        .loop = loop_,
                        .clock = clock_,
                        .ids = ids_,
                        .feed = feed_,
                        .supervisor = supervisor_,
                        .rejoin = admission::rejoin}};
    LocalService service_;
    std::jthread thread_;
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
            const auto briefs = service.briefs(agent, 100);
            if (!briefs) return;
            for (const auto& brief : *briefs)
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
    Observer observer;
    const auto response =
        daemon.service().run({.text = "hi", .agent = "main", .create_agent = true}, observer);
    ASSERT_TRUE(response) << response.error().message;
    EXPECT_EQ(response->final_text, "hello");
}

TEST(ServiceThreads, ATimerFiresInARuntimeThatStays) {
    std::binary_semaphore answered{0};  // Outlives the loop: a call may still be on its way.
    Daemon daemon;
    auto& service = daemon.service();
    ASSERT_TRUE(service.create_agent("main", std::nullopt, kOperator));
    const auto token = service.watch("main", [&](std::int64_t) {
        const auto briefs = service.briefs("main", 1);
        if (briefs && !briefs->empty() && briefs->front().kind == domain::BriefKind::Result)
            answered.release();
    });
    ASSERT_TRUE(service.create_timer("main", {.duration_ms = 20}, kOperator));
    answered.acquire();
    EXPECT_EQ(service.timers("main", 1).value().at(0).status, domain::TimerStatus::Completed);
}

}  // namespace
}  // namespace service
