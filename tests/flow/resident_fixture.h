// What tests of the daemon's scheduler do to it and ask of it.
#pragma once

#include <gmock/gmock.h>

#include "agent/identity/closure.h"
#include "flow/scheduler/hints.h"
#include "flow/scheduler/lifecycle.h"
#include "flow/scheduler/timers/timers.h"
#include "tests/flow/fixture.h"

namespace scheduler {

inline constexpr std::string_view kOneAnswer = R"({"rounds":[{"text":"hello"}],"loop":true})";
inline constexpr std::string_view kSlowAnswer =
    R"({"rounds":[{"text":"hello","delay_ms":1000}],"loop":true})";

class ResidentTest : public FlowTest {
protected:
    void commit(const std::function<base::Status(events::Log&)>& work) {
        const auto status =
            store_->write(store::Durability::Disk, [&](store::Tx& tx) -> base::Status {
                events::Log log(tx, loop_.now(), ids_);
                return work(log);
            });
        ASSERT_TRUE(status) << status.error().message;
    }

    void make_agent(const std::string& id) {
        commit([&](events::Log& log) {
            domain::Agent agent{.agent_id = {id}, .identity = {.agent_id = {id}}};
            agent.active_workspace_entry = workspace::agent_home({id}, "/tmp");
            return log.tx().put_agent(agent);
        });
    }

    domain::Timer timer(std::int64_t duration_ms, std::optional<std::int64_t> interval_ms = {},
                        const std::string& agent = "main") {
        domain::Timer made;
        commit([&](events::Log& log) -> base::Status {
            made = TRY(create_timer(log, {.agent_id = {agent},
                                          .duration_ms = duration_ms,
                                          .interval_ms = interval_ms,
                                          .summary = "look at the build"}));
            return {};
        });
        return made;
    }

    void hint(std::optional<domain::Body> body = {}, const std::string& source = "forge",
              domain::TrustLevel trust = domain::TrustLevel::TrustedIntegration) {
        commit([&](events::Log& log) -> base::Status {
            disposition_ = TRY(submit(log, {.target_agent_id = agent_,
                                            .reason = "changed",
                                            .source = source,
                                            .body = std::move(body),
                                            .trust = trust,
                                            .created_at = log.now()}));
            return {};
        });
    }

    void control(Control command) {
        Controlled step;
        commit([&](events::Log& log) -> base::Status {
            step = TRY(apply_control(log, agent_, command, {"control_authenticated"}));
            return {};
        });
        if (step.ends_turn) scheduler_->halt(agent_, "agent_stopped", turn::StopKind::Interrupt);
        if (command == Control::Resume) scheduler_->wake(agent_);
    }

    std::int64_t pending() {
        return read<std::int64_t>([&](store::Tx& tx) { return tx.pending_count(agent_); });
    }
    std::vector<domain::Event> events_of(std::string_view kind) {
        auto list = read<std::vector<domain::Event>>(
            [&](store::Tx& tx) { return tx.events(agent_, {.limit = 100'000}); });
        std::erase_if(list, [&](const auto& event) { return event.kind != kind; });
        return list;
    }
    std::vector<store::QueuedMessage> messages_of(domain::MessageKind kind) {
        std::vector<store::QueuedMessage> list;
        for (auto& one : read<std::vector<store::Numbered<store::QueuedMessage>>>(
                 [&](store::Tx& tx) { return tx.messages(agent_, {.limit = 100'000}); }))
            if (one.record.message.kind == kind) list.push_back(std::move(one.record));
        return list;
    }
    domain::AgentStatus status() {
        return identity::status_of(read<identity::AgentFacts>(
            [&](store::Tx& tx) { return identity::load_facts(tx, agent_); }));
    }
    std::optional<domain::WakeHint> pending_hint() {
        return read<std::optional<domain::WakeHint>>(
            [&](store::Tx& tx) { return tx.wake_hint(agent_); });
    }
    std::vector<domain::Wait> open_waits() {
        return read<std::vector<domain::Wait>>(
            [&](store::Tx& tx) { return tx.open_waits(agent_); });
    }

    Disposition disposition_{};
};

}  // namespace scheduler
