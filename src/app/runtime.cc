#include "app/runtime.h"

#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <sstream>

#include "app/credentials.h"
#include "app/mcp.h"
#include "app/models.h"
#include "app/providers.h"
#include "app/sandbox.h"
#include "app/store.h"
#include "app/trigger_key.h"
#include "base/os/files.h"
#include "base/os/process_runner.h"
#include "base/os/signals.h"
#include "base/scan/secrets.h"
#include "exec/gate/result_gate_adapter.h"
#include "exec/tasks/supervisor/system_supervisor.h"
#include "exec/tools/builtin/builtin.h"
#include "exec/tools/builtin/commands/command_args.h"
#include "exec/tools/builtin/commands/command_request.h"
#include "exec/tools/dispatcher.h"
#include "exec/tools/mcp/system_child.h"
#include "exec/tools/plan_tools/plan_tools.h"
#include "flow/admission/rejoin.h"
#include "flow/plans/agents/agent_plans.h"
#include "service/local/local_gate.h"
#include "service/local/local_plans.h"

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

std::function<domain::Execution(const domain::AgentId&)> execution_of(
    const config::Config& config) {
    return [sandboxes = config.sandboxes, has_git = has_git(config)](const domain::AgentId& agent) {
        auto execution = config::execution_of(sandboxes.of(agent.value));
        execution.supports_managed_worktrees &= has_git;
        return execution;
    };
}

builtin::ShellOptions shell_options(const config::Config& config) {
    builtin::ShellOptions options{.default_shell = config.default_shell,
                                  .output = output_policy(config)};
    for (const auto& [name, value] : config.command_environment)
        options.environment.emplace_back(name, value);
    options.boundary = boundary_of(config, config.sandboxes.general);
    for (const auto& [agent, sandbox] : config.sandboxes.agents)
        options.agent_boundaries.emplace(agent, boundary_of(config, sandbox));
    options.execution_of = execution_of(config);
    return options;
}

gate::BackendFacts backend_facts(sandbox::Facts facts) {
    return {.name = std::move(facts.backend),
            .version = std::move(facts.version),
            .limits = std::move(facts.limits),
            .network_is_open = facts.network == sandbox::Network::Host,
            .hosts = std::move(facts.hosts)};
}

class RealRuntime final : public Runtime {
public:
    RealRuntime(const config::Config& config, Tools tools, std::unique_ptr<store::Store> store,
                std::string trigger_key)
        : config_(config),
          store_(std::move(store)),
          processes_(loop_),
          shell_(loop_, processes_, shell_options(config)),
          supervisor_(loop_, config.task_folder()),
          gate_({.store = *store_,
                 .clock = clock_,
                 .ids = ids_,
                 .folder = config.home / "gate",
                 .credentials = credentials_of(config),
                 .default_agent = {config.default_agent},
                 .publish =
                     [this](const std::vector<events::Committed>& events) {
                         loop_.post([this, events] { feed_.publish(events); });
                     },
                 .wake = [this](const domain::AgentId& agent) { service_.wake_up(agent); }}),
          result_gate_({.gate = gate_.gate(),
                        .loop = loop_,
                        .clock = clock_,
                        .policy =
                            [this](const domain::AgentId& agent, tools::Family family) {
                                return config_.gate.policy(agent.value, base::enum_name(family));
                            },
                        .backend =
                            [this](const domain::AgentId& agent) {
                                return backend_facts(shell_.boundary(agent).facts());
                            },
                        .shared_backend = [this] { return backend_facts(boundary_.facts()); },
                        .log_of = [this](const domain::ToolCall& call) { return log_of(call); },
                        .executor = "holon " HOLON_VERSION}),
          tasks_({.store = *store_,
                  .loop = loop_,
                  .clock = clock_,
                  .ids = ids_,
                  .feed = feed_,
                  .supervisor = supervisor_,
                  .rejoin = admission::rejoin,
                  .execution_of = execution_of(config),
                  .gate = config.gate.is_off() ? nullptr : &result_gate_,
                  .output_bytes_max = static_cast<std::uint64_t>(config.max_command_output_bytes)}),
          providers_(config, loop_, clock_, ids_),
          boundary_(boundary_of(config, config.sandboxes.general)),
          mcp_children_(loop_),
          mcp_(mcp_parts(config_, loop_, clock_, mcp_children_, boundary_)),
          dispatcher_(
              {.registry = with_tools(tools),
               .output = output_policy(config),
               .clock = clock_,
               .ids = ids_,
               .external_calls =
                   [this](const domain::AgentId& agent) { return config_.flow.of(agent.value); },
               .proposals = &agent_plans_,
               .loop = &loop_,
               .gate = config.gate.is_off() ? nullptr : &result_gate_}),
          service_(
              {.turn = {.store = *store_,
                        .loop = loop_,
                        .clock = clock_,
                        .ids = ids_,
                        .provider = providers_,
                        .dispatcher = dispatcher_,
                        .feed = feed_,
                        .home_of =
                            [this](const domain::AgentId& agent) {
                                return config_.agent_home(agent.value);
                            },
                        .max_output_tokens_of =
                            [this](const std::string& model) {
                                return policy(model).runtime_max_output_tokens;
                            },
                        .execution_of = execution_of(config)},
               .tasks = tasks_,
               .models = {.runtime_default_model = config.model ? config.model->text() : "",
                          .fallbacks_of =
                              [this](const std::string& model) { return fallbacks(model); },
                          .policy_of =
                              [this](const std::string& model) {
                                  return model.empty() ? json::value(nullptr)
                                                       : base::to_json(policy(model));
                              }},
               .check_run = [this](const std::string& model) { return check_run(config_, model); },
               .name_model =
                   [this](const std::string& model) { return name_model(config_, model); },
               .task_of = [this](const auto& request, const auto& place,
                                 const domain::TaskId& id) { return task_of(request, place, id); },
               .workspace_dir = config.workspace_dir,
               .started_in = config.cwd,
               .run_loop = [this] { loop_.run(); },
               .stop_loop = [this] { loop_.stop(); },
               .default_agent = config.default_agent,
               .limits = {.turn_rounds = config.budgets.turn_rounds,
                          .turn_tokens = config.budgets.turn_tokens,
                          .turn_wall_ms = config.budgets.turn_wall_ms,
                          .agent_rounds = config.budgets.agent_rounds,
                          .agent_tokens = config.budgets.agent_tokens,
                          .agent_wall_ms = config.budgets.agent_wall_ms},
               .concurrent_turns_max = static_cast<std::size_t>(config.max_concurrent_turns),
               .trigger_key = std::move(trigger_key)}),
          plans_({.store = *store_,
                  .loop = loop_,
                  .clock = clock_,
                  .ids = ids_,
                  .dispatcher = dispatcher_,
                  .home = config.home,
                  .vault = config.workspace_dir,
                  .run_loop = [this] { run_plan_loop(); },
                  .stop_loop = [this] { loop_.stop(); },
                  .planner = {.provider = &providers_,
                              .model_of = [this](const auto& asked) { return planner(asked); },
                              .max_output_tokens_of =
                                  [this](const std::string& model) {
                                      return policy(model).runtime_max_output_tokens;
                                  }},
                  .owners = &agent_plans_,
                  .settings = config.plans}),
          agent_plans_({.store = *store_,
                        .loop = loop_,
                        .clock = clock_,
                        .ids = ids_,
                        .feed = feed_,
                        .tasks = tasks_,
                        .rejoin = admission::rejoin,
                        .plans = plans_}) {}

    service::LocalService& service() override { return service_; }
    plans::Plans& plans() override { return plans_; }
    service::Plans& plan_service() override { return plan_service_; }
    service::Gate& gate() override { return gate_; }
    base::AsioLoop& loop() override { return loop_; }
    base::Clock& clock() override { return clock_; }
    events::Feed& feed() override { return feed_; }

private:
    // Only while a run is carried: the first Ctrl-C ends it with its calls; a second one ends the
    // program at once, and the run stays open for `plan resume`.
    void run_plan_loop() {
        int interrupts = 0;
        const base::Signals signals(loop_, {SIGINT, SIGTERM, SIGHUP}, [&](int) {
            if (++interrupts > 1) std::_Exit(kInterruptedExit);
            plans_.interrupt("operator_interrupt");
        });
        loop_.run();
    }

    // Names of models are checked before they get this far; one that an earlier program stored is
    // treated as unknown.
    config::ModelPolicy policy(const std::string& model) const {
        const auto ref = config::parse_model_ref(model);
        return config::resolve_policy(ref.value_or(config::ModelRef{"", model}), config_.models);
    }

    base::Result<std::string> planner(const std::optional<std::string>& asked) const {
        if (asked) return name_model(config_, *asked);
        std::string model = config_.model ? config_.model->text() : "";
        TRY(check_run(config_, model));
        return model;
    }

    std::vector<std::string> fallbacks(const std::string& model) const {
        std::vector<std::string> names;
        const auto ref = config::parse_model_ref(model);
        if (!ref) return names;
        for (const auto& fallback : config::fallbacks_of(config_, *ref))
            names.push_back(fallback.text());
        return names;
    }

    base::Result<tasks::CommandRequest> task_of(const service::TaskRequest& request,
                                                const tools::Place& place,
                                                const domain::TaskId& id) const {
        auto command = builtin::command_request(
            shell_, place, id,
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
                return std::unexpected(
                    base::Error{base::ErrorCode::Refused, error.message,
                                std::string(base::enum_name(denials.front().rule))});
            return base::fail(base::ErrorCode::InvalidInput, "{} {}", error.message,
                              error.recovery_hint.value_or(""));
        }
        if (!request.summary.empty()) command->summary = request.summary;
        return std::move(*command);
    }

    std::filesystem::path log_of(const domain::ToolCall& call) const {
        const bool is_plan = call.source == domain::CallSource::PlanStep;
        return builtin::output_log(is_plan ? config_.home / "plans" / call.run_id.value
                                           : config_.agent_home(call.agent_id.value),
                                   {call.call_id.value});
    }

    // Before anything else runs, so that the catalogue is the same in every turn of this process.
    void discover_mcp() {
        if (config_.mcp_servers.empty()) return;
        mcp_.discover([this] { loop_.stop(); });
        loop_.run();
        mcp_.add_tools(registry_);
    }

    std::vector<plan_tools::NamedCommand> plan_commands() const {
        std::vector<plan_tools::NamedCommand> list;
        for (const auto& [name, command] : config_.plans.commands)
            list.push_back(
                {name, command.description.value_or(""), command.argv, command.timeout_ms});
        return list;
    }

    const tools::Registry& with_tools(Tools tools) {
        registry_.add(builtin::sleep());
        registry_.add(builtin::agent_get(
            [this](const domain::AgentId& agent) { return service_.status(agent.value); }));
        registry_.add(builtin::enqueue());
        registry_.add(builtin::task_list(tasks_));
        registry_.add(builtin::task_status(tasks_));
        registry_.add(builtin::task_input(tasks_));
        registry_.add(builtin::task_output(tasks_, loop_));
        registry_.add(builtin::task_stop(tasks_));
        registry_.add(builtin::apply_patch(loop_));
        registry_.add(builtin::exec_command(shell_, tasks_));
        registry_.add(builtin::exec_command_batch(shell_));
        registry_.add(builtin::use_workspace({.store = *store_,
                                              .loop = loop_,
                                              .clock = clock_,
                                              .processes = processes_,
                                              .environment = shell_options(config_).environment,
                                              .runtime_home = config_.home,
                                              .execution_of = execution_of(config_)}));
        registry_.add(plan::run_plan_tool(agent_plans_));
        plan_tools::add_all(registry_, {.loop = loop_,
                                        .shell = shell_,
                                        .context =
                                            [](const auto&, const tools::Place& place) {
                                                return plan_tools::context_from(place.context);
                                            },
                                        .commands = plan_commands(),
                                        .allow_delete = config_.plans.allow_delete,
                                        .kept = config_.home / "plans"});
        if (tools == Tools::Used) discover_mcp();
        return registry_;
    }

    config::Config config_;
    base::SystemClock clock_;
    base::RandomIds ids_{clock_};
    base::AsioLoop loop_;
    std::unique_ptr<store::Store> store_;
    base::SystemProcessRunner processes_;
    builtin::Shell shell_;
    events::Feed feed_;
    supervisor::SystemSupervisor supervisor_;
    service::LocalGate gate_;
    gate::ResultGateAdapter result_gate_;
    tasks::Host tasks_;
    Providers providers_;
    sandbox::Boundary boundary_;  // What MCP servers run behind.
    mcp::SystemChildRunner mcp_children_;
    mcp::Servers mcp_;
    tools::Registry registry_;
    tools::Dispatcher dispatcher_;
    service::LocalService service_;
    plans::Plans plans_;
    plans::AgentPlans agent_plans_;
    service::LocalPlans plan_service_{plans_};
};

}  // namespace

base::Result<std::unique_ptr<Runtime>> Runtime::open(const config::Config& config, Tools tools) {
    auto store = TRY(open_store(config));
    auto key = TRY(trigger_key(config.home));
    scan::know({key});  // It may have been made just now.
    return std::make_unique<RealRuntime>(config, tools, std::move(store), std::move(key));
}

}  // namespace app
