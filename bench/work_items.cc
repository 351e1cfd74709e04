// What work items cost: the prompt and the pick of an agent that has completed thousands of them,
// against one that has ten; and how often an idle runtime wakes up with a thousand blocked ones.
#include <chrono>
#include <thread>

#include <stdlib.h>
#include <sys/resource.h>

#include "agent/context/work_section.h"
#include "agent/identity/facts.h"
#include "bench/support/figures.h"
#include "flow/work_items/work_items.h"
#include "provider/scripted/scripted_provider.h"
#include "tests/support/resident.h"

namespace {

using Steady = std::chrono::steady_clock;

constexpr int kRepeats = 400;
constexpr int kOpen = 10;
constexpr int kCompleted = 9'990;
constexpr int kBlocked = 1'000;
constexpr double kGrowthMax = 1.2;
constexpr double kWakeupsMax = 0.5;  // A second; the measurement itself costs one.

void check(const base::Status& status) {
    if (!status) fmt::print(stderr, "{}\n", status.error().message);
    CHECK(status.has_value(), "the database can be used");
}

std::filesystem::path temporary_folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "holon-work-XXXXXX").string();
    return mkdtemp(pattern.data());
}

domain::WorkItem item(int number, base::Time now) {
    return {.id = {fmt::format("work_{:032x}", number)},
            .agent_id = {"main"},
            .workspace_id = "agent_home",
            .objective = fmt::format("objective {}", number),
            .created_at = now,
            .updated_at = now + std::chrono::microseconds(number)};
}

void fill(store::Store& store, int open, int completed, int blocked) {
    const base::Time now = base::SystemClock().now();
    check(store.write(store::Durability::Process, [=](store::Tx& tx) -> base::Status {
        domain::Agent agent{.agent_id = {"main"}, .identity = {.agent_id = {"main"}}};
        agent.current_work_item_id = item(0, now).id;
        TRY(tx.put_agent(agent));
        for (int n = 0; n < open + completed + blocked; ++n) {
            auto made = item(n, now);
            if (n >= open) {
                made.state = domain::WorkItemState::Completed;
                made.result_summary = "done";
            }
            if (n >= open + completed) {
                made.state = domain::WorkItemState::Open;
                made.blocked_by = "a review";
                made.recheck_at = now + std::chrono::hours(24);
            }
            TRY(tx.put_work_item(made));
        }
        return {};
    }));
}

// The median time to load what a turn needs to know, and to move focus, in ms.
double turn_ms(int open, int completed) {
    const auto folder = temporary_folder();
    double ms = 0;
    {
        const auto store = sqlite::open({.file = folder / "holon.db"}).value();
        fill(*store, open, completed, 0);
        base::SystemClock clock;
        base::RandomIds ids(clock);
        std::vector<double> times;
        for (int n = 0; n < kRepeats; ++n) {
            const auto begun = Steady::now();
            check(store->write(store::Durability::Process, [&](store::Tx& tx) -> base::Status {
                events::Log log(tx, clock.now(), ids);
                auto facts = TRY(identity::load_facts(tx, {"main"}));
                const auto work = TRY(context::load_work(tx, facts.agent));
                CHECK(work.current.has_value(), "the agent has a focus");
                TRY(work_items::pick(log, facts.agent, {.id = item(n % open, {}).id}));
                return tx.put_agent(facts.agent);
            }));
            times.push_back(
                std::chrono::duration<double, std::milli>(Steady::now() - begun).count());
        }
        ms = bench::median(times);
    }
    std::filesystem::remove_all(folder);
    return ms;
}

long switches() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_nvcsw;
}

// Voluntary context switches a second of a runtime that has nothing to do.
double wakeups(int blocked) {
    const auto folder = temporary_folder();
    double each_second = 0;
    {
        const auto store = sqlite::open({.file = folder / "holon.db"}).value();
        fill(*store, 0, 0, blocked);
    }
    {
        test_support::Resident<provider::ScriptedProvider> runtime(
            folder, {}, provider::parse_scenario(R"({"rounds":[{"text":"x"}]})").value());
        std::this_thread::sleep_for(std::chrono::seconds(1));  // It starts.
        const long before = switches();
        const auto begun = Steady::now();
        std::this_thread::sleep_for(std::chrono::seconds(4));
        each_second = static_cast<double>(switches() - before - 1) /
                      std::chrono::duration<double>(Steady::now() - begun).count();
    }
    std::filesystem::remove_all(folder);
    return each_second;
}

}  // namespace

int main() {
    const double few = turn_ms(kOpen, 0);
    const double many = turn_ms(kOpen, kCompleted);
    bench::figure("work_turn_10_items", few, "ms");
    bench::figure("work_turn_10000_items", many, "ms");
    bench::figure("work_turn_growth", many / few, "x", bench::at_most(kGrowthMax));
    bench::figure("work_idle_wakeups_1000_blocked", wakeups(kBlocked), "1/s",
                  bench::at_most(kWakeupsMax));
}
