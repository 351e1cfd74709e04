// The service on made-up time, over a store in memory and a scripted model.
#pragma once

#include <gtest/gtest.h>

#include <stdlib.h>

#include "exec/tasks/supervisor/fake_for_test.h"
#include "exec/tools/builtin/builtin.h"
#include "flow/admission/rejoin.h"
#include "provider/scripted/scripted_provider.h"
#include "service/local/local_service.h"
#include "store/sql/sqlite/sqlite_store.h"
#include "tests/support/fake_loop.h"

namespace service {

// Remembers what the model was asked.
class Recording final : public provider::Provider {
public:
    Recording(std::string_view scenario, base::Loop& loop)
        : inner_(provider::parse_scenario(scenario).value(), loop) {}
    std::shared_ptr<provider::Exchange> ask(
        provider::Request request, provider::Progress progress,
        std::move_only_function<void(provider::Outcome)> done) override {
        requests.push_back(request);
        return inner_.ask(std::move(request), std::move(progress), std::move(done));
    }
    std::vector<provider::Request> requests;

private:
    provider::ScriptedProvider inner_;
};

inline std::filesystem::path temporary_folder() {
    std::string pattern = testing::TempDir() + "holon-service-XXXXXX";
    return mkdtemp(pattern.data());
}

class ServiceTest : public testing::Test {
protected:
    explicit ServiceTest(
        std::unique_ptr<store::Store> store = sqlite::open_inline({.file = ":memory:"}).value())
        : store_(std::move(store)) {}

    static constexpr std::string_view kOneAnswer = R"({"rounds":[{"text":"hello"}],"loop":true})";
    static constexpr std::string_view kSlowAnswer =
        R"({"rounds":[{"text":"hello","delay_ms":1000}],"loop":true})";
    const Caller operator_{domain::AdmissionContext::ControlAuthenticated, std::nullopt};

    const std::filesystem::path home_ = temporary_folder();
    test_support::FakeLoop loop_;
    base::RandomIds ids_{loop_, 1};
    std::unique_ptr<store::Store> store_;
    tools::Registry registry_;
    std::optional<tools::Dispatcher> dispatcher_;
    std::optional<Recording> model_;
    events::Feed feed_;
    supervisor::FakeMachine machine_;
    supervisor::FakeSupervisor supervisor_{loop_, machine_};
    tasks::Host tasks_{{.store = *store_,
                        .loop = loop_,
                        .clock = loop_,
                        .ids = ids_,
                        .feed = feed_,
                        .supervisor = supervisor_,
                        .rejoin = admission::rejoin}};
    std::optional<LocalService> service_;
    bool is_stopped_{false};

    void SetUp() override {
        registry_.add(builtin::sleep());
        registry_.add(builtin::enqueue());
        dispatcher_.emplace(
            tools::DispatcherParts{.registry = registry_, .clock = loop_, .ids = ids_});
    }
    ~ServiceTest() override {
        service_.reset();
        std::filesystem::remove_all(home_);
    }

    // A process of its own: what the last one knew in memory is gone.
    LocalService& open(std::string_view scenario = kOneAnswer, scheduler::Limits limits = {}) {
        service_.reset();
        model_.emplace(scenario, loop_);
        service_.emplace(LocalParts{
            .turn = {.store = *store_,
                     .loop = loop_,
                     .clock = loop_,
                     .ids = ids_,
                     .provider = *model_,
                     .dispatcher = *dispatcher_,
                     .feed = feed_,
                     .home_of = [this](const auto& agent) { return home_ / agent.value; }},
            .tasks = tasks_,
            .models = {.runtime_default_model = "scripted/test"},
            .check_run = [](const std::string&) { return base::Status{}; },
            .name_model = [](const std::string& model) { return base::Result<std::string>(model); },
            .task_of =
                [](const TaskRequest& request, const tools::Place& place, domain::TaskId id) {
                    return base::Result<tasks::CommandRequest>(
                        {.id = id,
                         .agent_id = place.agent_id,
                         .summary = request.summary,
                         .spec = {.cmd = request.cmd},
                         .argv = {"sh", "-c", request.cmd},
                         .workdir = place.workspace.execution_root,
                         .output_path = place.agent_home / "out.log"});
                },
            .workspace_dir = home_,
            .started_in = home_,
            .run_loop =
                [this] { loop_.run_until([this] { return std::exchange(is_stopped_, false); }); },
            .stop_loop = [this] { is_stopped_ = true; },
            .limits = limits,
            .trigger_key = "a key of this home"});
        return *service_;
    }
    // One that serves.
    LocalService& serve(std::string_view scenario = kOneAnswer, scheduler::Limits limits = {}) {
        open(scenario, limits).start();
        return *service_;
    }
    LocalService& serve_main(std::string_view scenario = kOneAnswer) {
        auto& service = serve(scenario);
        EXPECT_TRUE(service.create_agent("main", std::nullopt, operator_));
        return service;
    }

    std::string status() {
        return base::string_at(service_->status("main").value().at("agent"), "status");
    }
    std::int64_t pending() {
        return base::int_at(service_->status("main").value().at("agent"), "pending");
    }
    std::vector<domain::Event> events_of(std::string_view kind) {
        auto list = service_->event_page("main", {.limit = 512, .newest_first = false}).value();
        std::erase_if(list, [&](const auto& event) { return event.kind != kind; });
        return list;
    }
    std::vector<store::QueuedMessage> messages() {
        std::vector<store::QueuedMessage> list;
        EXPECT_TRUE(store_->read([&](store::Tx& tx) -> base::Status {
            for (auto& one : TRY(tx.messages({"main"}, {.limit = 10'000})))
                list.push_back(std::move(one.record));
            return {};
        }));
        return list;
    }
    std::string opening(std::size_t request) {
        std::string text;
        for (const auto& block : model_->requests.at(request).frame.context_blocks)
            text += block.text + "\n";
        return text;
    }
};

}  // namespace service
