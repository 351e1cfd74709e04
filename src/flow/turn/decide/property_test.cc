// Whatever happens in whatever order, a model can continue from the record.
#include <random>

#include <gtest/gtest.h>

#include "agent/context/conversation.h"
#include "flow/turn/decide/test_facts.h"

namespace turn {
namespace {

using namespace test;

// A turn lived through once, with the whole record it leaves.
class Life {
public:
    explicit Life(std::uint32_t seed) : random_(seed) { facts_.attempt.rounds_max = below(6) + 1; }

    void live(int events_max) {
        int late = 0;  // A few events after the end show that it is one.
        for (int i = 0; i < events_max && late < 4 && !HasFatalFailure(); ++i) {
            if (std::holds_alternative<domain::Closed>(facts_.attempt.state)) ++late;
            take(next_event());
        }
    }

private:
    static bool HasFatalFailure() { return testing::Test::HasFatalFailure(); }
    std::int64_t below(std::int64_t bound) {
        return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(bound));
    }

    ModelReplied random_reply(std::int64_t round) {
        constexpr std::array<std::string_view, 5> kTools{"ExecCommand", "AgentGet", "Sleep",
                                                         "Enqueue", "ApplyPatch"};
        std::vector<domain::Block> blocks;
        if (below(2) == 0) blocks.push_back(text("words"));
        for (std::int64_t calls = below(4); calls > 0; --calls)
            blocks.push_back(
                use(std::to_string(++last_use_), std::string(kTools[below(kTools.size())])));
        return reply(round, std::move(blocks), below(5) == 0 ? "max_tokens" : "end_turn");
    }

    ToolFinished random_result(const domain::ToolExecution& execution) {
        const auto block = execution.tool_use_id;
        const auto& tool = execution.call.tool;
        if (below(4) == 0) return broke(block, tool, "execution_failed");
        if (tool == "Sleep") return done(block, tool, {domain::SleepRequest{"later"}});
        if (tool == "Enqueue") return done(block, tool, {tools::FollowUp{"more"}});
        return done(block, tool);
    }

    const domain::ToolExecution* running() const {
        const auto* state = std::get_if<domain::AwaitingTools>(&facts_.attempt.state);
        return state ? &facts_.executions.at(static_cast<std::size_t>(state->next)) : nullptr;
    }

    Event next_event() {
        const auto* state = std::get_if<domain::Thinking>(&facts_.attempt.state);
        const auto* call = running();
        switch (below(12)) {
            case 0:
                if (call && below(2) == 0) return Interrupted{"stop", random_result(*call)};
                return Interrupted{"stop"};
            case 1:
                if (call && call->call.tool == "ExecCommand")
                    return Resumed{.unknown = broke(call->tool_use_id, call->call.tool)};
                return Resumed{};
            case 2:
                return ModelFailed{.round = below(8), .failure = {.message = "no"}};
            case 3:  // A late or repeated one.
                return done(std::to_string(below(last_use_ + 2)), "ExecCommand");
            case 4:
                return random_reply(below(8));
            default:
                if (call) return random_result(*call);
                return random_reply(state ? state->round : 1);
        }
    }

    void take(const Event& event) {
        const bool was_closed = std::holds_alternative<domain::Closed>(facts_.attempt.state);
        const Step step = decide(facts_, event, input());
        check_effects(step);
        for (const auto& entry : step.transcript) transcript_.push_back(entry);
        facts_ = after(facts_, step);
        if (was_closed) {
            ASSERT_TRUE(step.closed() && step.events.empty() && step.transcript.empty());
        }
        check_pairs(step);
        check_end(step, was_closed);
    }

    void check_effects(const Step& step) {
        ASSERT_LE(step.effects.size(), 1U);
        if (step.closed()) {
            ASSERT_TRUE(step.effects.empty());
        }
        for (const auto& effect : step.effects) {
            if (const auto* ask = std::get_if<AskModel>(&effect)) {
                const auto* thinking = std::get_if<domain::Thinking>(&step.attempt.state);
                ASSERT_TRUE(thinking && thinking->round == ask->round);
                ASSERT_LE(ask->round, facts_.attempt.rounds_max);
                continue;
            }
            if (const auto* compact = std::get_if<Compact>(&effect)) {
                const auto* state = std::get_if<domain::Compacting>(&step.attempt.state);
                ASSERT_TRUE(state && state->round == compact->round);
                continue;
            }
            const Facts next = after(facts_, step);
            const auto& id = std::get<RunTool>(effect).call_id;
            const auto found = std::ranges::find_if(
                next.executions, [&](const auto& known) { return known.call.call_id == id; });
            ASSERT_NE(found, next.executions.end());
            ASSERT_EQ(found->state, domain::CallState::Started);
        }
        int started = 0;
        for (const auto& execution : after(facts_, step).executions)
            started += execution.state == domain::CallState::Started ? 1 : 0;
        ASSERT_LE(started, 1);
    }

    // Once no tool is awaited, each call of each round has its one result, right behind it.
    void check_pairs(const Step& step) {
        if (std::holds_alternative<domain::AwaitingTools>(step.attempt.state)) return;
        std::vector<std::string> open;
        for (const auto& entry : transcript_) {
            const auto piece = context::piece_of(0, entry).value();
            if (!piece.turn) continue;
            const auto& turn = *piece.turn;
            if (const auto* results = std::get_if<provider::ToolResultsTurn>(&turn)) {
                std::vector<std::string> answered;
                for (const auto& answer : results->results) answered.push_back(answer.tool_use_id);
                ASSERT_EQ(answered, open);
                open.clear();
                continue;
            }
            ASSERT_TRUE(open.empty()) << "call " << open.front() << " has no result";
            if (const auto* said = std::get_if<provider::AssistantTurn>(&turn))
                for (const auto& block : said->blocks)
                    if (const auto* wanted = std::get_if<domain::ToolUseBlock>(&block))
                        open.push_back(wanted->id);
        }
        ASSERT_TRUE(open.empty()) << "call " << open.front() << " has no result";
        for (const auto& execution : facts_.executions)
            ASSERT_EQ(execution.state, domain::CallState::Finished);
    }

    // A turn ends once: with a terminal record, a released message, and an answer unless it was
    // interrupted.
    void check_end(const Step& step, bool was_closed) {
        if (was_closed || !step.closed()) {
            ASSERT_TRUE(!step.release && step.briefs.empty());
            return;
        }
        ASSERT_TRUE(step.attempt.terminal && step.attempt.closed_at && step.release);
        const bool interrupted = step.attempt.terminal->reason == domain::kReasonInterrupted;
        ASSERT_EQ(step.briefs.size(), interrupted ? 0U : 1U);
        ASSERT_EQ(step.release->status == domain::QueueStatus::Interrupted, interrupted);
    }

    std::mt19937 random_;
    Facts facts_{thinking()};
    std::vector<domain::TranscriptEntry> transcript_;
    std::int64_t last_use_{0};
};

TEST(Property, AnyOrderOfEventsLeavesEveryCallPairedAndOneEffectAtATime) {
    for (std::uint32_t seed = 1; seed <= 500; ++seed) {
        SCOPED_TRACE(fmt::format("seed {}", seed));
        Life(seed).live(40);
        if (HasFatalFailure()) return;
    }
}

}  // namespace
}  // namespace turn
