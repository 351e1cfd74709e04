#include "service/local/run_tasks.h"

namespace service {

RunTasks::RunTasks(tasks::Host& host, store::Store& store, Loop loop, domain::AgentId agent)
    : host_(host), store_(store), loop_(std::move(loop)), agent_(std::move(agent)) {}

RunTasks::~RunTasks() {
    host_.on_result = nullptr;
    host_.on_stuck = nullptr;
}

void RunTasks::begin(std::function<void()> wake, std::function<void(const base::Error&)> stuck) {
    host_.on_result = [agent = agent_, wake = std::move(wake)](const domain::AgentId& whose) {
        if (whose == agent) wake();
    };
    host_.on_stuck = [stuck = std::move(stuck)](const domain::AgentId&, const base::Error& error) {
        stuck(error);
    };
    host_.recover({agent_});
}

RunTasks::Left RunTasks::left() const {
    Left left = Left::Nothing;
    // One look at both: a task that ends between two would be seen in neither.
    const auto status = store_.read([&](store::Tx& tx) -> base::Status {
        if (TRY(tx.pending_count(agent_)) > 0)
            left = Left::Result;
        else if (!TRY(tx.active_tasks(agent_)).empty())
            left = Left::Task;
        return {};
    });
    return status ? left : Left::Nothing;
}

bool RunTasks::any_active() const {
    const auto active = host_.active(agent_);
    return active && !active->empty();
}

void RunTasks::order_stops() {
    const auto active = host_.active(agent_);
    if (!active) return;
    // Why one could not be stopped is of no use any more: whoever is left ends by itself.
    for (const auto& task : *active)
        host_.stop(agent_, task.id, [](const base::Result<tasks::StopReceipt>&) {});
}

void RunTasks::stop_all() {
    if (!any_active()) return;
    host_.on_result = [this](const domain::AgentId&) {
        if (!any_active()) loop_.stop();
    };
    host_.on_stuck = [this](const domain::AgentId&, const base::Error&) { loop_.stop(); };
    base::Loop::TimerHandle force{}, give_up{};
    loop_.tasks.post([this] { order_stops(); });
    force = loop_.tasks.after(kTasksSettleMax, [this] { order_stops(); });
    give_up = loop_.tasks.after(2 * kTasksSettleMax, [this] { loop_.stop(); });
    loop_.run();
    loop_.tasks.cancel(force);
    loop_.tasks.cancel(give_up);
}

}  // namespace service
