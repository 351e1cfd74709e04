// No loop of the runtime goes round without a delay: every retry is driven with a store that always
// fails, and the steps are counted.
#include <set>

#include "tests/flow/resident_fixture.h"

namespace scheduler {
namespace {

using base::ErrorCode;
using namespace std::chrono_literals;

// A store whose reads or writes fail with one error from a moment on.
class FailingStore final : public store::Store {
public:
    explicit FailingStore(store::Store& inner) : inner_(inner) {}

    store::Status write(store::Durability durability, store::Work work) override {
        ++writes;
        if (write_error) return std::unexpected(*write_error);
        return inner_.write(durability, std::move(work));
    }
    void write_async(store::Durability durability, store::Work work,
                     std::move_only_function<void(store::Status)> done) override {
        ++writes;
        if (!write_error) return inner_.write_async(durability, std::move(work), std::move(done));
        work = nullptr;
        done(std::unexpected(*write_error));
    }
    store::Status read(store::Work work) override {
        ++reads;
        if (read_error) return std::unexpected(*read_error);
        return inner_.read(std::move(work));
    }

    std::optional<base::Error> write_error;
    std::optional<base::Error> read_error;
    std::int64_t writes{0};
    std::int64_t reads{0};

private:
    store::Store& inner_;
};

enum class Fails { Writes, Reads, Both };

class RetriesTest : public ResidentTest,
                    public testing::WithParamInterface<std::tuple<Fails, ErrorCode>> {
protected:
    FailingStore failing_{*store_};
    std::int64_t stuck_{0};

    void open(std::string_view scenario) {
        scheduler_.reset();
        model_.emplace(scenario, loop_);
        const auto all = parts();
        scheduler_.emplace(turn::Parts{.store = failing_,
                                       .loop = all.loop,
                                       .clock = all.clock,
                                       .ids = all.ids,
                                       .provider = all.provider,
                                       .dispatcher = all.dispatcher,
                                       .feed = all.feed,
                                       .home_of = all.home_of},
                           Options{.model_ref = "scripted/test"});
        scheduler_->on_stuck = [&](const auto&, const base::Error&) { ++stuck_; };
    }
    void fail() {
        const auto& [what, code] = GetParam();
        const base::Error error{.code = code, .message = "the disk is gone"};
        if (what != Fails::Reads) failing_.write_error = error;
        if (what != Fails::Writes) failing_.read_error = error;
        failing_.reads = failing_.writes = 0;
    }
    // The steps of a minute; the runtime may try again every second at most, and for few things.
    void expect_calm() {
        constexpr std::int64_t kCallsPerSecondMax = 12;
        bool is_over = false;
        loop_.after(60s, [&] { is_over = true; });
        std::int64_t steps = 0;
        while (!is_over && steps < 100'000 && loop_.run_one()) ++steps;
        EXPECT_TRUE(is_over || steps < 1000) << steps << " steps and no end";
        EXPECT_LE(failing_.reads + failing_.writes, 60 * kCallsPerSecondMax);
    }
    // The work is finished once the store is back, unless the fault was the agent's own.
    void recover() {
        failing_.write_error.reset();
        failing_.read_error.reset();
        control(Control::Recover);
        scheduler_->wake(agent_);
        scheduler_->timers_changed();
        bool is_over = false;
        loop_.after(60s, [&] { is_over = true; });
        loop_.run_until([&] { return is_over; });
    }
};

TEST_P(RetriesTest, WhenAMessageWaits) {
    send("hello");
    open(kOneAnswer);
    fail();
    scheduler_->start();
    scheduler_->wake(agent_);
    expect_calm();
    recover();
    EXPECT_EQ(pending(), 0);
    EXPECT_EQ(messages_of(domain::MessageKind::OperatorPrompt)[0].entry.status,
              domain::QueueStatus::Processed)
        << "no message is lost for a fault of the store";
}

TEST_P(RetriesTest, WhenATurnWasLeftOpen) {
    open(kSlowAnswer);
    scheduler_->start();
    send("hello");
    scheduler_->wake(agent_);
    ASSERT_TRUE(loop_.run_until([&] { return model_->asked == 1; }));
    open(kOneAnswer);
    fail();
    scheduler_->start();
    expect_calm();
    recover();
    EXPECT_EQ(messages_of(domain::MessageKind::OperatorPrompt)[0].entry.status,
              domain::QueueStatus::Processed);
}

TEST_P(RetriesTest, WhenATurnIsUnderWay) {
    open(kSlowAnswer);
    scheduler_->start();
    send("hello");
    scheduler_->wake(agent_);
    ASSERT_TRUE(loop_.run_until([&] { return model_->asked == 1; }));
    fail();
    expect_calm();
    recover();
    EXPECT_EQ(messages_of(domain::MessageKind::OperatorPrompt)[0].entry.status,
              domain::QueueStatus::Processed);
}

TEST_P(RetriesTest, WhenATimerIsDue) {
    timer(100);
    open(kOneAnswer);
    fail();
    scheduler_->start();
    expect_calm();
    recover();
    // A message's own fault is a timer's own fault here: it is given up once that can be recorded.
    EXPECT_EQ(read<std::int64_t>([&](store::Tx& tx) { return tx.active_timer_count(agent_); }), 0);
}

TEST_P(RetriesTest, WhenAHintWaits) {
    const auto apply = [&](Control command) {
        commit([&](events::Log& log) -> base::Status {
            TRY(apply_control(log, agent_, command, {"control_authenticated"}));
            return {};
        });
    };
    apply(Control::Pause);
    hint(domain::Body{domain::TextBody{"changed"}});
    apply(Control::Resume);
    open(kOneAnswer);
    fail();
    scheduler_->start();
    expect_calm();
    recover();
    EXPECT_FALSE(pending_hint());
    EXPECT_EQ(pending(), 0);
}

std::string name_of(const testing::TestParamInfo<RetriesTest::ParamType>& info) {
    constexpr std::array kWhat{"Writes", "Reads", "Both"};
    return std::string(kWhat[static_cast<std::size_t>(std::get<0>(info.param))]) +
           std::to_string(static_cast<int>(std::get<1>(info.param)));
}

INSTANTIATE_TEST_SUITE_P(Faults, RetriesTest,
                         testing::Combine(testing::Values(Fails::Writes, Fails::Reads, Fails::Both),
                                          testing::Values(ErrorCode::Io, ErrorCode::Unavailable,
                                                          ErrorCode::Conflict, ErrorCode::Corrupt,
                                                          ErrorCode::Internal)),
                         name_of);

// Hints -------------------------------------------------------------------------------------------

// Bytes that are six times as long as JSON.
domain::Body escaping(std::size_t bytes) {
    return domain::TextBody{std::string(bytes, '\x01')};
}

using HintBoundTest = ResidentTest;

TEST_F(HintBoundTest, ABodyThatGrowsBeyondTheBoundByEscapingIsRefusedAtTheEntryPoint) {
    const domain::WakeHint large{.target_agent_id = agent_, .body = escaping(256 * 1024)};
    const auto refused = check_hint(large);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::InvalidInput);
    EXPECT_THAT(refused.error().message, testing::HasSubstr("escaped"));
    EXPECT_TRUE(check_hint({.target_agent_id = agent_, .body = escaping(64 * 1024)}));
    EXPECT_FALSE(check_hint({.target_agent_id = agent_, .source = std::string(2000, 's')}));
}

TEST_F(HintBoundTest, MergedHintsStayWithinTheBoundOfATick) {
    start(kOneAnswer);
    control(Control::Pause);
    for (int i = 0; i < 40; ++i) hint(escaping(140 * 1024), std::string(1000, '\x02'));
    ASSERT_TRUE(pending_hint());
    EXPECT_EQ(pending_hint()->merged_count, 39);
    scheduler_->start();
    control(Control::Resume);
    loop_.run();
    EXPECT_EQ(messages_of(domain::MessageKind::SystemTick).size(), 1U);
    EXPECT_EQ(events_of("wake_hint_quarantined").size(), 0U);
}

TEST_F(HintBoundTest, AHintThatNoTickCanBeMadeOfIsQuarantinedAndDoesNotSpin) {
    start(kOneAnswer);
    // As an older program stored it.
    commit([&](events::Log& log) {
        return log.tx().put_wake_hint({.target_agent_id = agent_,
                                       .reason = "changed",
                                       .source = "callback",
                                       .body = escaping(256 * 1024)});
    });
    scheduler_->start();
    std::int64_t steps = 0;
    while (steps < 10'000 && loop_.run_one()) ++steps;
    EXPECT_LT(steps, 1000);
    EXPECT_FALSE(pending_hint());
    EXPECT_EQ(events_of("wake_hint_quarantined").size(), 1U);
    EXPECT_EQ(messages_of(domain::MessageKind::SystemTick).size(), 0U);
    // The agent is none the worse for it.
    send("hello");
    scheduler_->wake(agent_);
    loop_.run();
    EXPECT_EQ(model_->asked, 1U);
}

}  // namespace
}  // namespace scheduler
