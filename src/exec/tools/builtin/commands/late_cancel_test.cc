#include <deque>

#include "base/ids.h"
#include "exec/results/artifacts.h"
#include "exec/tasks/supervisor/fake_for_test.h"
#include "exec/tools/builtin/builtin.h"
#include "exec/tools/patch/folder_for_test.h"
#include "store/sql/sqlite/sqlite_store.h"

#include <gmock/gmock.h>

namespace builtin {
namespace {

// Offloaded work waits until the test says go.
class SteppedLoop final : public base::Loop {
public:
    void post(base::Job task) override { steps_.push_back(std::move(task)); }
    TimerHandle after(std::chrono::microseconds, base::Job) override { return TimerHandle::None; }
    TimerHandle at(base::Time, base::Job) override { return TimerHandle::None; }
    void cancel(TimerHandle) override {}
    void offload(base::Job work, base::Job done) override {
        post([work = std::move(work), done = std::move(done)]() mutable {
            work();
            done();
        });
    }
    // False when nothing is left to do first.
    bool step_until(const std::function<bool()>& condition) {
        while (!condition()) {
            if (steps_.empty()) return false;
            step();
        }
        return true;
    }
    void step() {
        base::Job task = std::move(steps_.front());
        steps_.pop_front();
        task();
    }

private:
    std::deque<base::Job> steps_;
};

// Keeps each process until the test ends it.
class SteppedRunner final : public base::ProcessRunner {
public:
    struct Process final : Handle {
        void cancel() override {}
    };
    base::Result<std::shared_ptr<Handle>> start(
        base::ProcessSpec, std::move_only_function<void(base::ProcessExit)> on_exit) override {
        exits.push_back(std::move(on_exit));
        return std::make_shared<Process>();
    }
    std::vector<std::move_only_function<void(base::ProcessExit)>> exits;
};

TEST(CancelledCommand, IsNotCutOffByACancellationThatCameAfterItsEnd) {
    const patch::TestFolder folder;
    const tools::ExecutionContext place{
        .agent_id = {"default"},
        .agent_home = folder.path(),
        .workspace = {.execution_root = folder.at("."), .cwd = folder.at(".")}};
    base::SystemClock clock;
    base::RandomIds ids(clock);
    results::FileArtifacts sink(folder.path() / "artifacts", "exec", ids);
    const auto store = sqlite::open_inline({.file = ":memory:"}).value();
    events::Feed feed;
    for (const bool batch : {false, true}) {
        SteppedLoop loop;
        SteppedRunner runner;
        supervisor::FakeMachine machine;
        supervisor::FakeSupervisor supervisor(loop, machine);
        tasks::Host host({.store = *store,
                          .loop = loop,
                          .clock = clock,
                          .ids = ids,
                          .feed = feed,
                          .supervisor = supervisor});
        Shell shell(loop, runner, {});
        const auto tool = batch ? exec_command_batch(shell) : exec_command(shell, host);
        const json::value args =
            batch ? json::value{{"items", {{{"cmd", "true"}}}}} : json::value{{"cmd", "true"}};
        std::optional<tools::Outcome> outcome;
        const auto running = tool->start({.call_id = {"call"}, .args = args}, place, sink,
                                         [&](tools::Outcome end) { outcome = std::move(end); });
        ASSERT_TRUE(loop.step_until([&] {
            return !runner.exits.empty() || !machine.commands.empty();
        })) << "the command starts";
        if (batch) {
            runner.exits.at(0)({.exit_code = 0});
        } else {
            supervisor.end("call", supervisor::Ended{.exit_code = 0});
            loop.step();  // The call learns of it.
        }
        running->cancel();
        ASSERT_TRUE(loop.step_until([&] { return outcome.has_value(); }));
        EXPECT_EQ(outcome->status, domain::ResultStatus::Ok) << tool->spec().name;
    }
}

}  // namespace
}  // namespace builtin
