#include "service/local/local_service.h"

#include "base/log/log.h"
#include "flow/scheduler/recovery.h"

namespace service {
namespace {

// Agents whose tasks are resumed when the service starts.
constexpr std::int64_t kRecoveredAgentsMax = 100'000;

turn::Parts with_urls(turn::Parts parts, context::UrlOf url_of) {
    parts.trigger_url_of = std::move(url_of);
    return parts;
}

LocalParts with_session(LocalParts parts) {
    parts.turn.session = base::to_text(parts.turn.clock.now());
    return parts;
}

}  // namespace

LocalService::LocalService(LocalParts parts)
    : parts_(with_session(std::move(parts))),
      capabilities_(parts_.trigger_key, parts_.callback_base_url),
      transactions_({.store = parts_.turn.store,
                     .loop = parts_.turn.loop,
                     .clock = parts_.turn.clock,
                     .ids = parts_.turn.ids,
                     .feed = parts_.turn.feed,
                     .brief_channels = parts_.turn.brief_channels}),
      homes_({.holon_home = parts_.holon_home,
              .home_of = parts_.turn.home_of,
              .templates = {.folder = parts_.turn.user_home.empty()
                                          ? std::filesystem::path()
                                          : parts_.turn.user_home / ".agents" / "templates",
                            .fetch = parts_.fetch,
                            .github_api = parts_.github_api},
              .default_agent = parts_.default_agent}),
      health_(transactions_, parts_.turn.clock),
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
                  .still_holds =
                      [this](const domain::AgentId& agent) {
                          return locks_.still_holds(parts_.turn.home_of(agent), agent.value);
                      },
                  .boot = [this](const domain::AgentId& agent) { return control_.boot(agent); },
                  .token_hash_of = capabilities_.token_hash_of()}),
      child_tasks_({.store = parts_.turn.store,
                    .loop = parts_.turn.loop,
                    .clock = parts_.turn.clock,
                    .ids = parts_.turn.ids,
                    .feed = parts_.turn.feed,
                    .tasks = parts_.tasks,
                    .wake = [this](const domain::AgentId& agent) { scheduler_.wake(agent); },
                    .wake_named =
                        [this](const domain::AgentId& agent) {
                            if (is_resident_) scheduler_.wake(agent);
                        },
                    .halt =
                        [this](const domain::AgentId& agent, const std::string& reason) {
                            scheduler_.halt(agent, reason, turn::StopKind::Interrupt);
                        },
                    .clean_worktree = parts_.clean_worktree}),
      reads_({.transactions = transactions_,
              .turn = parts_.turn,
              .models = parts_.models,
              .capabilities = capabilities_,
              .homes = homes_,
              .agent_tokens_max = parts_.limits.agent_tokens}),
      searches_({.store = parts_.turn.store,
                 .clock = parts_.turn.clock,
                 .holon_home = parts_.holon_home,
                 .home_of = parts_.turn.home_of}),
      control_({.transactions = transactions_,
                .turn = parts_.turn,
                .tasks = parts_.tasks,
                .scheduler = scheduler_,
                .models = parts_.models,
                .capabilities = capabilities_,
                .name_model = parts_.name_model,
                .task_of = parts_.task_of,
                .homes = homes_,
                .default_agent = parts_.default_agent}),
      skills_({.transactions = transactions_,
               .turn = parts_.turn,
               .fetch = parts_.fetch,
               .github_api = parts_.github_api}),
      work_({.transactions = transactions_, .turn = parts_.turn, .scheduler = scheduler_}),
      deliveries_({.transactions = transactions_,
                   .clock = parts_.turn.clock,
                   .ids = parts_.turn.ids,
                   .wake = [this](const domain::AgentId& agent) { wake_up(agent); }}),
      undo_({.transactions = transactions_,
             .turn = parts_.turn,
             .home = parts_.holon_home,
             .prompt =
                 [this](const std::string& agent, const std::string& text, const Caller& caller) {
                     return deliveries_.prompt(agent, text, caller);
                 }}),
      webhooks_({.transactions = transactions_,
                 .clock = parts_.turn.clock,
                 .ids = parts_.turn.ids,
                 .capabilities = capabilities_,
                 .bounds = parts_.webhook_bounds,
                 .wake = [this](const domain::AgentId& agent) { wake_up(agent); }}),
      operators_({.transactions = transactions_,
                  .clock = parts_.turn.clock,
                  .ids = parts_.turn.ids,
                  .capabilities = capabilities_,
                  .wake = [this](const domain::AgentId& agent) { wake_up(agent); }}),
      runs_({.transactions = transactions_,
             .turn = parts_.turn,
             .tasks = parts_.tasks,
             .scheduler = scheduler_,
             .control = control_,
             .locks = locks_,
             .models = parts_.models,
             .check_run = parts_.check_run,
             .workspace_dir = parts_.workspace_dir}) {
    connect();
}

LocalService::~LocalService() {
    parts_.tasks.set_listener({});
}

void LocalService::connect() {
    transactions_.on_fault = [this](const base::Error& error) { health_.report_fault(error); };
    scheduler_.on_idle = [this](const domain::AgentId& agent, const std::string& reason) {
        runs_.idle(agent, reason);
        if (agent.value.starts_with(domain::kChildPrefix)) runs_.child_idle(agent);
    };
    scheduler_.on_stuck = [this](const domain::AgentId& agent, const base::Error& error) {
        if (agent.value.starts_with(domain::kChildPrefix)) child_tasks_.check(agent);
        if (runs_.stuck(agent, error)) return;
        base::log_error("agent {} is stuck for now: {}", agent, error.message);
    };
    scheduler_.on_news = [this](const domain::AgentId& agent, const provider::News& news) {
        deltas_.publish(agent, delta_of(news));
    };
    scheduler_.on_output = [this](const domain::AgentId& agent, const std::string& tool,
                                  const std::string& line) {
        deltas_.publish(agent, {.kind = DeltaKind::Output, .text = line, .tool_name = tool});
    };
    scheduler_.is_watched = [this](const domain::AgentId& agent) {
        return deltas_.is_watched(agent);
    };
    parts_.tasks.set_listener(
        {.on_result = [this](const domain::AgentId& agent) { scheduler_.wake(agent); },
         .on_stuck = scheduler_.on_stuck});
}

void LocalService::count_crashes(const std::vector<std::string>& agents) {
    for (const auto& name : agents) {
        const domain::AgentId agent{name};
        const auto known = scheduler::load_readable(parts_.turn.store, agent);
        auto counted = transactions_.write(
            [&](events::Log& log) { return scheduler::count_crash(log, agent, known); });
        if (!counted && scheduler::fault_of(counted.error()) == scheduler::FaultOf::Agent)
            counted = transactions_.write([&](events::Log& log) {
                return scheduler::set_aside(
                    log, known,
                    {.agent_id = agent, .phase = "process", .reason = counted.error().message});
            });
        if (!counted)
            base::log_error("a crash during a step of agent {} could not be counted: {}", agent,
                            counted.error().message);
        else
            base::log_info("the last process died while it executed a step of agent {}", agent);
    }
}

void LocalService::start(std::function<void()> ready) {
    is_resident_ = true;
    transactions_.post([this, ready = std::move(ready)] {
        // Before turns are resumed, which may wait for them.
        parts_.tasks.recover_all(kRecoveredAgentsMax);
        scheduler_.start();
        if (ready) ready();
    });
}

void LocalService::drain(std::function<void()> done) {
    transactions_.post(
        [this, done = std::move(done)]() mutable { scheduler_.drain(std::move(done)); });
}

base::Status LocalService::make_home(const domain::AgentId& agent,
                                     const std::string& template_name) {
    auto home = TRY(control_.make_home(agent, template_name));
    home.keep();
    return {};
}

void LocalService::wake_up(const domain::AgentId& agent) {
    transactions_.post([this, agent] { scheduler_.wake(agent); });
}

}  // namespace service
