// The built-in tools behind a real dispatcher, loop and process runner, in a temporary folder:
// `repo` is the execution root, `home` the agent's home.
#pragma once

#include "base/asio_loop.h"
#include "base/files.h"
#include "base/process_runner.h"
#include "exec/tools/builtin/builtin.h"
#include "exec/tools/dispatcher.h"
#include "exec/tools/patch/folder_for_test.h"

#include <gmock/gmock.h>

namespace builtin {

inline void add_all(tools::Registry& registry, base::Loop& loop, Shell& shell) {
    registry.add(sleep());
    registry.add(agent_get([](const domain::AgentId& agent) -> base::Result<json::object> {
        if (agent.value == "gone") return base::fail(base::ErrorCode::NotFound, "no such agent");
        return json::object{{"identity", {{"agent_id", agent.value}}}};
    }));
    registry.add(enqueue());
    registry.add(apply_patch(loop));
    registry.add(exec_command(shell));
    registry.add(exec_command_batch(shell));
}

class BuiltinTest : public testing::Test {
protected:
    explicit BuiltinTest(results::OutputPolicy policy = {})
        : shell_(loop_, runner_,
                 {.environment = {{"PATH", "/usr/bin:/bin"}, {"GREETING", "hello"}},
                  .output = policy}),
          dispatcher_(registry_, policy, clock_, ids_) {
        folder_.write("repo/a.txt", "one\ntwo\n");
        add_all(registry_, loop_, shell_);
        place_ = {.agent_id = {"default"},
                  .agent_home = folder_.path() / "home",
                  .workspace = {.execution_root = folder_.at("repo"), .cwd = folder_.at("repo")}};
    }

    // Starts a call; its end is waited for with end().
    std::shared_ptr<tools::Running> start(std::string tool, json::value args) {
        const auto call = dispatcher_.describe({.call_id = {"call-1"},
                                                .run_id = {"run-1"},
                                                .step_id = "round-1.1",
                                                .tool = std::move(tool),
                                                .args = std::move(args)},
                                               place_);
        return dispatcher_.dispatch(call, domain::ProfilePreset::PublicNamed, place_,
                                    [this](tools::Dispatched dispatched) {
                                        ended_ = std::move(dispatched);
                                        loop_.stop();
                                    });
    }
    tools::Dispatched end() {
        while (!ended_) loop_.run();
        return *std::exchange(ended_, std::nullopt);
    }
    tools::Dispatched run(std::string tool, json::value args) {
        start(std::move(tool), std::move(args));
        return end();
    }
    tools::Dispatched exec(std::string cmd) {
        return run("ExecCommand", {{"cmd", std::move(cmd)}, {"login", false}});
    }

    // Runs the loop until a command has opened the FIFO `repo/ready` for writing and closed it.
    void make_ready_fifo() { ASSERT_EQ(mkfifo(folder_.at("repo/ready").c_str(), 0600), 0); }
    void await_ready() {
        bool ready = false;
        loop_.offload([path = folder_.at("repo/ready")] { std::ifstream(path).get(); },
                      [&] {
                          ready = true;
                          loop_.stop();
                      });
        while (!ready) loop_.run();
    }

    static std::string bytes_of(const std::string& path) {
        return base::read_file(path, 16 * 1024 * 1024).value();
    }

    patch::TestFolder folder_;
    base::AsioLoop loop_;
    base::SystemProcessRunner runner_{loop_};
    Shell shell_;
    base::SystemClock clock_;
    base::RandomIds ids_{clock_};
    tools::Registry registry_;
    tools::Dispatcher dispatcher_;
    tools::Place place_;
    std::optional<tools::Dispatched> ended_;
};

}  // namespace builtin
