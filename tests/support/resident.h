// A runtime as a daemon has it: a store on disk, a loop in a thread of its own, the service called
// from others.
#pragma once

#include <semaphore>
#include <thread>

#include "base/os/asio_loop.h"
#include "service/local/local_service.h"
#include "store/sql/sqlite/sqlite_store.h"
#include "tests/support/fake_tasks.h"

namespace test_support {

// A service in `folder` that believes in every model and takes commands as they are.
inline service::LocalParts local_parts(turn::Parts turn, tasks::Host& tasks,
                                       const std::filesystem::path& folder) {
    return {.turn = std::move(turn),
            .tasks = tasks,
            .models = {.runtime_default_model = "scripted/test",
                       .fallbacks_of = [](const auto&) { return std::vector<std::string>{}; },
                       .policy_of = [](const auto&) { return json::value(json::object{}); }},
            .check_run = [](const std::string&) { return base::Status{}; },
            .name_model = [](const std::string& model) { return base::Result<std::string>(model); },
            .task_of =
                [](const service::TaskRequest& request, const tools::ExecutionContext& place,
                   domain::TaskId id) {
                    return base::Result<tasks::CommandRequest>(
                        {.id = id,
                         .agent_id = place.agent_id,
                         .summary = request.summary,
                         .spec = {.cmd = request.cmd},
                         .argv = {"sh", "-c", request.cmd},
                         .workdir = place.workspace.execution_root,
                         .output_path = place.agent_home / "out.log"});
                },
            .workspace_dir = folder,
            .trigger_key = "0123456789abcdef0123456789abcdef"};
}

template <class Model>
class Resident {
public:
    // `watch` sees what is committed, from the start on; it may be empty. The rest of the arguments
    // are the model's, before its loop.
    template <class... Args>
    Resident(const std::filesystem::path& folder, events::Feed::Listener watch, Args&&... args)
        : store_(sqlite::open({.file = folder / "holon.db"}).value()),
          model_(std::forward<Args>(args)..., loop_),
          service_(local_parts(
              {.store = *store_,
               .loop = loop_,
               .clock = clock_,
               .ids = ids_,
               .provider = model_,
               .dispatcher = dispatcher_,
               .feed = feed_,
               .home_of = [folder](const domain::AgentId& agent) { return folder / agent.value; }},
              tasks_.host, folder)) {
        if (watch) subscription_ = feed_.subscribe(std::move(watch));
        service_.start();
        thread_ = std::jthread([this] { loop_.run(); });
    }
    ~Resident() {
        std::binary_semaphore drained{0};
        service_.drain([&] { drained.release(); });
        drained.acquire();
        loop_.stop();
        thread_.join();
    }
    service::LocalService& service() { return service_; }
    Model& model() { return model_; }
    const Model& model() const { return model_; }
    base::Clock& clock() { return clock_; }

private:
    base::SystemClock clock_;
    base::RandomIds ids_{clock_};
    base::AsioLoop loop_;
    std::unique_ptr<store::Store> store_;
    Model model_;
    tools::Registry registry_;
    tools::Dispatcher dispatcher_{{.registry = registry_, .clock = clock_, .ids = ids_}};
    events::Feed feed_;
    std::shared_ptr<void> subscription_;
    FakeTasks tasks_{*store_, loop_, clock_, ids_, feed_};
    service::LocalService service_;
    std::jthread thread_;
};

}  // namespace test_support
