#include "record/telemetry/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "domain/events/tools.h"
#include "domain/events/turn.h"

namespace telemetry {
namespace {

using testing::HasSubstr;
using testing::Not;
namespace kinds = domain::events;

class MetricsTest : public testing::Test {
protected:
    template <class Payload>
    void publish(const Payload& payload) {
        feed.publish(
            {{{"main"}, {.kind = std::string(Payload::kKind), .data = base::to_json(payload)}}});
    }
    void call(const std::string& tool) {
        kinds::ToolExecuted executed;
        executed.run_id = {"run-1"};
        executed.tool_call_id = {"call-1"};
        executed.tool_name = tool;
        publish(executed);
    }

    events::Feed feed;
    Metrics metrics{feed};
};

TEST_F(MetricsTest, CountRoundsTokensTurnsAndCalls) {
    kinds::ProviderRoundCompleted round{
        .run_id = {"run-1"}, .input_tokens = 10, .output_tokens = 4, .active_model = "a/m"};
    round.cost_usd = 0.25;
    round.provider_attempt_timeline.attempts.push_back({.model_ref = "a/m"});
    publish(round);
    publish(round);
    kinds::TurnTerminal turn;
    turn.run_id = {"run-1"};
    publish(turn);
    call("ExecCommand");
    const auto text = metrics.text();
    EXPECT_THAT(text, HasSubstr("holon_model_tokens_total{direction=\"input\",model=\"a/m\"} 20"));
    EXPECT_THAT(text, HasSubstr("holon_model_cost_usd_total{model=\"a/m\"} 0.5"));
    EXPECT_THAT(text, HasSubstr("holon_turns_total{kind=\"completed\"} 1"));
    EXPECT_THAT(text, HasSubstr("holon_tool_calls_total{status=\"ok\",tool=\"ExecCommand\"} 1"));
    EXPECT_THAT(text, HasSubstr("holon_model_requests_total{"));
    EXPECT_THAT(text, HasSubstr("holon_model_round_seconds_count{model=\"a/m\"} 2"));
}

TEST_F(MetricsTest, NamesThatAModelInventsStayBounded) {
    for (int i = 0; i < 500; ++i) call("Invented" + std::to_string(i));
    const auto text = metrics.text();
    EXPECT_THAT(text, HasSubstr("tool=\"(other)\"} 436"));
    EXPECT_THAT(text, Not(HasSubstr("Invented64")));
}

TEST_F(MetricsTest, UnreadableEventsAreSkipped) {
    feed.publish({{{"main"}, {.kind = "tool_executed", .data = 7}}});
    EXPECT_THAT(metrics.text(), Not(HasSubstr("holon_tool_calls_total{")));
}

TEST_F(MetricsTest, GaugesAreWhatTheCallerRead) {
    EXPECT_THAT(Metrics::text({{"holon_agents", "Agents.", 3}}), HasSubstr("\nholon_agents 3\n"));
}

}  // namespace
}  // namespace telemetry
