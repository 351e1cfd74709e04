// The service on made-up time, over a store in memory and a scripted model.
#pragma once

#include <gtest/gtest.h>

#include <stdlib.h>

#include "exec/tools/builtin/builtin.h"
#include "service/local/local_service.h"
#include "store/sql/sqlite/sqlite_store.h"
#include "tests/support/fake_loop.h"
#include "tests/support/recording.h"
#include "tests/support/resident.h"

namespace service {

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
    std::optional<test_support::Recording> model_;
    events::Feed feed_;
    test_support::FakeTasks tasks_{*store_, loop_, loop_, ids_, feed_};
    supervision::CleanWorktree clean_worktree_{};  // Of services that are opened from then on.
    std::optional<LocalService> service_;

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
        auto parts = test_support::local_parts(
            {.store = *store_,
             .loop = loop_,
             .clock = loop_,
             .ids = ids_,
             .provider = *model_,
             .dispatcher = *dispatcher_,
             .feed = feed_,
             .home_of = [this](const auto& agent) { return home_ / agent.value; }},
            tasks_.host, home_);
        parts.limits = limits;
        parts.clean_worktree = clean_worktree_;
        service_.emplace(std::move(parts));
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

    // One prompt to its end, as the client of a run does it.
    base::Result<RunResponse> run(const RunRequest& request) {
        std::optional<base::Status> ended;
        const auto hold = TRY(
            service_->start_run(request, {}, [&](const base::Status& status) { ended = status; }));
        loop_.run_until([&] { return ended.has_value(); });
        if (!ended) return base::fail(base::ErrorCode::Internal, "the run does not end");
        TRY(*ended);
        auto response = TRY(service_->run_result(hold.started.run_id));
        TRY(service_->finish_run(hold.started.run_id));
        return response;
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
    std::string opening(std::size_t request) const { return model_->opening(request); }
};

}  // namespace service
