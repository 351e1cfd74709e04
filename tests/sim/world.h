// The world outside the runtime: it remembers what was done to it, whatever becomes of the runtime.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/os/loop.h"
#include "base/os/process.h"
#include "exec/tasks/supervisor/supervisor.h"
#include "provider/provider.h"
#include "provider/scripted/scenario.h"

namespace sim {

// A supervised command, for as long as it is remembered. It continues when the runtime has ended.
struct SimCommand {
    std::string cmd;
    base::Time ends_at{};
    supervisor::End end{};
    std::int64_t boot{0};
};

struct World {
    std::map<std::string, SimCommand> commands;  // By id.
    std::int64_t boot{0};                        // Goes up when the power fails.
    std::map<std::string, int> runs;             // How often each command line was started.
    std::vector<std::string> pairing_faults;     // Requests whose calls and results did not pair.
    std::int64_t requests{0};
    std::map<std::string, std::string> first_prompts;  // By request id: what the model was sent.
    std::vector<std::string> changed_prompts;          // Ids asked again with another prompt.
    // What the operator received, by the id of the delivery: the bytes, as often as they came.
    std::map<std::string, std::vector<std::string>> received;
};

// Fake processes: a command "prints" its own text after some made-up time. Commands that contain
// "fail" exit with 1, those with "big" print more than a receipt shows.
class FakeProcesses final : public base::ProcessRunner {
public:
    FakeProcesses(base::Loop& loop, World& world) : loop_(loop), world_(world) {}
    base::Result<std::shared_ptr<Handle>> start(
        base::ProcessSpec spec, std::move_only_function<void(base::ProcessExit)> on_exit) override;

private:
    base::Loop& loop_;
    World& world_;
};

// Supervised commands, as FakeProcesses has them. Those with "slow" take minutes and those with
// "slower" hours, so that they outlive turns and processes.
class SimSupervisor final : public supervisor::Supervisor {
public:
    SimSupervisor(base::Loop& loop, base::Clock& clock, World& world)
        : loop_(loop), clock_(clock), world_(world) {}
    base::Result<std::shared_ptr<Command>> start(supervisor::Spec spec,
                                                 supervisor::OnEnd on_end) override;
    std::shared_ptr<Command> attach(const std::string& id, supervisor::OnEnd on_end) override;
    bool knows(const std::string& id) override;
    std::vector<std::string> known() override;
    bool is_in_use(const std::string& id) override;
    void collect(const std::string& id, const std::filesystem::path& log,
                 const supervisor::Ended& ended, supervisor::Capture capture,
                 std::move_only_function<void(base::Result<supervisor::Captured>)> done) override;
    void forget(const std::string& id) override { world_.commands.erase(id); }

private:
    class Handle;
    struct Attached;
    void finish(const std::shared_ptr<Attached>& attached);

    base::Loop& loop_;
    base::Clock& clock_;
    World& world_;
};

// A model with a scenario of its own for every message, and a check on every request.
class SimModel final : public provider::Provider {
public:
    SimModel(std::uint64_t seed, base::Loop& loop, World& world)
        : seed_(seed), loop_(loop), world_(world) {}
    std::shared_ptr<provider::Exchange> ask(
        provider::Request request, provider::Progress progress,
        std::move_only_function<void(provider::Outcome)> done) override;

private:
    std::uint64_t seed_;
    base::Loop& loop_;
    World& world_;
    std::map<std::string, std::unique_ptr<provider::Provider>> by_message_;
};

// Whether the model of this seed says so much that conversations have to be compacted. It does not
// report tokens, so they are estimated.
inline bool is_talkative(std::uint64_t seed) {
    return seed % 2 == 1;
}

// Whether its compactions ask the model for a summary, too.
inline bool asks_for_summaries(std::uint64_t seed) {
    return seed % 4 == 3;
}

// Why the conversation does not pair every call with exactly one result, or empty.
std::string pairing_fault(const std::vector<provider::ConversationTurn>& conversation);

// A few rounds with commands, tasks, batches, sleep, follow-ups, bad calls and provider faults, the
// same for the same seed and message. Command lines are unique. A follow-up has no follow-ups.
provider::Scenario make_scenario(std::uint64_t seed, const std::string& message);

}  // namespace sim
