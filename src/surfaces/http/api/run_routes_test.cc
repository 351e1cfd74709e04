#include <gmock/gmock.h>

#include "tests/http/fixture.h"
#include "tests/support/eventually.h"

namespace test_http {
namespace {

using testing::HasSubstr;

class RunRoutes : public ServerTest {
protected:
    static constexpr auto kStream = "/control/runs/stream";
};

TEST_F(RunRoutes, AConnectionHoldsARunFromItsStartUntilTheClientLeaves) {
    start();
    {
        auto client = local();
        client.send(post(kStream, R"({"text":"go","agent":"main","max_turns":2})"));
        EXPECT_THAT(client.read_until("\r\n\r\n"), HasSubstr("text/event-stream"));
        const auto started = client.read_until("\n\n");
        EXPECT_THAT(started, HasSubstr("event: run_started\ndata: "));
        EXPECT_THAT(started, HasSubstr(R"("run_id":"run 1","agent_id":"main")"));
        EXPECT_THAT(started, testing::Not(HasSubstr("id: ")));
        EXPECT_EQ(service_.last_run()->max_turns, 2);
        EXPECT_TRUE(service_.last_run()->wait_for_tasks);
        service_.end_run();
        EXPECT_THAT(client.read_until("\n\n"), HasSubstr("event: run_ended\ndata: {}"));
        EXPECT_TRUE(service_.run_is_held());
        const auto result = tcp().ask(get("/control/runs/run%201"));
        EXPECT_EQ(result.status, 200);
        EXPECT_EQ(result.json().at("final_text"), "Done.");
        EXPECT_EQ(tcp().ask(post("/control/runs/run%201/finish", "{}")).status, 200);
    }
    EXPECT_TRUE(test_support::eventually([&] { return !service_.run_is_held(); }));
}

TEST_F(RunRoutes, AClientThatLeavesEarlyReleasesItsRun) {
    start();
    {
        auto client = tcp();
        client.send(post(kStream, R"({"text":"go"})"));
        EXPECT_THAT(client.read_until("\n\n"), HasSubstr("200 OK"));
        EXPECT_TRUE(service_.run_is_held());
    }
    EXPECT_TRUE(test_support::eventually([&] { return !service_.run_is_held(); }));
}

TEST_F(RunRoutes, ReportsWhyARunCannotBeFollowedToItsEnd) {
    start();
    auto client = tcp();
    client.send(post(kStream, R"({"text":"go"})"));
    client.read_until("run_started");
    client.read_until("\n\n");
    service_.end_run(base::fail(base::ErrorCode::Io, "the disk is full"));
    EXPECT_THAT(client.read_until("\n\n"), HasSubstr(R"(data: {"error":"the disk is full"})"));
}

TEST_F(RunRoutes, InterruptsByNameAndRefusesWhatIsNoRequest) {
    start();
    EXPECT_EQ(tcp().ask(post("/control/runs/r/interrupt", R"({"reason":"enough"})")).status, 200);
    EXPECT_THAT(service_.calls(), testing::ElementsAre("interrupt_run r enough"));
    EXPECT_EQ(tcp().ask(post("/control/runs/r/interrupt", "{}")).status, 422);
    EXPECT_EQ(tcp().ask(post(kStream, R"({"text":"go","colour":"red"})")).status, 422);
    EXPECT_EQ(tcp().ask(post(kStream, R"({"text":"go","agent":"nobody"})")).status, 404);
}

}  // namespace
}  // namespace test_http
