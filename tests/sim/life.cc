#include "tests/sim/life.h"

#include <unistd.h>

#include "agent/workspace/workspace.h"
#include "exec/tools/builtin/builtin.h"
#include "exec/tools/work_tools/work_tools.h"
#include "flow/admission/admission.h"
#include "flow/admission/rejoin.h"
#include "flow/ingress/ingress.h"
#include "tests/sim/children.h"

namespace sim {
namespace {

// A folder of our own that goes with the process; artifacts of simulated commands land here.
const std::filesystem::path& scratch() {
    static const std::filesystem::path folder = [] {
        auto path = std::filesystem::temp_directory_path() / fmt::format("holon-sim-{}", getpid());
        std::filesystem::create_directories(path);
        return path;
    }();
    return folder;
}

// The conversations of these seeds grow too large again and again.
std::optional<turn::ContextLimits> limits_of(std::uint64_t seed) {
    if (!is_talkative(seed)) return std::nullopt;
    return turn::ContextLimits{
        .prompt_budget = 200'000, .compaction_trigger = 9'000, .compaction_target = 6'000};
}

}  // namespace

Life::Life(Disk& disk, World& world, FaultPlan plan, std::uint64_t seed, int life,
           const MakeModel& make_model)
    : store_(disk.open(plan)),
      ids_(loop_, seed * 1000 + static_cast<std::uint64_t>(life)),
      processes_(loop_, world),
      shell_(loop_, processes_, {}),
      supervisor_(loop_, loop_, world),
      tasks_({.store = *store_,
              .loop = loop_,
              .clock = loop_,
              .ids = ids_,
              .feed = feed_,
              .supervisor = supervisor_,
              .rejoin = admission::rejoin}),
      provider_({{"scripted/sim",
                  make_model ? make_model(loop_) : std::make_shared<SimModel>(seed, loop_, world)}},
                provider::Chain::Parts{loop_, loop_, ids_}),
      dispatcher_({.registry = with_tools(), .clock = loop_, .ids = ids_}),
      parts_{.store = *store_,
             .loop = loop_,
             .clock = loop_,
             .ids = ids_,
             .provider = provider_,
             .dispatcher = dispatcher_,
             .feed = feed_,
             .home_of = [](const domain::AgentId& agent) { return scratch() / agent.value; },
             .context_limits_of = [seed](const std::string&) { return limits_of(seed); },
             .summarises = asks_for_summaries(seed)} {
    loop_.after(std::chrono::hours(life), [] {});
    loop_.run();
}

const tools::Registry& Life::with_tools() {
    registry_.add(builtin::sleep());
    registry_.add(
        builtin::agent_get(loop_, [](const domain::AgentId& agent) -> base::Result<json::object> {
            return json::object{{"identity", {{"agent_id", agent.value}}}};
        }));
    registry_.add(builtin::enqueue());
    registry_.add(builtin::task_list(tasks_));
    registry_.add(builtin::task_output(tasks_, loop_));
    registry_.add(builtin::task_input(tasks_));
    registry_.add(builtin::task_stop(tasks_));
    registry_.add(builtin::spawn_agent(
        {.workspace = {.store = *store_, .loop = loop_, .clock = loop_, .processes = processes_},
         .limits = kChildren,
         .home_of = [](const domain::AgentId& agent) { return scratch() / agent.value; }}));
    registry_.add(builtin::exec_command(shell_, tasks_));
    registry_.add(builtin::exec_command_batch(shell_));
    work_tools::add_all(registry_, {.store = *store_, .loop = loop_, .clock = loop_});
    return registry_;
}

bool Life::commit(const std::function<base::Status(events::Log&)>& work) {
    return store_
        ->write(store::Durability::Disk,
                [&](store::Tx& tx) -> base::Status {
                    events::Log log(tx, loop_.now(), ids_);
                    return work(log);
                })
        .has_value();
}

bool Life::create(const domain::AgentId& id) {
    std::error_code failed;  // Without the folder its commands are refused, and a test sees that.
    std::filesystem::create_directories(parts_.home_of(id), failed);
    return commit([&](events::Log& log) -> base::Status {
        if (TRY(log.tx().agent(id))) return {};
        domain::Agent agent{.agent_id = id, .identity = {.agent_id = id}};
        agent.active_workspace_entry = workspace::agent_home(id, parts_.home_of(id));
        return log.tx().put_agent(agent);
    });
}

bool Life::admit(const domain::AgentId& agent, const std::string& key, domain::Priority priority) {
    const auto message = ingress::receive({.agent_id = agent,
                                           .origin = domain::OperatorOrigin{},
                                           .body = domain::TextBody{"prompt " + key},
                                           .surface = domain::DeliverySurface::CliPrompt,
                                           .admission = domain::AdmissionContext::LocalProcess,
                                           .priority = priority},
                                          loop_.now(), ids_)
                             .value();
    return commit([&](events::Log& log) -> base::Status {
        TRY(admission::admit(log, message, key));
        return {};
    });
}

}  // namespace sim
