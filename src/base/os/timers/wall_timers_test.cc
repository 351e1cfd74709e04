#include "base/os/timers/wall_timers.h"

#include <gmock/gmock.h>

namespace base {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr Time kNoon = Time(std::chrono::sys_days(std::chrono::year(2031) / 1 / 2)) + 12h;

// The wall clock and what waits for it; the test sets it as an administrator would.
class SetClock final : public Clock, public WallSource {
public:
    Time now() override { return now_; }
    void arm(std::optional<Time> when) override { armed = when; }
    // True when the kernel would wake the process: the time has come, or the clock was set.
    void set(Time time, WallTimers& timers) {
        now_ = time;
        timers.check();
    }
    bool passes(std::chrono::microseconds time, WallTimers& timers) {
        now_ += time;
        if (!armed || *armed > now_) return false;
        timers.check();
        return true;
    }
    std::optional<Time> armed;

private:
    Time now_{kNoon};
};

class WallTimersTest : public testing::Test {
protected:
    SetClock clock_;
    WallTimers timers_{clock_, clock_};
    std::vector<int> ran_;
    void add(int id, Time when) {
        timers_.add(static_cast<std::uint64_t>(id), when, [this, id] { ran_.push_back(id); });
    }
};

TEST_F(WallTimersTest, AJobRunsWhenItsTimeHasCome) {
    add(1, kNoon + 10s);
    add(2, kNoon + 5s);
    EXPECT_EQ(clock_.armed, kNoon + 5s);
    EXPECT_FALSE(clock_.passes(4s, timers_));
    EXPECT_TRUE(clock_.passes(1s, timers_));
    EXPECT_THAT(ran_, ElementsAre(2));
    EXPECT_EQ(clock_.armed, kNoon + 10s);
    EXPECT_TRUE(clock_.passes(1h, timers_));
    EXPECT_THAT(ran_, ElementsAre(2, 1));
    EXPECT_EQ(clock_.armed, std::nullopt);
}

TEST_F(WallTimersTest, AClockThatIsSetForwardMakesJobsDueAtOnce) {
    add(1, kNoon + 30min);
    clock_.set(kNoon + 1h, timers_);
    EXPECT_THAT(ran_, ElementsAre(1));
}

TEST_F(WallTimersTest, AClockThatIsSetBackAndRightAgainLosesNothing) {
    add(1, kNoon + 5s);
    clock_.set(kNoon - 1h, timers_);
    EXPECT_THAT(ran_, IsEmpty());
    EXPECT_EQ(clock_.armed, kNoon + 5s);
    clock_.set(kNoon + 6s, timers_);
    EXPECT_THAT(ran_, ElementsAre(1));
}

TEST_F(WallTimersTest, AMachineThatStartsTenYearsBackFiresOnceItKnowsTheTime) {
    clock_.set(kNoon - std::chrono::years(10), timers_);
    add(1, kNoon);
    EXPECT_EQ(clock_.armed, kNoon);
    clock_.set(kNoon + 1s, timers_);
    EXPECT_THAT(ran_, ElementsAre(1));
}

TEST_F(WallTimersTest, ACancelledJobDoesNotRunAndAJobMayCancelTheNext) {
    add(2, kNoon + 2s);
    add(3, kNoon + 3s);
    timers_.add(1, kNoon + 1s, [this] {
        ran_.push_back(1);
        timers_.cancel(2);
    });
    EXPECT_FALSE(timers_.cancel(9));
    clock_.set(kNoon + 10s, timers_);
    EXPECT_THAT(ran_, ElementsAre(1, 3));
    EXPECT_FALSE(timers_.cancel(1));
}

TEST_F(WallTimersTest, AJobThatThrowsKeepsNoOtherFromRunning) {
    timers_.add(1, kNoon, [] { throw std::runtime_error("a bug"); });
    add(2, kNoon);
    EXPECT_THROW(timers_.check(), std::runtime_error);
    EXPECT_EQ(clock_.armed, kNoon) << "the source wakes the loop for the second";
    timers_.check();
    EXPECT_THAT(ran_, ElementsAre(2));
}

}  // namespace
}  // namespace base
