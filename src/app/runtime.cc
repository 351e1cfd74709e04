#include "app/runtime.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <future>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <sstream>

#include "agent/memory/recall.h"
#include "app/fetch.h"
#include "app/lineage.h"
#include "app/mcp.h"
#include "app/mcp/live.h"
#include "app/models/credentials.h"
#include "app/models/models.h"
#include "app/models/providers.h"
#include "app/sandbox.h"
#include "app/store.h"
#include "app/trigger_key.h"
#include "base/log/log.h"
#include "base/os/files.h"
#include "base/os/fs/file_watch.h"
#include "base/os/process_runner.h"
#include "base/os/signals.h"
#include "base/scan/secrets.h"
#include "domain/events/memory.h"
#include "domain/events/messages.h"
#include "domain/events/work.h"
#include "exec/gate/result_gate_adapter.h"
#include "exec/tasks/supervisor/system_supervisor.h"
#include "exec/tools/builtin/builtin.h"
#include "exec/tools/builtin/commands/command_args.h"
#include "exec/tools/builtin/commands/command_request.h"
#include "exec/tools/builtin/worktrees/clean.h"
#include "exec/tools/dispatcher.h"
#include "exec/tools/mcp/system_child.h"
#include "exec/tools/memory_tools/memory_tools.h"
#include "exec/tools/plan_tools/plan_tools.h"
#include "exec/tools/web_tools/web_tools.h"
#include "exec/tools/work_tools/work_tools.h"
#include "flow/admission/rejoin.h"
#include "flow/notify/channels.h"
#include "flow/plans/agents/agent_plans.h"
#include "record/telemetry/otlp.h"
#include "service/local/local_gate.h"
#include "service/local/local_plans.h"
#include "service/local/webhooks/sealed.h"

namespace app {
namespace {

constexpr int kInterruptedExit = 130;

results::OutputPolicy output_policy(const config::Config& config) {
    return {config.default_tool_output_tokens, config.max_tool_output_tokens};
}

// Worktrees are made by git.
bool has_git(const config::Config& config) {
    const auto path = config.command_environment.find("PATH");
    if (path == config.command_environment.end()) return false;
    std::istringstream folders(path->second);
    for (std::string folder; std::getline(folders, folder, ':');)
        if (::access((std::filesystem::path(folder) / "git").c_str(), X_OK) == 0) return true;
    return false;
}

std::function<domain::Execution(const domain::AgentId&)> execution_of(const config::Config& config,
                                                                      const Lineage& lineage) {
    return [sandboxes = config.sandboxes, has_git = has_git(config),
            &lineage](const domain::AgentId& agent) {
        auto execution = config::execution_of(sandboxes.of(lineage.settings_of(agent)));
        execution.supports_managed_worktrees &= has_git;
        return execution;
    };
}

// Is the default model one that is asked over HTTP?
bool asks_over_http(const config::Config& config) {
    if (!config.model) return false;
    const auto found = config.providers.find(config.model->provider);
    return found != config.providers.end() &&
           found->second.transport != config::Transport::Scripted;
}

std::vector<std::pair<std::string, std::string>> environment_of(const config::Config& config) {
    return {config.command_environment.begin(), config.command_environment.end()};
}

builtin::ShellOptions shell_options(const config::Config& config, const Lineage& lineage) {
    builtin::ShellOptions options{.default_shell = config.default_shell,
                                  .output = output_policy(config)};
    options.environment = environment_of(config);
    options.boundary = boundary_of(config, config.sandboxes.general);
    for (const auto& [agent, sandbox] : config.sandboxes.agents)
        options.agent_boundaries.emplace(agent, boundary_of(config, sandbox));
    options.execution_of = execution_of(config, lineage);
    options.settings_of = [&lineage](const domain::AgentId& agent) {
        return lineage.settings_of(agent);
    };
    return options;
}

gate::BackendFacts backend_facts(sandbox::Facts facts) {
    return {.name = std::move(facts.backend),
            .version = std::move(facts.version),
            .limits = std::move(facts.limits),
            .network_is_open = facts.network == sandbox::Network::Host,
            .hosts = std::move(facts.hosts)};
}

// Only while a plan run is executed: the first Ctrl-C ends it with its calls; a second one ends the
// program at once, and the run stays open for `plan resume`.
void run_plan_loop(base::AsioLoop& loop, plans::Plans& plans) {
    int interrupts = 0;
    const base::Signals signals(loop, {SIGINT, SIGTERM, SIGHUP}, [&](int) {
        if (++interrupts > 1) std::_Exit(kInterruptedExit);
        plans.interrupt("operator_interrupt");
    });
    loop.run();
}

base::Result<tasks::CommandRequest> command_of(const builtin::Shell& shell,
                                               const service::TaskRequest& request,
                                               const tools::ExecutionContext& place,
                                               const domain::TaskId& id) {
    auto command = builtin::command_request(
        shell, place, id,
        {.cmd = request.cmd,
         .workdir = request.workdir,
         .shell = request.shell,
         .login = request.login,
         .tty = request.tty,
         .yield_time_ms = request.yield_time_ms.value_or(builtin::kYieldDefaultMs),
         .max_output_tokens = request.max_output_tokens,
         .accepts_input = request.accepts_input},
        "task");
    if (!command) {
        const auto& error = command.error();
        const auto denials = builtin::denials_of(error);
        if (!denials.empty())
            return std::unexpected(base::Error{base::ErrorCode::Refused, error.message,
                                               std::string(base::enum_name(denials.front().rule))});
        return base::fail(base::ErrorCode::InvalidInput, "{} {}", error.message,
                          error.recovery_hint.value_or(""));
    }
    if (!request.summary.empty()) command->summary = request.summary;
    return std::move(*command);
}

std::filesystem::path log_of(const config::Config& config, const domain::ToolCall& call) {
    const bool is_plan = call.source == domain::CallSource::PlanStep;
    return builtin::output_log(is_plan ? config.home / "plans" / call.run_id.value
                                       : config.agent_home(call.agent_id.value),
                               {call.call_id.value});
}

std::vector<plan_tools::NamedCommand> plan_commands(const config::Config& config) {
    std::vector<plan_tools::NamedCommand> list;
    for (const auto& [name, command] : config.plans.commands)
        list.push_back({name, command.description.value_or(""), command.argv, command.timeout_ms});
    return list;
}

// The plan runs of agents, for the parts that are made before them: a tool, the dispatcher and the
// plans themselves. Any thread may call; until bind() and after release() every call is refused.
class LatePlans final : public plan::AgentPlans, public tools::Proposals, public plans::RunOwners {
public:
    void bind(plans::AgentPlans& plans) {
        const std::unique_lock lock(mutex_);
        plans_ = &plans;
    }
    // Waits for calls under way. A transaction of a plan run that is still queued in the store is
    // undone from then on; the next start continues the run.
    void release() {
        const std::unique_lock lock(mutex_);
        plans_ = nullptr;
    }

    std::shared_ptr<tools::Running> start(
        plan::PlanAsk ask, std::move_only_function<void(plan::PlanAnswer)> done) override {
        const std::shared_lock lock(mutex_);
        CHECK(plans_, "a plan was started before the runtime was built");
        return plans_->start(std::move(ask), std::move(done));
    }
    void knows(const domain::ToolCallId& call, std::move_only_function<void(bool)> done) override {
        {
            const std::shared_lock lock(mutex_);
            if (plans_) return plans_->knows(call, std::move(done));
        }
        done(false);
    }
    base::Result<std::string> propose(const domain::ToolCall& call,
                                      const tools::ExecutionContext& place) override {
        const std::shared_lock lock(mutex_);
        if (!plans_) return ending();
        return plans_->propose(call, place);
    }
    base::Status committing(events::Log& log, const domain::PlanRun& run) override {
        const std::shared_lock lock(mutex_);
        if (!plans_) return ending();
        return plans_->committing(log, run);
    }
    void committed(const domain::PlanRun& run) override {
        const std::shared_lock lock(mutex_);
        if (plans_) plans_->committed(run);
    }
    base::Lifetime::Watch watch() const override { return lifetime_.watch(); }

private:
    static std::unexpected<base::Error> ending() {
        return base::fail(base::ErrorCode::Unavailable, "the runtime is ending");
    }

    mutable std::shared_mutex mutex_;
    plans::AgentPlans* plans_{nullptr};
    base::Lifetime lifetime_;
};

class RealRuntime final : public Runtime {
public:
    RealRuntime(const config::Config& config, std::unique_ptr<store::Store> store,
                std::chrono::milliseconds patience)
        : config_(config), patience_(patience), store_(std::move(store)) {}

    ~RealRuntime() override {
        // Work in the background and in the store's writer uses parts that are destroyed before the
        // store and the loop are.
        mcp_questions_.on_change = nullptr;  // It reports to service_; servers end later.
        loop_.finish_offloaded();
        late_plans_.release();
    }
    RealRuntime(const RealRuntime&) = delete;
    RealRuntime& operator=(const RealRuntime&) = delete;

    // Makes the parts, each from those before it. Called once, before anything else is.
    void build(Tools tools, std::string trigger_key) {
        build_commands();
        build_gate();
        build_tasks();
        providers_.emplace(config_, loop_, clock_, ids_);
        register_tools();
        build_mcp(tools);
        if (tools != Tools::Unused) offer_mcp_tools(tools);
        build_dispatcher();
        build_notify(trigger_key);
        build_service(std::move(trigger_key));
        build_plans();
        build_telemetry();
        mark_memory();
        keeper_.emplace(retention_parts(config_, *store_, clock_), loop_);
        const auto release = [&store = *store_, recent = recent_] {
            store.release_memory();
            recent->forget_all();
        };
        idle_release_.emplace(release, loop_, feed_);
        // A process that died may have left secrets half written.
        if (tools != Tools::Unused) result_gate_->settle_in_background();
    }

    service::LocalService& service() override { return *service_; }
    plans::Plans& plans() override { return *plans_; }
    service::Plans& plan_service() override { return *plan_service_; }
    service::Gate& gate() override { return *gate_; }
    service::McpLive& mcp() override { return *mcp_live_; }
    base::AsioLoop& loop() override { return loop_; }
    base::Clock& clock() override { return clock_; }
    events::Feed& feed() override { return feed_; }
    retention::Keeper& retention() override { return *keeper_; }
    notify::Sender& notifier() override { return *sender_; }
    base::Result<retention::Report> retention_report() override {
        return retention::load_report(*store_, clock_.now());
    }

private:
    void build_commands() {
        auto options = shell_options(config_, lineage_);
        options.login = std::make_shared<builtin::LoginEnvironments>(clock_);
        shell_.emplace(loop_, processes_, std::move(options));
        boundary_.emplace(boundary_of(config_, config_.sandboxes.general));
        supervisor_.emplace(loop_, config_.task_folder());
    }

    void build_telemetry() {
        const auto& chosen = config_.telemetry;
        if (chosen.traces_url.empty()) return;
        const provider::HttpOptions http{.ca_file = config_.tls_ca_file};
        telemetry::OtlpOptions options{
            .url = chosen.traces_url, .service_name = chosen.service_name, .http = http};
        for (const auto& [name, value] : chosen.headers) options.headers.push_back({name, value});
        telemetry_http_.emplace(loop_, http);
        exporter_.emplace(std::move(options), *telemetry_http_, feed_);
    }

    // A record that an agent's memory is searched by has changed.
    void mark_memory() {
        memory_marks_ = feed_.subscribe([this](const events::Committed& committed) {
            using namespace domain::events;
            if (!is_any<BriefCreated, WorkItemWritten, EpisodeMemoryFinalized>(committed.event))
                return;
            loop_.offload(
                [home = config_.agent_home(committed.agent_id.value)] {
                    (void)memory::mark_dirty(home);  // Only a hint: the records decide.
                },
                [] {});
        });
    }

    void build_notify(const std::string& key) {
        const auto& chosen = config_.notify;
        const std::chrono::milliseconds timeout(chosen.timeout_ms);
        notify_http_.emplace(loop_, provider::HttpOptions{.ca_file = config_.tls_ca_file});
        notify::Channels channels{.transport = notify::transport_channel(
                                      *notify_http_, [key](const domain::OperatorBinding& binding) {
                                          return service::unseal(key, binding.binding_id,
                                                                 binding.sealed_token.value_or(""));
                                      })};
        if (!chosen.command.empty())
            channels.command =
                notify::command_channel(processes_, {.argv = chosen.command,
                                                     .cwd = config_.home,
                                                     .environment = environment_of(config_),
                                                     .timeout = timeout});
        if (!chosen.webhook.empty())
            channels.webhook =
                notify::webhook_channel(*notify_http_, {.url = chosen.webhook,
                                                        .secret = chosen.webhook_secret,
                                                        .credential = chosen.webhook_credential,
                                                        .timeout = timeout});
        sender_.emplace(events::Committer::Parts{*store_, loop_, clock_, ids_, feed_},
                        std::move(channels),
                        notify::Policy{.attempts_max = chosen.max_attempts,
                                       .lease = std::max(timeout, notify::kTransportTimeout) +
                                                notify::kEndGrace});
    }

    void build_gate() {
        gate_.emplace(service::LocalGateParts{
            .store = *store_,
            .clock = clock_,
            .committer = events::Committer({*store_, loop_, clock_, ids_, feed_}),
            .folder = config_.home / "gate",
            .credentials = credentials_of(config_),
            .default_agent = {config_.default_agent},
            .wake = [&service = service_](const domain::AgentId& agent) {
                service->wake_up(agent);
            }});
        result_gate_.emplace(gate::ResultGateParts{
            .gate = gate_->gate(),
            .loop = loop_,
            .clock = clock_,
            .policy =
                [&config = config_, &lineage = lineage_](
                    const domain::AgentId& agent, tools::Family family, domain::GatePolicy unset) {
                    return config.gate.policy(lineage.settings_of(agent), base::enum_name(family),
                                              unset);
                },
            .backend =
                [&shell = *shell_](const domain::AgentId& agent) {
                    return backend_facts(shell.boundary(agent).facts());
                },
            .shared_backend = [&boundary = *boundary_] { return backend_facts(boundary.facts()); },
            .log_of = [&config = config_](
                          const domain::ToolCall& call) { return app::log_of(config, call); },
            .executor = "holon " HOLON_VERSION});
    }

    // Null where the operator has turned it off.
    gate::ResultGateAdapter* active_gate() {
        return config_.gate.is_off() ? nullptr : &*result_gate_;
    }

    void build_tasks() {
        tasks_.emplace(tasks::Parts{
            .store = *store_,
            .loop = loop_,
            .clock = clock_,
            .ids = ids_,
            .feed = feed_,
            .supervisor = *supervisor_,
            .rejoin = admission::rejoin,
            .execution_of = execution_of(config_, lineage_),
            .gate = active_gate(),
            .output_bytes_max = static_cast<std::uint64_t>(config_.max_command_output_bytes),
            .agents_folder = config_.home / "agents"});
    }

    builtin::WorkspaceParts workspace_parts() {
        return {.store = *store_,
                .loop = loop_,
                .clock = clock_,
                .processes = processes_,
                .environment = environment_of(config_),
                .boundary_of =
                    [this](const domain::AgentId& agent) { return &shell_->boundary(agent); },
                .runtime_home = config_.home,
                .execution_of = execution_of(config_, lineage_)};
    }

    std::function<std::filesystem::path(const domain::AgentId&)> home_of() const {
        return [&config = config_](const domain::AgentId& agent) {
            return config.agent_home(agent.value);
        };
    }

    // Worktrees of children that are over.
    supervision::CleanWorktree clean_worktree() {
        worktrees_.emplace(workspace_parts());
        return [this](const domain::AgentId& child, const tasks::ChildWorktree& worktree,
                      std::move_only_function<void(tasks::ChildWorktree)> done) {
            builtin::clean_worktree(*worktrees_, lifetime_, child, worktree, std::move(done));
        };
    }

    void register_tools() {
        registry_.add(builtin::sleep());
        registry_.add(builtin::agent_get(
            loop_,
            [&service = service_, alive = lifetime_.watch()](
                const domain::AgentId& agent) -> base::Result<json::object> {
                const auto stay = alive.stay();
                if (!stay)
                    return base::fail(base::ErrorCode::Unavailable, "the runtime is stopping");
                return service->status(agent.value);
            }));
        registry_.add(
            work_tools::notify_operator({.store = *store_, .loop = loop_, .clock = clock_}));
        registry_.add(builtin::enqueue());
        registry_.add(builtin::task_list(*tasks_));
        registry_.add(builtin::task_status(*tasks_));
        registry_.add(builtin::task_input(*tasks_));
        registry_.add(builtin::task_output(*tasks_, loop_));
        registry_.add(builtin::task_stop(*tasks_));
        work_tools::add_all(registry_, {.store = *store_, .loop = loop_, .clock = clock_});
        memory_tools::add_all(registry_, {.store = *store_, .loop = loop_, .clock = clock_});
        registry_.add(builtin::apply_patch(loop_));
        registry_.add(builtin::exec_command(*shell_, *tasks_));
        registry_.add(builtin::exec_command_batch(*shell_));
        registry_.add(builtin::use_workspace(workspace_parts()));
        registry_.add(builtin::spawn_agent(
            {.workspace = workspace_parts(),
             .limits = config_.children,
             .home_of = home_of(),
             .make_home =
                 [&service = service_](const domain::AgentId& agent,
                                       const std::string& template_name) {
                     return service->make_home(agent, template_name);
                 },
             .share_settings =
                 [this](const domain::AgentId& one, const domain::AgentId& other) {
                     return lineage_.share_settings(one, other);
                 }}));
        registry_.add(web_tools::web_fetch({.loop = loop_,
                                            .clock = clock_,
                                            .settings = config_.web.fetch,
                                            .http = {.ca_file = config_.tls_ca_file}}));
        registry_.add(
            web_tools::web_search({.loop = loop_,
                                   .clock = clock_,
                                   .processes = processes_,
                                   .settings = config_.web.search,
                                   .http = {.ca_file = config_.tls_ca_file},
                                   .environment = shell_options(config_, lineage_).environment}));
        registry_.add(plan::run_plan_tool(late_plans_));
        plan_tools::add_all(registry_, {.loop = loop_,
                                        .shell = *shell_,
                                        .context =
                                            [](const auto&, const tools::ExecutionContext& place) {
                                                return plan_tools::context_from(place.context);
                                            },
                                        .commands = plan_commands(config_),
                                        .allow_delete = config_.plans.allow_delete});
    }

    void build_mcp(Tools tools) {
        mcp_children_.emplace(loop_, provider::HttpOptions{.ca_file = config_.tls_ca_file});
        mcp_children_->use_logins(config_.home, clock_);
        auto parts = mcp_parts(config_, loop_, clock_, *mcp_children_, *boundary_);
        // Only of a daemon can an operator see what servers ask.
        if (tools == Tools::UsedLater) parts.questions = &mcp_questions_;
        mcp_.emplace(std::move(parts));
        mcp_live_.emplace(loop_, *mcp_, &mcp_questions_);
        if (tools == Tools::UsedLater) watch_logins();
    }

    // A server that somebody logs in to while this process runs is started then.
    void watch_logins() {
        const auto is_remote = [](const config::McpServer& server) { return !server.url.empty(); };
        if (std::ranges::none_of(config_.mcp_servers, is_remote)) return;
        auto watch = base::FileWatch::open(loop_, config_.home / "credentials.json",
                                           [this] { mcp_->retry_remote(); });
        if (watch)
            login_watch_ = std::move(*watch);
        else
            base::log_warn("a login to an MCP server is noticed at the next start only: {}",
                           watch.error().message);
    }

    // Starts the servers in the background. Where a list is missing, the loop runs until it is
    // there or the server has failed, for a bounded time, unless the process continues without it.
    void offer_mcp_tools(Tools tools) {
        if (config_.mcp_servers.empty()) return;
        struct Wait {
            bool is_running{false};
            bool is_over{false};
        };
        const auto wait = std::make_shared<Wait>();
        mcp_->offer(registry_, [wait, &loop = loop_] {
            wait->is_over = true;
            if (wait->is_running) loop.stop();
        });
        if (wait->is_over || tools == Tools::UsedLater) return;
        wait->is_running = true;
        loop_.run();
        wait->is_running = false;
    }

    void build_dispatcher() {
        dispatcher_.emplace(tools::DispatcherParts{
            .registry = registry_,
            .output = output_policy(config_),
            .clock = clock_,
            .ids = ids_,
            .external_calls =
                [&config = config_, &lineage = lineage_](const domain::AgentId& agent) {
                    return config.flow.of(lineage.settings_of(agent));
                },
            .proposals = &late_plans_,
            .loop = &loop_,
            .gate = active_gate()});
    }

    std::function<std::int64_t(const std::string&)> max_output_tokens_of() const {
        return [&config = config_](const std::string& model) {
            return policy_of(config, model).runtime_max_output_tokens;
        };
    }

    turn::Parts turn_parts() {
        return {.store = *store_,
                .loop = loop_,
                .clock = clock_,
                .ids = ids_,
                .provider = *providers_,
                .dispatcher = *dispatcher_,
                .feed = feed_,
                .home_of = home_of(),
                .max_output_tokens_of = max_output_tokens_of(),
                .patience = patience_,
                .follow_ups = config_.follow_ups,
                .work = {.reminder_rounds = config_.work.reminder_rounds,
                         .reminder_cooldown_rounds = config_.work.reminder_cooldown_rounds,
                         .reminder_tokens_max = config_.work.reminder_tokens_max,
                         .turns_without_progress_max = config_.work.turns_without_progress_max},
                .context_limits_of = [&config = config_](const std::string& model)
                    -> std::optional<turn::ContextLimits> {
                    if (model.empty()) return std::nullopt;
                    const auto policy = policy_of(config, model);
                    return turn::ContextLimits{
                        .prompt_budget = policy.prompt_budget_estimated_tokens,
                        .compaction_trigger = policy.compaction_trigger_estimated_tokens,
                        .compaction_target = policy.compaction_keep_recent_estimated_tokens};
                },
                .execution_of = execution_of(config_, lineage_),
                .brief_channels = {.command = !config_.notify.command.empty(),
                                   .webhook = !config_.notify.webhook.empty()},
                .user_home = config_.user_home,
                .summarises = config_.compaction_summary,
                .recent = recent_};
    }

    identity::ModelFacts model_facts() const {
        return {
            .runtime_default_model = config_.model ? config_.model->text() : "",
            .fallbacks_of = [&config = config_](
                                const std::string& model) { return fallback_names(config, model); },
            .policy_of =
                [&config = config_](const std::string& model) {
                    return model.empty() ? json::value(nullptr)
                                         : base::to_json(policy_of(config, model));
                }};
    }

    void build_service(std::string trigger_key) {
        const auto& budgets = config_.budgets;
        service_.emplace(service::LocalParts{
            .turn = turn_parts(),
            .tasks = *tasks_,
            .models = model_facts(),
            .check_run =
                [&config = config_](const std::string& model) { return check_run(config, model); },
            .name_model =
                [&config = config_](const std::string& model) { return name_model(config, model); },
            .task_of =
                [&shell = *shell_](const auto& request, const auto& place,
                                   const domain::TaskId& id) {
                    return command_of(shell, request, place, id);
                },
            .workspace_dir = config_.workspace_dir,
            .default_agent = config_.default_agent,
            .limits = {.turn_rounds = budgets.turn_rounds,
                       .turn_tokens = budgets.turn_tokens,
                       .turn_wall_ms = budgets.turn_wall_ms,
                       .agent_rounds = budgets.agent_rounds,
                       .agent_tokens = budgets.agent_tokens,
                       .agent_wall_ms = budgets.agent_wall_ms},
            .concurrent_turns_max = static_cast<std::size_t>(config_.max_concurrent_turns),
            .trigger_key = std::move(trigger_key),
            .webhook_bounds = {.rate_per_minute = config_.webhooks.rate_per_minute,
                               .body_bytes_max = config_.webhooks.body_bytes_max,
                               .timestamp_tolerance =
                                   std::chrono::seconds(config_.webhooks.timestamp_tolerance_s)},
            .holon_home = config_.home,
            .fetch = fetch_of(config_),
            .github_api = config_.github_api,
            .clean_worktree = clean_worktree()});
        mcp_questions_.on_change = [this](const std::string& server) {
            service_->announce({.kind = service::DeltaKind::Question, .text = server});
        };
    }

    void build_plans() {
        plans_.emplace(plans::Parts{
            .store = *store_,
            .loop = loop_,
            .clock = clock_,
            .ids = ids_,
            .agent_feed = feed_,
            .dispatcher = *dispatcher_,
            .home = config_.home,
            .vault = config_.workspace_dir,
            .run_loop = [&loop = loop_, &plans = plans_] { run_plan_loop(loop, *plans); },
            .stop_loop = [&loop = loop_] { loop.stop(); },
            .planner = {.provider = &*providers_,
                        .model_of = [&config = config_](
                                        const auto& asked) { return planner_model(config, asked); },
                        .max_output_tokens_of = max_output_tokens_of()},
            .owners = &late_plans_,
            .settings = config_.plans});
        agent_plans_.emplace(plans::AgentPlanParts{.store = *store_,
                                                   .loop = loop_,
                                                   .clock = clock_,
                                                   .ids = ids_,
                                                   .feed = feed_,
                                                   .tasks = *tasks_,
                                                   .rejoin = admission::rejoin,
                                                   .plans = *plans_});
        late_plans_.bind(*agent_plans_);
        plan_service_.emplace(*plans_);
    }

    // In the order in which they are made; destroyed in reverse, while the loop does not run and no
    // client calls. A part uses only those before it, with these exceptions:
    // - registry_ is filled later: its tools use the parts that they are made with.
    // - The gate, two tools (AgentGet, and SpawnAgent for the home of a child) and mcp_questions_
    //   reach service_: on a client's call, from the loop, or in the background, which the
    //   destructor waits for.
    // - late_plans_ stands for agent_plans_.
    // - lifetime_ guards what AgentGet and worktrees_ have in the background. It is the last one,
    //   so that this ends before anything it uses.
    config::Config config_;
    std::chrono::milliseconds patience_;
    base::SystemClock clock_;
    base::RandomIds ids_{clock_};
    base::AsioLoop loop_;  // What the store reports at its end is posted here, and dropped.
    events::Feed feed_;
    tools::Registry registry_;        // Steps of turns that are queued in the store read it.
    const Lineage lineage_{config_};  // So do they read this.
    LatePlans late_plans_;            // Commits of plan runs that are queued in the store call it.
    std::unique_ptr<store::Store> store_;  // Finishes its queue when it is destroyed.
    std::shared_ptr<context::RecentPasts> recent_ = std::make_shared<context::RecentPasts>();
    base::SystemProcessRunner processes_{loop_};
    std::optional<builtin::Shell> shell_;
    std::optional<sandbox::Boundary> boundary_;  // What MCP servers run behind.
    std::optional<supervisor::SystemSupervisor> supervisor_;
    std::optional<service::LocalGate> gate_;
    std::optional<gate::ResultGateAdapter> result_gate_;
    std::optional<tasks::Host> tasks_;
    std::optional<Providers> providers_;
    std::optional<mcp::SystemChildRunner> mcp_children_;
    mcp::Questions mcp_questions_{loop_, clock_, ids_};
    std::optional<mcp::Servers> mcp_;
    std::optional<McpServers> mcp_live_;
    std::unique_ptr<base::FileWatch> login_watch_;
    std::optional<tools::Dispatcher> dispatcher_;
    std::optional<provider::HttpClient> notify_http_;
    std::optional<notify::Sender> sender_;
    std::optional<builtin::WorkspaceParts> worktrees_;  // Of children that are over.
    std::optional<service::LocalService> service_;
    std::optional<plans::Plans> plans_;
    std::optional<plans::AgentPlans> agent_plans_;
    std::optional<service::LocalPlans> plan_service_;
    std::optional<provider::HttpClient> telemetry_http_;
    std::optional<telemetry::OtlpExporter> exporter_;
    std::shared_ptr<void> memory_marks_;
    std::optional<retention::Keeper> keeper_;
    std::optional<retention::IdleRelease> idle_release_;
    base::Lifetime lifetime_;
};

}  // namespace

std::filesystem::path marks_folder(const config::Config& config) {
    return config.home / "run" / "marks";
}

base::Result<std::unique_ptr<Runtime>> Runtime::open(const config::Config& config, Tools tools,
                                                     std::chrono::milliseconds patience) {
    TRY(keep_sandbox(config));
    // While the store is opened. Waited for on every way out of here.
    std::future<void> warm;
    if (tools != Tools::Unused && asks_over_http(config))
        warm = std::async(std::launch::async, [] { provider::HttpClient::warm_up(); });
    auto store = TRY(open_store(config));
    auto key = TRY(trigger_key(config.home));
    scan::know({key});  // It may have been made just now.
    if (config.outage_patience_ms) patience = std::chrono::milliseconds(*config.outage_patience_ms);
    auto runtime = std::make_unique<RealRuntime>(config, std::move(store), patience);
    runtime->build(tools, std::move(key));
    return runtime;
}

}  // namespace app
