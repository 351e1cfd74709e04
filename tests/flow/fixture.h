// The flow over a real store, with a scripted model, on made-up time.
#pragma once

#include <gtest/gtest.h>

#include "agent/workspace/workspace.h"
#include "exec/tools/builtin/builtin.h"
#include "flow/admission/admission.h"
#include "flow/ingress/ingress.h"
#include "flow/scheduler/scheduler.h"
#include "store/sql/sqlite/sqlite_store.h"
#include "tests/support/fake_loop.h"
#include "tests/support/recording.h"

namespace scheduler {

class FlowTest : public testing::Test {
protected:
    const domain::AgentId agent_{"main"};
    test_support::FakeLoop loop_;
    base::RandomIds ids_{loop_, 1};
    std::unique_ptr<store::Store> store_{sqlite::open_inline({.file = ":memory:"}).value()};
    tools::Registry registry_;
    std::optional<tools::Dispatcher> dispatcher_;
    std::optional<test_support::Recording> model_;
    events::Feed feed_;
    std::optional<Scheduler> scheduler_;
    std::string rest_reason_;

    void SetUp() override {
        registry_.add(builtin::sleep());
        registry_.add(builtin::enqueue());
        dispatcher_.emplace(
            tools::DispatcherParts{.registry = registry_, .clock = loop_, .ids = ids_});
        ASSERT_TRUE(store_->write(store::Durability::Disk, [&](store::Tx& tx) {
            domain::Agent agent{.agent_id = agent_, .identity = {.agent_id = agent_}};
            agent.active_workspace_entry = workspace::agent_home(agent_, "/tmp");
            return tx.put_agent(agent);
        }));
    }

    turn::Parts parts() {
        return {.store = *store_,
                .loop = loop_,
                .clock = loop_,
                .ids = ids_,
                .provider = *model_,
                .dispatcher = *dispatcher_,
                .feed = feed_,
                .home_of = [](const auto&) { return std::filesystem::path("/nonexistent"); }};
    }

    void start(std::string_view scenario, std::optional<std::int64_t> rounds = {}) {
        model_.emplace(scenario, loop_);
        scheduler_.emplace(parts(), Options{.model_ref = "scripted/test"});
        scheduler_->limit_rounds(agent_, rounds);
        scheduler_->on_idle = [&](const auto&, const std::string& reason) {
            rest_reason_ = reason;
        };
        scheduler_->on_stuck = [&](const auto&, const base::Error& error) {
            ADD_FAILURE() << error.message;
        };
    }

    void send(std::string text, domain::Origin origin = domain::OperatorOrigin{},
              domain::MessageKind kind = domain::MessageKind::OperatorPrompt,
              domain::AdmissionContext admission = domain::AdmissionContext::LocalProcess,
              std::optional<domain::Priority> priority = {}) {
        const auto message = ingress::receive({.agent_id = agent_,
                                               .kind = kind,
                                               .origin = std::move(origin),
                                               .body = domain::TextBody{std::move(text)},
                                               .surface = domain::DeliverySurface::RunOnce,
                                               .admission = admission,
                                               .priority = priority},
                                              loop_.now(), ids_)
                                 .value();
        ASSERT_TRUE(store_->write(store::Durability::Disk, [&](store::Tx& tx) -> base::Status {
            events::Log log(tx, loop_.now(), ids_);
            TRY(admission::admit(log, message, std::nullopt));
            return {};
        }));
    }

    void run() {
        scheduler_->wake(agent_);
        loop_.run();
    }

    template <class T>
    T read(std::function<base::Result<T>(store::Tx&)> work) {
        T value{};
        EXPECT_TRUE(store_->read([&](store::Tx& tx) -> base::Status {
            value = TRY(work(tx));
            return {};
        }));
        return value;
    }
    domain::Agent agent() {
        return *read<std::optional<domain::Agent>>([&](store::Tx& tx) { return tx.agent(agent_); });
    }
    domain::AgentStatistics statistics() {
        return read<domain::AgentStatistics>([&](store::Tx& tx) { return tx.statistics(agent_); });
    }
    std::vector<std::string> kinds() {
        std::vector<std::string> list;
        for (const auto& event : read<std::vector<domain::Event>>(
                 [&](store::Tx& tx) { return tx.events(agent_, {.limit = 1000}); }))
            list.push_back(event.kind);
        return list;
    }
    // What the newest event of `kind` says; null when there is none.
    json::value last_event(std::string_view kind) {
        json::value data;
        for (auto& event : read<std::vector<domain::Event>>(
                 [&](store::Tx& tx) { return tx.events(agent_, {.limit = 1000}); }))
            if (event.kind == kind) data = std::move(event.data);
        return data;
    }
    bool has(std::string_view kind) {
        const auto list = kinds();
        return std::ranges::find(list, kind) != list.end();
    }
    std::string opening(std::size_t request) const { return model_->opening(request); }
};

}  // namespace scheduler
