#include "record/telemetry/spans.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "domain/events/tasks.h"
#include "domain/events/tools.h"
#include "domain/events/turn.h"

namespace telemetry {
namespace {

using testing::Contains;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;
using namespace std::chrono_literals;
namespace kinds = domain::events;

constexpr base::Time kEnd = base::Time(std::chrono::microseconds(1'925'000'000'000'000));

template <class Payload>
events::Committed committed(const Payload& payload) {
    return {
        {"main"},
        {.created_at = kEnd, .kind = std::string(Payload::kKind), .data = base::to_json(payload)}};
}

kinds::TurnTerminal turn_end(std::optional<std::string> reason = {}) {
    kinds::TurnTerminal turn;
    turn.run_id = {"run-1"};
    turn.turn_index = 3;
    turn.completed_at = kEnd;
    turn.duration_ms = 1500;
    if (reason) turn.kind = domain::TerminalKind::Aborted;
    turn.reason = std::move(reason);
    return turn;
}

kinds::ProviderRoundCompleted round_end() {
    return {.run_id = {"run-1"},
            .round = 2,
            .provider_started_at = kEnd - 700ms,
            .provider_completed_at = kEnd - 200ms,
            .input_tokens = 10,
            .output_tokens = 4,
            .requested_model = "a/m",
            .active_model = "a/m"};
}

TEST(Spans, ATurnItsRoundsAndTheirCallsAreOneTrace) {
    kinds::ToolExecuted call;
    call.run_id = {"run-1"};
    call.round = 2;
    call.tool_call_id = {"call-1"};
    call.tool_name = "ExecCommand";
    call.duration_ms = 40;
    const auto turn = spans_of(committed(turn_end()));
    const auto round = spans_of(committed(round_end()));
    const auto tool = spans_of(committed(call));
    ASSERT_THAT(turn, SizeIs(1));
    ASSERT_THAT(round, SizeIs(1));
    ASSERT_THAT(tool, SizeIs(1));
    EXPECT_THAT(turn[0].trace_id, SizeIs(32));
    EXPECT_THAT(turn[0].span_id, SizeIs(16));
    EXPECT_EQ(turn[0].parent_span_id, "");
    EXPECT_EQ(turn[0].end - turn[0].start, 1500ms);
    EXPECT_EQ(round[0].trace_id, turn[0].trace_id);
    EXPECT_EQ(round[0].parent_span_id, turn[0].span_id);
    EXPECT_EQ(round[0].end - round[0].start, 500ms);
    EXPECT_THAT(round[0].attributes,
                Contains(Pair("gen_ai.usage.input_tokens", Attribute(std::int64_t{10}))));
    EXPECT_EQ(tool[0].trace_id, turn[0].trace_id);
    EXPECT_EQ(tool[0].parent_span_id, round[0].span_id);
    EXPECT_EQ(tool[0].name, "execute_tool ExecCommand");
    EXPECT_EQ(tool[0].start, kEnd - 40ms);
}

TEST(Spans, AFailureIsNamedAndNeverQuoted) {
    EXPECT_EQ(spans_of(committed(turn_end("provider_failed")))[0].failure, "provider_failed");
    EXPECT_EQ(spans_of(committed(turn_end("the model said: my key is 7")))[0].failure, "failed");
    kinds::ToolExecutionFailed call;
    call.run_id = {"run-1"};
    call.tool_call_id = {"call-1"};
    call.error_kind = "execution_failed";
    call.error = "secret text";
    const auto span = spans_of(committed(call)).at(0);
    EXPECT_TRUE(span.failed);
    EXPECT_EQ(span.failure, "execution_failed");
}

TEST(Spans, ATaskIsATraceOfItsOwn) {
    domain::Task record;
    record.id = {"task-1"};
    record.created_at = kEnd - 3s;
    record.status = domain::TaskStatus::Failed;
    const auto span = spans_of(committed(kinds::TaskResultReceived(record))).at(0);
    EXPECT_EQ(span.end - span.start, 3s);
    EXPECT_TRUE(span.failed);
    EXPECT_EQ(span.parent_span_id, "");
}

TEST(Spans, OtherEventsAndUnreadableOnesEndNone) {
    EXPECT_THAT(spans_of(committed(kinds::TurnWaitOver{})), IsEmpty());
    EXPECT_THAT(spans_of({{"main"}, {.kind = "turn_terminal", .data = "?"}}), IsEmpty());
}

}  // namespace
}  // namespace telemetry
