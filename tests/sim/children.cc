#include "tests/sim/children.h"

#include <map>
#include <random>
#include <set>

#include "base/hash.h"
#include "domain/events/tasks.h"
#include "exec/tasks/child_task.h"
#include "flow/scheduler/scheduler.h"
#include "flow/supervision/child_tasks.h"
#include "provider/scripted/scripted_provider.h"
#include "tests/sim/life.h"

namespace sim {
namespace {

constexpr int kTreePrompts = 2;
constexpr std::int64_t kEverything = 100'000;
constexpr std::int64_t kRoundTokens = 15;
const domain::AgentId kTop{"root"};

std::string input_of(const provider::Request& request) {
    const auto& blocks = request.frame.context_blocks;
    return blocks.empty() ? "" : blocks.back().text;
}

// "prompt root-1" and "node root-1/0" name a place in a tree.
std::string place_of(const std::string& input) {
    for (const std::string_view sign : {"prompt ", "node "}) {
        const auto at = input.find(sign);
        if (at == input.npos) continue;
        const auto rest = input.substr(at + sign.size());
        return rest.substr(0, rest.find_first_of(" \n"));
    }
    return "";
}

provider::Round calling(std::string tool, json::object input) {
    provider::Round round;
    round.tool_calls.push_back({.name = std::move(tool), .input = std::move(input)});
    round.usage = provider::ScriptedUsage{10, 5};
    return round;
}

// What the agent at this place of the tree does; the same for the same seed and input.
provider::Scenario story(std::uint64_t seed, const std::string& input) {
    provider::Scenario scenario;
    provider::Round last{.text = "done", .usage = provider::ScriptedUsage{10, 5}, .delay_ms = 3};
    const bool is_report = input.contains("Background task");
    const bool is_question = input.contains("waits for your answer");
    const auto place = place_of(input);
    if (is_question) {
        scenario.rounds.push_back(
            calling("TaskInput", {{"task_id", "$task"}, {"input", "go on then"}}));
    } else if (!is_report && !place.empty()) {
        std::mt19937_64 random(std::stoull(
            base::sha256_hex(fmt::format("{} {}", seed, place)).substr(0, 15), nullptr, 16));
        const bool is_top = !input.contains("node ");
        const int wanted = static_cast<int>(random() % (is_top ? 4 : 3));
        for (int i = 0; i < wanted; ++i)
            scenario.rounds.push_back(
                calling("SpawnAgent", {{"initial_message", fmt::format("node {}/{}", place, i)}}));
        if (!is_top && random() % 5 == 0)
            for (int i = 0; i < 12; ++i) scenario.rounds.push_back(calling("AgentGet", {}));
        if (!is_top && random() % 4 == 0)
            scenario.rounds.push_back(
                calling("Sleep", {{"reason", "a rest"}, {"duration_ms", 5000}}));
        last.text = "report of " + place;
    }
    scenario.rounds.push_back(std::move(last));
    return scenario;
}

class TreeModel final : public provider::Provider {
public:
    TreeModel(std::uint64_t seed, base::Loop& loop) : seed_(seed), loop_(loop) {}
    std::shared_ptr<provider::Exchange> ask(
        provider::Request request, provider::Progress progress,
        std::move_only_function<void(provider::Outcome)> done) override {
        const auto input = input_of(request);
        auto& model = by_input_[input];
        if (!model)
            model = std::make_unique<provider::ScriptedProvider>(story(seed_, input), loop_);
        return model->ask(std::move(request), std::move(progress), std::move(done));
    }

private:
    std::uint64_t seed_;
    base::Loop& loop_;
    std::map<std::string, std::unique_ptr<provider::Provider>> by_input_;
};

class TreeProcess final : public Life {
public:
    TreeProcess(Disk& disk, World& world, FaultPlan plan, std::uint64_t seed, int life)
        : Life(disk, world, plan, seed, life,
               [seed](base::Loop& loop) { return std::make_shared<TreeModel>(seed, loop); }),
          seed_(seed) {}

    bool run(std::set<std::string>& acknowledged, Outcome& outcome) {
        bool stuck = false;
        scheduler::Scheduler scheduler(parts_, {.model_ref = "scripted/sim"});
        scheduler.on_stuck = [&](const domain::AgentId&, const base::Error&) { stuck = true; };
        tasks_.set_listener(
            {.on_result = [&](const domain::AgentId& agent) { scheduler.wake(agent); },
             .on_stuck = [&](const domain::AgentId&, const base::Error&) { stuck = true; }});
        supervision::ChildTasks children(
            {.store = *store_,
             .loop = loop_,
             .clock = loop_,
             .ids = ids_,
             .feed = feed_,
             .tasks = tasks_,
             .wake = [&](const domain::AgentId& agent) { scheduler.wake(agent); },
             .halt =
                 [&](const domain::AgentId& agent, const std::string& reason) {
                     scheduler.halt(agent, reason, turn::StopKind::Interrupt);
                 }});
        std::vector<domain::Task> spawned;
        const auto watching = feed_.subscribe([&](const events::Committed& one) {
            if (!domain::events::is<domain::events::TaskChildSpawned>(one.event)) return;
            spawned.push_back(base::from_json<domain::Task>(one.event.data).value());
            check_alive(outcome);
        });
        if (!create(kTop)) return false;
        tasks_.recover_all(kEverything);
        scheduler.start();
        for (int prompt = 0; prompt < kTreePrompts; ++prompt) {
            const std::string key = fmt::format("{}-{}", kTop, prompt);
            if (!acknowledged.contains(key)) {
                if (!admit(kTop, key, domain::Priority::Normal)) return false;
                acknowledged.insert(key);
            }
            scheduler.wake(kTop);
            for (int i = 0; i < 40; ++i) loop_.run_one();
        }
        // The parent stops one of its children in the middle, now and then.
        if (seed_ % 3 == 0 && !spawned.empty()) {
            const auto& one = spawned[seed_ % spawned.size()];
            tasks_.stop(one.agent_id, one.id, [](const base::Result<tasks::StopReceipt>&) {});
        }
        loop_.run();
        tasks_.set_listener({});
        return !stuck;
    }

private:
    void check_alive(Outcome& outcome) {
        const auto status = store_->read([&](store::Tx& tx) -> base::Status {
            const auto alive = TRY(tasks::count_children(tx, kTop, kEverything));
            if (alive > kChildren.max_tree_alive)
                outcome.violations.push_back(fmt::format("{} children are alive at once", alive));
            return {};
        });
        if (!status) outcome.violations.push_back("alive: " + status.error().message);
    }

    const std::uint64_t seed_;
};

class TreeChecker {
public:
    TreeChecker(store::Tx& tx, Outcome& outcome) : tx_(tx), outcome_(outcome) {}

    base::Status check(const std::set<std::string>& acknowledged) {
        std::int64_t children = 0;
        for (const auto& id : TRY(tx_.agents({}, kEverything))) {
            const auto agent = TRY(tx_.agent(id)).value();
            children += domain::is_supervised(agent) ? 1 : 0;
            TRY(check_rest(agent));
            TRY(check_tasks(id));
            TRY(check_spent(agent));
        }
        outcome_.tasks += children;
        std::set<std::string> answered;
        for (const auto& one : TRY(tx_.messages(kTop, {.limit = kEverything})))
            if (one.record.message.kind == domain::MessageKind::OperatorPrompt &&
                one.record.entry.status == domain::QueueStatus::Processed)
                answered.insert(domain::readable(one.record.message.body).substr(7));
        for (const auto& key : acknowledged)
            if (!answered.contains(key)) violation("prompt {} was not answered", key);
        return {};
    }

private:
    template <class... Args>
    void violation(fmt::format_string<Args...> text, Args&&... args) {
        outcome_.violations.push_back(fmt::format(text, std::forward<Args>(args)...));
    }

    base::Status check_rest(const domain::Agent& agent) {
        const auto facts = TRY(identity::load_facts(tx_, agent.agent_id));
        if (facts.open_attempt) violation("{} has an open attempt", agent.agent_id);
        if (facts.pending > 0) violation("{} has {} pending", agent.agent_id, facts.pending);
        if (!facts.active_tasks.empty()) violation("{} has open tasks", agent.agent_id);
        if (!domain::is_supervised(agent)) return {};
        if (agent.identity.status != domain::IdentityStatus::Archived)
            violation("{} is not archived", agent.agent_id);
        if (!facts.active_timers.empty()) violation("{} has timers", agent.agent_id);
        if (!facts.open_waits.empty()) violation("{} waits", agent.agent_id);
        const auto task = TRY(tx_.task(*agent.identity.delegated_from_task_id));
        if (!task) violation("{} is an orphan", agent.agent_id);
        return {};
    }

    base::Status check_tasks(const domain::AgentId& parent) {
        std::map<std::string, int> reports;
        for (const auto& one : TRY(tx_.messages(parent, {.limit = kEverything})))
            if (one.record.message.kind == domain::MessageKind::TaskResult)
                ++reports[one.record.message.task_id.value().value];
        for (const auto& task : TRY(tx_.tasks(parent, kEverything))) {
            if (!domain::is_terminal(task.status)) violation("task {} is open", task.id);
            if (reports[task.id.value] != 1)
                violation("task {} was reported {} times", task.id, reports[task.id.value]);
        }
        return {};
    }

    // Of everything below the agent, added up anew.
    base::Result<std::int64_t> spent_below(const domain::AgentId& agent) {
        std::int64_t tokens = 0;
        for (const auto& task : TRY(tx_.tasks(agent, kEverything))) {
            const domain::AgentId child{tasks::child_detail_of(task).child_agent_id};
            if (!TRY(tx_.agent(child))) continue;
            const auto own = TRY(tx_.statistics(child));
            tokens += own.total_input_tokens + own.total_output_tokens + TRY(spent_below(child));
            ++agents_below_;
        }
        return tokens;
    }

    base::Status check_spent(const domain::Agent& agent) {
        agents_below_ = 0;
        const auto below = TRY(spent_below(agent.agent_id));
        const auto statistics = TRY(tx_.statistics(agent.agent_id));
        if (below != statistics.delegated_tokens)
            violation("{} paid {} tokens, but {} were used", agent.agent_id,
                      statistics.delegated_tokens, below);
        if (!agent.delegation) return {};
        const auto used = below + statistics.total_input_tokens + statistics.total_output_tokens;
        if (used > agent.delegation->tokens_max + kRoundTokens * (agents_below_ + 1))
            violation("{} and what is below it used {} of {} tokens", agent.agent_id, used,
                      agent.delegation->tokens_max);
        return {};
    }

    store::Tx& tx_;
    Outcome& outcome_;
    std::int64_t agents_below_{0};
};

}  // namespace

Outcome simulate_children(const Setup& setup) {
    Outcome outcome;
    Disk disk;
    World world;
    std::set<std::string> acknowledged;
    for (std::size_t life = 0;; ++life) {
        const bool last = life >= setup.plans.size();
        ++outcome.processes;
        TreeProcess process(disk, world, last ? FaultPlan{} : setup.plans[life], setup.seed,
                            static_cast<int>(life));
        bool rested = false;
        try {
            rested = process.run(acknowledged, outcome);
        } catch (const Crash&) {
        }
        outcome.commits = disk.commits();
        if (!rested) {
            if (!last) continue;
            outcome.violations.push_back("a process without faults did not come to an end");
            return outcome;
        }
        const auto status = process.store().read(
            [&](store::Tx& tx) { return TreeChecker(tx, outcome).check(acknowledged); });
        if (!status) outcome.violations.push_back("check: " + status.error().message);
        return outcome;
    }
}

}  // namespace sim
