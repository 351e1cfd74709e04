// What a turn costs an agent that has lived long: a turn with one short answer, from its prompt to
// its end, of an agent with ten thousand episodes against one with ten. Working memory is derived,
// episodes are ended and written to the ledger in it.
#include <stdlib.h>

#include <chrono>
#include <semaphore>

#include "bench/support/figures.h"
#include "provider/scripted/scripted_provider.h"
#include "tests/support/resident.h"

namespace {

using Steady = std::chrono::steady_clock;

constexpr int kFew = 10;
constexpr int kMany = 10'000;
constexpr int kTurns = 60;
constexpr int kWarmUp = 12;  // An episode has ended by then, and the ledger has caught up.
constexpr double kGrowthMax = 1.2;

const service::Caller kOperator{domain::AdmissionContext::ControlAuthenticated, std::nullopt};

void check(const base::Status& status) {
    if (!status) fmt::print(stderr, "{}\n", status.error().message);
    CHECK(status.has_value(), "the database can be used");
}

domain::ContextEpisode episode(int number, base::Time now) {
    return {.id = fmt::format("ep_{:08}", number),
            .agent_id = {"main"},
            .workspace_id = "agent_home",
            .created_at = now,
            .finalized_at = now,
            .start_turn_index = number,
            .end_turn_index = number,
            .summary = fmt::format("work: part {} of the survey", number),
            .working_set_files = {fmt::format("notes/part-{}.md", number)},
            .commands = {fmt::format("make part-{} -> exit 0", number)}};
}

void fill(const std::filesystem::path& folder, int episodes) {
    const auto store = sqlite::open({.file = folder / "holon.db"}).value();
    const base::Time now = base::SystemClock().now();
    check(store->write(store::Durability::Process, [&](store::Tx& tx) -> base::Status {
        domain::Agent agent{.agent_id = {"main"}, .identity = {.agent_id = {"main"}}};
        agent.turn_index = episodes;
        TRY(tx.put_agent(agent));
        for (int n = 1; n <= episodes; ++n) TRY(tx.append_episode(episode(n, now)));
        return tx.put_working_memory({.agent_id = {"main"}, .archived_episode_count = episodes});
    }));
}

// The median of the turns, in ms.
double turn_ms(int episodes) {
    std::string pattern = (std::filesystem::temp_directory_path() / "holon-turns-XXXXXX").string();
    const std::filesystem::path folder = mkdtemp(pattern.data());
    std::filesystem::create_directories(folder / "main/.holon/ledger");
    std::vector<double> times;
    {
        fill(folder, episodes);
        std::counting_semaphore<> closed{0};
        test_support::Resident<provider::ScriptedProvider> runtime(
            folder,
            [&](const events::Committed& committed) {
                if (committed.event.kind == "turn_terminal") closed.release();
            },
            provider::parse_scenario(R"({"rounds":[{"text":"noted"}],"loop":true})").value());
        for (int n = 0; n < kWarmUp + kTurns; ++n) {
            const auto begun = Steady::now();
            CHECK(runtime.service().prompt("main", "continue", kOperator).has_value(), "a prompt");
            closed.acquire();
            if (n >= kWarmUp)
                times.push_back(
                    std::chrono::duration<double, std::milli>(Steady::now() - begun).count());
        }
    }
    std::filesystem::remove_all(folder);
    return bench::median(times);
}

}  // namespace

int main() {
    const double few = turn_ms(kFew);
    const double many = turn_ms(kMany);
    bench::figure("turn_10_episodes", few, "ms");
    bench::figure("turn_10000_episodes", many, "ms");
    bench::figure("turn_growth_with_episodes", many / few, "x", bench::at_most(kGrowthMax));
}
