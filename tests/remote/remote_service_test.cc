#include "service/remote/remote_service.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <condition_variable>
#include <cstring>
#include <mutex>
#include <thread>

#include <gmock/gmock.h>

#include "service/remote/watch.h"
#include "tests/http/fixture.h"
#include "tests/support/eventually.h"

namespace service {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

const std::string kToken = "right-token";

enum class Transport { Tcp, Socket };

class RemoteTest : public test_http::ServerTest, public testing::WithParamInterface<Transport> {
protected:
    void SetUp() override { start({.token = kToken}); }

    Address address(Transport transport) const {
        if (transport == Transport::Socket) return {.socket = socket_path()};
        return {.url = "http://" + server_->tcp_addresses().at(0), .token = kToken};
    }
    RemoteService remote() const { return RemoteService({.address = address(GetParam())}); }
};

INSTANTIATE_TEST_SUITE_P(Transports, RemoteTest, testing::Values(Transport::Tcp, Transport::Socket),
                         [](const auto& info) {
                             return info.param == Transport::Tcp ? "Tcp" : "Socket";
                         });

TEST_P(RemoteTest, ACallbackArrivesAsTextAsJsonOrWithoutABody) {
    auto there = remote();
    for (const auto& body : std::vector<std::optional<domain::Body>>{
             domain::TextBody{"{\"not\": \"JSON\"}"}, domain::JsonBody{{{"a", 1}}}, std::nullopt}) {
        EXPECT_TRUE(there.callback({.token = "cb_right", .mode = "wake", .body = body}));
        EXPECT_EQ(service_.last_callback()->body, body);
    }
}

TEST_P(RemoteTest, RequestsReachTheService) {
    auto there = remote();
    EXPECT_TRUE(there.prompt("main", "hello", {}));
    EXPECT_TRUE(there.wake("main", {.reason = "look"}, {}));
    EXPECT_TRUE(there.create_agent("new", "t", {}));
    for (const auto action : {LifecycleAction::Start, LifecycleAction::Stop, LifecycleAction::Pause,
                              LifecycleAction::Resume, LifecycleAction::RecoverDropMessage})
        EXPECT_TRUE(there.set_lifecycle("main", action, {}));
    EXPECT_EQ(base::string_at(there.abort_run("main", "r", {}).value(), "run_id"), "run-9");
    EXPECT_EQ(base::int_at(there.compact_conversation("main", {}).value(), "compacted_rounds"), 7);
    EXPECT_EQ(there.start_task("main", {.summary = "s", .cmd = "ls", .login = false}, {})->id.value,
              "task-1");
    EXPECT_TRUE(there.create_timer("main", {.duration_ms = 5}, {}));
    EXPECT_TRUE(there.cancel_timer("main", "timer 1", {}));
    EXPECT_EQ(there.create_work_item("main", {.objective = "ship"}, {})->objective, "ship");
    EXPECT_EQ(base::string_at(
                  there
                      .change_work_item("main", "w",
                                        {.action = service::WorkAction::Block, .text = "CI"}, {})
                      .value(),
                  "id"),
              "w");
    EXPECT_TRUE(there.external_trigger("main", true, {}));
    EXPECT_TRUE(there.revoke_trigger("main", {}));
    EXPECT_EQ(there.attach_workspace("main", "/p", {})->workspace_anchor, "/p");
    EXPECT_TRUE(there.exit_workspace("main", {}));
    EXPECT_TRUE(there.detach_workspace("main", "ws-1", {}));
    EXPECT_TRUE(there.set_model("main", "a/b"));
    EXPECT_TRUE(there.clear_model("main"));
    EXPECT_TRUE(there.debug_prompt("main", "x", domain::TrustLevel::TrustedSystem));
    EXPECT_TRUE(there.enqueue("main", {.body = domain::TextBody{"from outside"}}));
    EXPECT_THAT(
        service_.calls(),
        ElementsAre("prompt main hello", "wake main look", "create new t", "lifecycle main start",
                    "lifecycle main stop", "lifecycle main pause", "lifecycle main resume",
                    "lifecycle main recover_drop_message", "abort main r", "compact main",
                    "task main ls false", "timer main 5", "cancel_timer main timer 1",
                    "new work main ship", "block main w CI", "trigger main true", "revoke main",
                    "attach main /p", "exit main", "detach main ws-1", "set_model main a/b",
                    "clear_model main", "debug_prompt main x trusted_system", "enqueue main"));
}

TEST_P(RemoteTest, SearchesReachTheServiceAndTheirHitsTheCaller) {
    auto there = remote();
    EXPECT_EQ(there.search_memory("main", {.query = "a & b?", .include_all_workspaces = true})
                  ->results.at(0)
                  .source_ref,
              "brief:b1");
    EXPECT_EQ(there.memory_document("main", "workspace_profile:agent_home:main", 7)->content,
              "text");
    const auto since = base::parse_time("2031-01-02T03:04:05Z").value();
    EXPECT_EQ(there.search_records({.query = "火车", .agent = "main", .since = since})
                  ->results.at(0)
                  .agent_id,
              "main");
    EXPECT_THAT(service_.calls(),
                ElementsAre("search_memory main a & b? 10 true",
                            "memory_document main workspace_profile:agent_home:main 7",
                            "search 火车 main 2031-01-02T03:04:05.000000Z 20"));
}

TEST_P(RemoteTest, AnswersReachTheCaller) {
    auto there = remote();
    service_.add_events("main", 1300);
    EXPECT_EQ(there.status("main").value(), service_.status("main").value());
    EXPECT_THAT(there.agents().value(), ElementsAre("main", "other"));
    EXPECT_EQ(there.model("main").value(), service_.model("main").value());
    EXPECT_EQ(there.activity().value(), service_.activity().value());
    EXPECT_EQ(there.transcript("main", {.limit = 7}).value(),
              service_.transcript("main", {.limit = 7}).value());
    EXPECT_EQ(there.briefs("main", {.limit = 7}).value(),
              service_.briefs("main", {.limit = 7}).value());
    EXPECT_EQ(there.briefs("main", {.limit = 7}).value().next, test_http::kNextBriefs);
    EXPECT_EQ(there.briefs("main", {.before = "7"}).value().next, "");
    EXPECT_EQ(there.tasks("main", 7).value(), service_.tasks("main", 7).value());
    EXPECT_EQ(there.timers("main", {.limit = 7}).value(),
              service_.timers("main", {.limit = 7}).value());
    EXPECT_EQ(there.work_item("main", "w").value(), service_.work_item("main", "w").value());
    const service::WorkItemsQuery open_items{.filter = service::WorkFilter::Open, .after = "5:w"};
    const auto page = there.work_items("main", open_items);
    ASSERT_TRUE(page) << page.error().message;
    EXPECT_EQ(page->work_items, service_.work_items("main", open_items)->work_items);
    EXPECT_EQ(page->next, "5:w");
    EXPECT_EQ(there.newest_event("main"), 1300);
    EXPECT_EQ(there.newest_event("other"), 0);
    // More than one page, and no more than was asked for.
    EXPECT_EQ(there.events("main", 3, 1200).value(), service_.events("main", 3, 1200).value());
    EXPECT_EQ(there.events("main", 1298, 1200)->size(), 2U);
    EXPECT_TRUE(there.state("main"));
}

TEST_P(RemoteTest, AnErrorKeepsItsKindItsDetailsAndItsHint) {
    auto there = remote();
    service_.fail_next({base::ErrorCode::Conflict,
                        "agent main is stopped",
                        "agent_stopped",
                        {{"agent_id", "main"}, {"hint", "start it"}}});
    const auto refused = there.prompt("main", "hello", {});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, base::ErrorCode::Conflict);
    EXPECT_EQ(refused.error().kind, "agent_stopped");
    EXPECT_EQ(refused.error().message, "agent main is stopped; start it");
    EXPECT_EQ(base::string_at(refused.error().details, "agent_id"), "main");
    const auto unknown = there.status("no such/agent");
    ASSERT_FALSE(unknown);
    EXPECT_EQ(unknown.error().code, base::ErrorCode::NotFound);
    EXPECT_THAT(unknown.error().message, HasSubstr("no such/agent"));
}

TEST_P(RemoteTest, AWatchReportsEventsUntilItIsDropped) {
    auto there = remote();
    std::mutex mutex;
    std::condition_variable changed;
    std::int64_t newest = 0;
    const auto reaches = [&](std::int64_t seq) {
        std::unique_lock lock(mutex);
        return changed.wait_for(lock, test_support::kEventually, [&] { return newest >= seq; });
    };
    service_.add_events("main", 2);
    auto token = there.watch("main", [&](std::int64_t seq) {
        const std::lock_guard lock(mutex);
        newest = std::max(newest, seq);
        changed.notify_all();
    });
    EXPECT_TRUE(reaches(2));  // What was there before the stream was open.
    service_.add_events("main", 3);
    EXPECT_TRUE(reaches(5));
    token.reset();  // Returns, although the stream is quiet.
}

TEST_P(RemoteTest, AWatchReconnectsAfterARestart) {
    std::mutex mutex;
    std::condition_variable changed;
    std::int64_t newest = 0;
    int losses = 0;
    const auto token = follow(address(GetParam()), "main",
                              {.changed =
                                   [&](std::int64_t seq) {
                                       const std::lock_guard lock(mutex);
                                       newest = std::max(newest, seq);
                                       changed.notify_all();
                                   },
                               .lost =
                                   [&](const base::Error&) {
                                       const std::lock_guard lock(mutex);
                                       ++losses;
                                       changed.notify_all();
                                   }});
    const auto until = [&](const auto& holds) {
        std::unique_lock lock(mutex);
        return changed.wait_for(lock, test_support::kEventually, holds);
    };
    service_.add_events("main", 1);
    ASSERT_TRUE(until([&] { return newest == 1; }));
    const auto port = server_->tcp_addresses().at(0);
    server_->drain(0ms);
    ASSERT_TRUE(until([&] { return losses == 1; }));
    service_.add_events("main", 1);  // No watcher is notified yet.
    server_.reset();
    const auto number = static_cast<std::uint16_t>(std::stoi(port.substr(port.rfind(':') + 1)));
    auto again = http_surface::Server::start(
        {.service = service_, .settings = settings_, .clock = clock_},
        {.tcp = {{.port = number}}, .socket_path = socket_path(), .token = kToken});
    ASSERT_TRUE(again) << again.error().message;
    server_ = std::move(*again);
    EXPECT_TRUE(until([&] { return newest == 2; }));
}

TEST_F(RemoteTest, TheSocketIsTriedFirstAndTcpOnlyWhenItIsUnreachable) {
    Address both = address(Transport::Tcp);
    both.socket = folder_ / "nobody.sock";
    EXPECT_TRUE(RemoteService({.address = both}).status("main"));
    // A request that the socket's side refuses is not sent again over the other transport.
    both.socket = socket_path();
    service_.fail_next({base::ErrorCode::Internal, "broken"});
    EXPECT_FALSE(RemoteService({.address = both}).prompt("main", "once", {}));
    EXPECT_TRUE(service_.calls().empty());
}

// Accepts, reads, answers with the same bytes each time and hangs up.
class Stub {
public:
    explicit Stub(const std::filesystem::path& path, std::string answer = "")
        : answer_(std::move(answer)), fd_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
        std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
        CHECK(bind(fd_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0, "bind");
        CHECK(listen(fd_.get(), 8) == 0, "listen");
        thread_ = std::jthread([this] {
            while (true) {
                const base::Fd peer(accept(fd_.get(), nullptr, nullptr));
                if (!peer) return;
                char bytes[4096];
                if (read(peer.get(), bytes, sizeof bytes) > 0) ++requests_;
                (void)!write(peer.get(), answer_.data(), answer_.size());
            }
        });
    }
    ~Stub() { shutdown(fd_.get(), SHUT_RDWR); }
    int requests() const { return requests_; }

private:
    std::string answer_;
    base::Fd fd_;
    std::atomic<int> requests_{0};
    std::jthread thread_;
};

TEST_F(RemoteTest, ARequestThatGotNoAnswerIsNotSentTwice) {
    const Stub stub(folder_ / "stub.sock");
    Address both = address(Transport::Tcp);
    both.socket = folder_ / "stub.sock";
    const auto lost = RemoteService({.address = both}).prompt("main", "once", {});
    ASSERT_FALSE(lost);
    EXPECT_EQ(lost.error().code, base::ErrorCode::Unavailable);
    EXPECT_THAT(lost.error().message, HasSubstr("may or may not"));
    EXPECT_EQ(stub.requests(), 1);
    EXPECT_TRUE(service_.calls().empty());
}

TEST_F(RemoteTest, SaysWhatToDoAboutATokenAndAMissingDaemon) {
    Address wrong = address(Transport::Tcp);
    wrong.token = "wrong-token";
    const auto refused = RemoteService({.address = wrong}).status("main");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, kWrongToken);
    EXPECT_THAT(refused.error().message, HasSubstr("HOLON_CONTROL_TOKEN"));
    EXPECT_THAT(refused.error().message, Not(HasSubstr("wrong-token")));
    wrong.token.clear();
    EXPECT_EQ(RemoteService({.address = wrong}).status("main").error().kind, kTokenMissing);
    const auto nobody = RemoteService({.address = {.socket = folder_ / "no.sock"}}).status("main");
    EXPECT_EQ(nobody.error().kind, kUnreachable);
    EXPECT_THAT(nobody.error().message, HasSubstr("holon daemon status"));
}

// The end of a run, as its client receives it.
class RunEnd {
public:
    RunEnded callback() {
        return [this](const base::Status& status) {
            const std::lock_guard lock(mutex_);
            ended_ = status;
            changed_.notify_all();
        };
    }
    std::optional<base::Status> wait() {
        std::unique_lock lock(mutex_);
        changed_.wait_for(lock, test_support::kEventually, [&] { return ended_.has_value(); });
        return ended_;
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::optional<base::Status> ended_;
};

TEST_P(RemoteTest, ARunIsStartedFollowedInterruptedAndFinished) {
    auto there = remote();
    RunEnd end;
    const RunRequest request{.text = "x",
                             .agent = "main",
                             .trust = domain::TrustLevel::TrustedIntegration,
                             .max_turns = 3,
                             .wait_for_tasks = false,
                             .client_workspace = "/p",
                             .client_cwd = "/p/q"};
    auto hold = there.start_run(request, {}, end.callback());
    ASSERT_TRUE(hold) << hold.error().message;
    EXPECT_EQ(
        hold->started,
        (RunStarted{
            .run_id = "run 1", .agent_id = "main", .model_ref = "a/b", .message_id = "message-1"}));
    EXPECT_EQ(base::to_json(service_.last_run().value()), base::to_json(request));
    EXPECT_TRUE(there.interrupt_run("run 1", "operator_interrupt"));
    service_.end_run();
    ASSERT_TRUE(end.wait());
    EXPECT_TRUE(*end.wait());
    EXPECT_TRUE(service_.run_is_held());  // Until the client has its result.
    EXPECT_EQ(there.run_result("run 1")->final_text, "Done.");
    EXPECT_TRUE(there.finish_run("run 1"));
    EXPECT_THAT(service_.calls(),
                ElementsAre("run main x", "interrupt_run run 1 operator_interrupt",
                            "run_result run 1", "finish_run run 1"));
    hold->lease.reset();
    EXPECT_TRUE(test_support::eventually([&] { return !service_.run_is_held(); }));
}

TEST_P(RemoteTest, AClientThatLeavesReleasesItsRun) {
    auto there = remote();
    RunEnd end;
    auto hold = there.start_run({.text = "x"}, {}, end.callback());
    ASSERT_TRUE(hold) << hold.error().message;
    EXPECT_TRUE(service_.run_is_held());
    hold->lease.reset();
    EXPECT_TRUE(test_support::eventually([&] { return !service_.run_is_held(); }));
}

TEST_P(RemoteTest, ARunThatCannotBeStartedKeepsItsError) {
    service_.fail_next({base::ErrorCode::Conflict, "another run has the agent", "busy"});
    RunEnd end;
    const auto refused = remote().start_run({.text = "x"}, {}, end.callback());
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, base::ErrorCode::Conflict);
    EXPECT_EQ(refused.error().message, "another run has the agent");
}

TEST_F(RemoteTest, ADaemonThatDoesNotKnowRunsIsToBeReplaced) {
    const std::string body = R"({"ok":false,"error":"there is no such route","code":"not_found"})";
    const Stub old(folder_ / "old.sock",
                   fmt::format("HTTP/1.1 404 Not Found\r\nContent-Type: application/json\r\n"
                               "Content-Length: {}\r\nConnection: close\r\n\r\n{}",
                               body.size(), body));
    RunEnd end;
    const auto refused = RemoteService({.address = {.socket = folder_ / "old.sock"}})
                             .start_run({.text = "x"}, {}, end.callback());
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("holon daemon restart"));
}

TEST_P(RemoteTest, ARunWhoseDaemonEndsSaysWhatToDo) {
    RunEnd end;
    auto there = remote();
    const auto hold = there.start_run({.text = "x"}, {}, end.callback());
    ASSERT_TRUE(hold);
    server_->drain(0ms);
    const auto ended = end.wait();
    ASSERT_TRUE(ended);
    ASSERT_FALSE(*ended);
    EXPECT_THAT(ended->error().message, HasSubstr("holon daemon start"));
    EXPECT_THAT(ended->error().message, HasSubstr("holon tail -f --agent main"));
}

TEST_P(RemoteTest, DeltasReachTheOneWhoWatchesThem) {
    auto there = remote();
    std::mutex mutex;
    std::string seen;
    const auto token = there.watch_deltas("main", [&](const Delta& delta) {
        const std::lock_guard lock(mutex);
        seen += delta.text;
    });
    ASSERT_TRUE(test_support::eventually([&] { return service_.delta_watchers() == 1; }));
    service_.add_events("main", 1);
    service_.add_delta("main", "Hello, ");
    service_.add_delta("main", "you.");
    EXPECT_TRUE(test_support::eventually([&] {
        const std::lock_guard lock(mutex);
        return seen == "Hello, you.";
    }));
}

// Deltas are not stored, so one who connects has to load what waits.
TEST_P(RemoteTest, QuestionsMayHaveChangedBeforeAConnection) {
    auto there = remote();
    std::atomic<int> notices{0};
    const auto token = there.watch_deltas("main", [&](const Delta& delta) {
        if (delta == Delta{.kind = DeltaKind::Question, .text = ""}) ++notices;
    });
    EXPECT_TRUE(test_support::eventually([&] { return notices == 1; }));
}

TEST(Reconnect, WaitsLongerEachTimeUpToABound) {
    auto wait = kReconnectFirst;
    for (int i = 0; i < 20; ++i) wait = next_reconnect(wait);
    EXPECT_EQ(next_reconnect(kReconnectFirst), 2 * kReconnectFirst);
    EXPECT_EQ(wait, kReconnectMax);
}

}  // namespace
}  // namespace service
