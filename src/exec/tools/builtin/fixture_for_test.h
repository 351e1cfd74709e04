// The built-in tools behind a real dispatcher, loop and process runner, in a temporary folder:
// `repo` is the execution root, `home` the agent's home.
#pragma once

#include "base/os/asio_loop.h"
#include "base/os/files.h"
#include "base/os/process_runner.h"
#include "exec/tasks/supervisor/system_supervisor.h"
#include "exec/tools/builtin/builtin.h"
#include "exec/tools/dispatcher.h"
#include "exec/tools/patch/folder_for_test.h"
#include "store/sql/sqlite/sqlite_store.h"

#include <gmock/gmock.h>

namespace builtin {

inline void add_all(tools::Registry& registry, base::Loop& loop, Shell& shell, tasks::Host& host) {
    registry.add(sleep());
    registry.add(agent_get(loop, [](const domain::AgentId& agent) -> base::Result<json::object> {
        if (agent.value == "gone") return base::fail(base::ErrorCode::NotFound, "no such agent");
        return json::object{{"identity", {{"agent_id", agent.value}}}};
    }));
    registry.add(enqueue());
    registry.add(task_list(host));
    registry.add(task_status(host));
    registry.add(task_input(host));
    registry.add(task_output(host, loop));
    registry.add(task_stop(host));
    registry.add(apply_patch(loop));
    registry.add(exec_command(shell, host));
    registry.add(exec_command_batch(shell));
}

class BuiltinTest : public testing::Test {
protected:
    explicit BuiltinTest(results::OutputPolicy policy = {}, sandbox::Boundary boundary = {})
        : shell_(loop_, runner_,
                 {.environment = {{"PATH", "/usr/bin:/bin"}, {"GREETING", "hello"}},
                  .output = policy,
                  .boundary = std::move(boundary),
                  .execution_of = [this](const domain::AgentId&) { return execution_; }}),
          dispatcher_({.registry = registry_, .output = policy, .clock = clock_, .ids = ids_}) {
        folder_.write("repo/a.txt", "one\ntwo\n");
        add_all(registry_, loop_, shell_, host_);
        registry_.add(use_workspace(workspace_parts()));
        registry_.add(spawn_agent({.workspace = workspace_parts(),
                                   .limits = {.max_alive = 2},
                                   .home_of = [this](const domain::AgentId& agent) {
                                       return folder_.path() / "runtime" / agent.value;
                                   }}));
        place_ = {.agent_id = {"default"},
                  .agent_home = folder_.path() / "home",
                  .workspace = {.execution_root = folder_.at("repo"), .cwd = folder_.at("repo")}};
    }

    WorkspaceParts workspace_parts() {
        return {.store = *store_,
                .loop = loop_,
                .clock = clock_,
                .processes = runner_,
                .environment = {{"PATH", "/usr/bin:/bin"}, {"HOME", folder_.at("home")}},
                .boundary_of = [this](const domain::AgentId& agent) -> const sandbox::Boundary* {
                    return &shell_.boundary(agent);
                },
                .runtime_home = folder_.path() / "runtime",
                .execution_of = [this](const domain::AgentId&) { return execution_; }};
    }
    void save(const domain::Agent& agent) {
        ASSERT_TRUE(store_->write(store::Durability::Process,
                                  [&](store::Tx& tx) { return tx.put_agent(agent); }));
    }

    // Starts a call; its end is waited for with end().
    std::shared_ptr<tools::Running> start(std::string tool, json::value args) {
        const auto call = dispatcher_.describe({.call_id = {fmt::format("call-{}", ++calls_)},
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

    // A task that runs until it is stopped; fixtures stop what is left.
    std::string long_task(json::object more = {}) {
        json::object args{{"cmd", "echo begun; exec sleep 600"},
                          {"login", false},
                          {"yield_time_ms", 0},
                          {"duplicate_policy", "start_new"}};
        for (const auto& [key, value] : more) args[key] = value;
        const auto end = run("ExecCommand", args);
        EXPECT_TRUE(end.envelope.ok()) << end.receipt;
        return base::string_at(end.envelope.result().at("task_handle"), "task_id");
    }
    // Runs the loop until the results of so many tasks are there.
    void await_results(std::size_t count) {
        host_.set_listener({.on_result = [&](const domain::AgentId&) { loop_.stop(); }});
        while (results_.size() < count) loop_.run();
        host_.set_listener({});
    }
    domain::Task task(const std::string& id) {
        std::optional<domain::Task> found;
        EXPECT_TRUE(store_->read([&](store::Tx& tx) -> base::Status {
            found = TRY(tx.task({id}));
            return {};
        }));
        return found.value();
    }
    std::vector<domain::Task> active() {
        std::vector<domain::Task> list;
        EXPECT_TRUE(store_->read([&](store::Tx& tx) -> base::Status {
            list = TRY(tx.active_tasks({"default"}));
            return {};
        }));
        return list;
    }

    void TearDown() override {
        const auto left = active();
        const std::size_t expected = results_.size() + left.size();
        loop_.post([&] {
            // Asked twice: by force.
            for (int i = 0; i < 2; ++i)
                for (const auto& task : left) host_.stop({"default"}, task.id, [](const auto&) {});
        });
        if (!left.empty()) await_results(expected);
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
    domain::Execution execution_{};  // What the agent may start; a test may change it.
    base::AsioLoop loop_;
    base::SystemProcessRunner runner_{loop_};
    Shell shell_;
    base::SystemClock clock_;
    base::RandomIds ids_{clock_};
    std::unique_ptr<store::Store> store_{sqlite::open_inline({.file = ":memory:"}).value()};
    events::Feed feed_;
    supervisor::SystemSupervisor supervisor_{loop_, folder_.path() / "run"};
    tasks::Host host_{{.store = *store_,
                       .loop = loop_,
                       .clock = clock_,
                       .ids = ids_,
                       .feed = feed_,
                       .supervisor = supervisor_,
                       .rejoin = [this](events::Log&, domain::Message message) -> base::Status {
                           results_.push_back(std::move(message));
                           return {};
                       },
                       .execution_of = [this](const domain::AgentId&) { return execution_; }}};
    std::vector<domain::Message> results_;  // Of tasks that are over.
    int calls_{0};
    tools::Registry registry_;
    tools::Dispatcher dispatcher_;
    tools::ExecutionContext place_;
    std::optional<tools::Dispatched> ended_;
};

}  // namespace builtin
