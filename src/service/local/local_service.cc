#include "service/local/local_service.h"

#include "base/log/log.h"

namespace service {
namespace {

// Agents whose tasks are resumed when the service starts.
constexpr std::int64_t kRecoveredAgentsMax = 100'000;

turn::Parts with_urls(turn::Parts parts, context::UrlOf url_of) {
    parts.trigger_url_of = std::move(url_of);
    return parts;
}

}  // namespace

LocalService::LocalService(LocalParts parts)
    : parts_(std::move(parts)),
      capabilities_(parts_.trigger_key, parts_.callback_base_url),
      transactions_({.store = parts_.turn.store,
                     .loop = parts_.turn.loop,
                     .clock = parts_.turn.clock,
                     .ids = parts_.turn.ids,
                     .feed = parts_.turn.feed}),
      scheduler_(with_urls(parts_.turn,
                           [this](const domain::ExternalTriggerId& id) {
                               return capabilities_.url_of(id);
                           }),
                 {.model_ref = parts_.models.runtime_default_model,
                  .limits = parts_.limits,
                  .concurrent_turns_max = parts_.concurrent_turns_max,
                  .hold =
                      [this](const domain::AgentId& agent) {
                          return locks_.take(parts_.turn.home_of(agent), agent.value);
                      },
                  .boot = [this](const domain::AgentId& agent) { return control_.boot(agent); },
                  .token_hash_of = capabilities_.token_hash_of()}),
      reads_({.transactions = transactions_,
              .turn = parts_.turn,
              .models = parts_.models,
              .capabilities = capabilities_}),
      control_({.transactions = transactions_,
                .turn = parts_.turn,
                .tasks = parts_.tasks,
                .scheduler = scheduler_,
                .models = parts_.models,
                .capabilities = capabilities_,
                .name_model = parts_.name_model,
                .task_of = parts_.task_of,
                .default_agent = parts_.default_agent}),
      deliveries_({.transactions = transactions_,
                   .clock = parts_.turn.clock,
                   .ids = parts_.turn.ids,
                   .wake = [this](const domain::AgentId& agent) { wake_up(agent); }}) {
    connect();
}

LocalService::~LocalService() {
    parts_.tasks.set_listener({});
}

void LocalService::start() {
    is_resident_ = true;
    transactions_.post([this] {
        // Before turns are resumed, which may wait for them.
        parts_.tasks.recover_all(kRecoveredAgentsMax);
        scheduler_.start();
    });
}

void LocalService::drain(std::function<void()> done) {
    transactions_.post(
        [this, done = std::move(done)]() mutable { scheduler_.drain(std::move(done)); });
}

void LocalService::wake_up(const domain::AgentId& agent) {
    transactions_.post([this, agent] { scheduler_.wake(agent); });
}

}  // namespace service
