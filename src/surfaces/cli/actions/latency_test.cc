#include "surfaces/cli/actions/latency.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cli {
namespace {

domain::Event event(std::int64_t at_ms, std::string kind, json::object data) {
    return {.created_at = base::from_micros(at_ms * 1000),
            .kind = std::move(kind),
            .data = std::move(data)};
}

// A turn of 900 ms whose message waited for `wait_ms`.
std::vector<domain::Event> turn_after(std::int64_t wait_ms, std::int64_t context_ms = 7) {
    const auto with = [&](json::object data) {
        data["run_id"] = "r1";
        return data;
    };
    return {
        event(0, "message_admitted", {{"message_id", "m1"}}),
        event(wait_ms, "message_processing_started", {{"id", "m1"}}),
        event(wait_ms, "turn_started", with({{"message_id", "m1"}, {"turn_index", 3}})),
        event(wait_ms, "turn_context_built", with({{"duration_ms", context_ms}})),
        event(wait_ms + 500, "provider_round_completed",
              with({{"round", 1},
                    {"provider_round_ms", 500},
                    {"active_model", "a/m"},
                    {"input_tokens", 10},
                    {"output_tokens", 5}})),
        event(wait_ms + 800, "tool_executed",
              with({{"tool_name", "ExecCommand"}, {"duration_ms", 300}, {"summary", "ok"}})),
        event(wait_ms + 900, "turn_terminal", with({{"kind", "completed"}, {"duration_ms", 900}}))};
}

// contract: PROV-65
TEST(Latency, QueueWaitIsTheTimeFromAdmissionToProcessing) {
    EXPECT_EQ(latency_of(turn_after(1234), 10).at(0).queue_wait_ms, 1234);
    auto unknown = turn_after(0);
    unknown.erase(unknown.begin());
    EXPECT_EQ(latency_of(unknown, 10).at(0).queue_wait_ms, std::nullopt);
}

// contract: PROV-66
TEST(Latency, CleanupIsTheTurnsTimeWithoutRoundsAndTools) {
    for (const std::int64_t wait_ms : {0, 60'000})
        for (const std::int64_t context_ms : {0, 5'000})
            EXPECT_EQ(latency_of(turn_after(wait_ms, context_ms), 10).at(0).cleanup_ms(), 100);
    auto open = turn_after(0);
    open.pop_back();
    EXPECT_EQ(latency_of(open, 10).at(0).cleanup_ms(), std::nullopt);
}

TEST(Latency, IsListedTurnByTurnNewestFirst) {
    auto events = turn_after(1500);
    events.push_back(event(9000, "turn_started", {{"run_id", "r2"}, {"turn_index", 4}}));
    EXPECT_EQ(latency_of(events, 1).at(0).run_id, "r2");
    const auto turns = latency_of(events, 10);
    ASSERT_EQ(turns.size(), 2U);
    EXPECT_EQ(latency_text(turns[1]),
              "turn 3 run=r1 kind=completed runtime_total=900ms\n"
              "  queue_wait 1.5s\n"
              "  context_build 7ms\n"
              "  provider round 1 500ms  a/m input=10 output=5\n"
              "  tool ExecCommand 300ms  ok\n"
              "  tool_execution 300ms\n"
              "  turn_cleanup 100ms\n");
    EXPECT_EQ(latency_text(turns[0]),
              "turn 4 run=r2 kind=open runtime_total=unknown\n"
              "  queue_wait unknown\n"
              "  context_build unknown\n"
              "  tool_execution 0ms\n"
              "  turn_cleanup unknown\n");
}

}  // namespace
}  // namespace cli
