#include "base/os/asio_loop.h"

#include <dirent.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <latch>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"

#include <gmock/gmock.h>

namespace base {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

std::size_t thread_count() {
    std::size_t count = 0;
    DIR* folder = opendir("/proc/self/task");
    while (const dirent* entry = readdir(folder)) count += entry->d_name[0] != '.';
    closedir(folder);
    return count;
}

TEST(AsioLoop, RunsPostedTasksInOrder) {
    AsioLoop loop;
    std::vector<int> seen;
    loop.post([&] {
        seen.push_back(1);
        loop.post([&] {
            seen.push_back(3);
            loop.stop();
        });
    });
    loop.post([&] { seen.push_back(2); });
    loop.run();
    EXPECT_THAT(seen, ElementsAre(1, 2, 3));
}

TEST(AsioLoop, TakesPostsFromManyThreads) {
    constexpr int kThreads = 4, kPosts = 500;
    AsioLoop loop;
    int ran = 0;
    std::vector<std::jthread> threads;
    for (int i = 0; i < kThreads; ++i)
        threads.emplace_back([&] {
            for (int j = 0; j < kPosts; ++j)
                loop.post([&] {
                    if (++ran == kThreads * kPosts) loop.stop();
                });
        });
    loop.run();
    EXPECT_EQ(ran, kThreads * kPosts);
}

TEST(AsioLoop, RunsTimersByTheirDelay) {
    AsioLoop loop;
    std::vector<int> seen;
    const auto start = std::chrono::steady_clock::now();
    loop.after(20ms, [&] {
        seen.push_back(2);
        loop.stop();
    });
    loop.after(1ms, [&] { seen.push_back(1); });
    loop.run();
    EXPECT_THAT(seen, ElementsAre(1, 2));
    EXPECT_GE(std::chrono::steady_clock::now() - start, 20ms);
}

TEST(AsioLoop, NeverRunsACancelledTimer) {
    AsioLoop loop;
    std::vector<int> seen;
    Loop::TimerHandle second{};
    // Both have expired when the loop first checks, and the first cancels the second.
    loop.after(0us, [&] {
        seen.push_back(1);
        loop.cancel(second);
        loop.post([&] { loop.stop(); });
    });
    second = loop.after(1us, [&] { seen.push_back(2); });
    loop.cancel(Loop::TimerHandle::None);
    loop.run();
    EXPECT_THAT(seen, ElementsAre(1));
    loop.cancel(second);
}

TEST(AsioLoop, RunsAJobWhenTheWallClockShowsItsTime) {
    AsioLoop loop;
    SystemClock clock;
    std::vector<int> seen;
    const Time start = clock.now();
    loop.at(start + 30ms, [&] {
        seen.push_back(2);
        EXPECT_GE(clock.now(), start + 30ms);
        loop.stop();
    });
    loop.at(start - 24h, [&] { seen.push_back(1); });
    loop.at(start + std::chrono::years(100), [&] { seen.push_back(3); });
    loop.cancel(loop.at(start + 1ms, [&] { seen.push_back(4); }));
    loop.run();
    EXPECT_THAT(seen, ElementsAre(1, 2));
}

TEST(AsioLoop, AcceptsTheLongestDelay) {
    AsioLoop loop;
    bool ran = false;
    loop.after(std::chrono::microseconds::max(), [&] { ran = true; });
    loop.post([&] { loop.stop(); });
    loop.run();
    EXPECT_FALSE(ran);
}

TEST(AsioLoop, StartsNoThreadUntilWorkIsOffloaded) {
    const std::size_t before = thread_count();
    AsioLoop loop;
    loop.after(0us, [&] { loop.stop(); });
    loop.run();
    EXPECT_EQ(thread_count(), before);
}

TEST(AsioLoop, OffloadsWorkAndReturnsToTheLoop) {
    AsioLoop loop;
    std::thread::id work_thread, done_thread;
    loop.offload([&] { work_thread = std::this_thread::get_id(); },
                 [&] {
                     done_thread = std::this_thread::get_id();
                     loop.stop();
                 });
    loop.run();
    EXPECT_NE(work_thread, std::this_thread::get_id());
    EXPECT_EQ(done_thread, std::this_thread::get_id());
}

TEST(AsioLoop, FinishesOffloadedWorkBeforeWhatItUsesIsDestroyed) {
    AsioLoop loop;
    std::atomic<int> works = 0;
    int done = 0;
    const auto offload = [&] { loop.offload([&] { ++works; }, [&] { ++done; }); };
    for (int i = 0; i < 100; ++i) offload();
    loop.finish_offloaded();
    EXPECT_EQ(works, 100);
    EXPECT_EQ(done, 0);
    offload();  // Threads are started again.
    loop.finish_offloaded();
    EXPECT_EQ(works, 101);
    loop.post([&] { loop.stop(); });
    loop.run();
    EXPECT_EQ(done, 101);
}

TEST(AsioLoop, DoesEightPiecesOfOffloadedWorkAtOnce) {
    AsioLoop loop;
    std::latch all(8);
    int done = 0;
    for (int i = 0; i < 8; ++i)
        loop.offload([&] { all.arrive_and_wait(); },
                     [&] {
                         if (++done == 8) loop.stop();
                     });
    loop.run();
    EXPECT_EQ(done, 8);
}

TEST(AsioLoop, StartsFewThreadsForWorkThatComesOneByOne) {
    const std::size_t before = thread_count();
    AsioLoop loop;
    int left = 20;
    std::size_t most = 0;
    std::function<void()> next = [&] {
        most = std::max(most, thread_count());
        if (left-- == 0) return loop.stop();
        loop.offload([] {}, [&] { next(); });
    };
    next();
    loop.run();
    EXPECT_LE(most, before + 2);
}

TEST(AsioLoop, PassesEscapedExceptionsToOnErrorAndContinues) {
    AsioLoop loop;
    std::vector<std::string> errors;
    loop.on_error = [&](std::exception_ptr error) {
        try {
            std::rethrow_exception(error);
        } catch (const std::exception& caught) {
            errors.emplace_back(caught.what());
        }
    };
    bool done = false;
    loop.post([] { throw Bug("posted"); });
    loop.after(0us, [] { throw Bug("timed"); });
    loop.after(10ms, [&] {
        loop.on_error = [&, before = loop.on_error](std::exception_ptr error) {
            before(error);
            loop.stop();
        };
        loop.offload([] { throw Bug("offloaded"); }, [&] { done = true; });
    });
    loop.run();
    EXPECT_THAT(errors, ElementsAre("posted", "timed", "offloaded"));
    EXPECT_FALSE(done);
}

TEST(AsioLoop, RethrowsFromRunByDefaultAndCanRunAgain) {
    AsioLoop loop;
    loop.post([] { throw Bug("escaped"); });
    EXPECT_THROW(loop.run(), Bug);
    bool ran = false;
    loop.post([&] {
        ran = true;
        loop.stop();
    });
    loop.run();
    EXPECT_TRUE(ran);
}

TEST(AsioLoop, StopsFromAnotherThreadAndBeforeItRuns) {
    AsioLoop loop;
    loop.stop();
    loop.run();
    std::jthread thread([&] { loop.stop(); });
    loop.run();
}

TEST(AsioLoop, DropsWhatIsLeftWhenDestroyed) {
    std::atomic<int> dropped{0};
    {
        AsioLoop loop;
        // A dropped task may still reach back into the loop.
        struct Guard {
            Loop* loop;
            std::atomic<int>* dropped;
            Loop::TimerHandle timer;
            ~Guard() {
                loop->cancel(timer);
                ++*dropped;
            }
        };
        const auto make = [&](Loop::TimerHandle timer) {
            return std::shared_ptr<Guard>(new Guard{&loop, &dropped, timer});
        };
        const auto timer = loop.after(1h, [guard = make(Loop::TimerHandle::None)] {});
        loop.post([guard = make(timer)] {});
        loop.offload([] {}, [guard = make(timer)] {});
    }
    EXPECT_EQ(dropped, 3);
}

}  // namespace
}  // namespace base
