// Durable admissions per second: message, queue entry, event and agent in one commit that survives
// a power cut, by 1, 8 and 64 producers; our store against SQLite by hand. Prints rates, then one
// line "name ratio" for each comparison. Short rounds alternate and the median of their ratios
// counts, because the disk is rarely ours alone. TMPDIR says which disk.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <functional>
#include <thread>

#include <stdlib.h>

#include "bench/store_raw.h"
#include "store/sql/codec.h"
#include "store/sql/sqlite/sqlite_store.h"

namespace {

using namespace std::chrono_literals;

constexpr auto kRound = 150ms;
constexpr int kRounds = 7;
constexpr int kAgents = 16;

struct Admission {
    domain::Message message;
    domain::Event event;
    domain::Agent agent;
};

Admission admission(int producer) {
    const domain::AgentId agent{"agent-" + std::to_string(producer % kAgents)};
    const base::Time now = base::from_micros(1'700'000'000'000'000);
    Admission one;
    one.message = {.agent_id = agent, .created_at = now};
    one.message.body = domain::TextBody{.text = std::string(200, 'x')};
    one.event = {.created_at = now, .kind = "message_admitted", .data = {{"priority", "normal"}}};
    one.agent = {.agent_id = agent};
    one.agent.identity = {.agent_id = agent, .created_at = now, .updated_at = now};
    return one;
}

std::string next_id(int producer, long n) {
    return fmt::format("0190a5c2-7b1e-7{:03x}-8000-{:012x}", producer, n);
}

// Admits until told to stop; returns how many.
using Producer = std::function<long(int producer, const std::atomic<bool>& stop)>;

double rate(int producers, const Producer& producer) {
    std::atomic<bool> stop{false};
    std::atomic<long> total{0};
    std::vector<std::jthread> threads;
    const auto start = std::chrono::steady_clock::now();
    for (int p = 0; p < producers; ++p)
        threads.emplace_back([&, p] { total += producer(p, stop); });
    std::this_thread::sleep_for(kRound);
    stop = true;
    threads.clear();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    return static_cast<double>(total.load()) / took.count();
}

double store_rate(const std::filesystem::path& file, int producers) {
    const auto store = sqlite::open({.file = file}).value();
    return rate(producers, [&](int p, const std::atomic<bool>& stop) {
        Admission one = admission(p);
        long n = 0;
        for (; !stop; ++n) {
            one.message.id = {next_id(p, n)};
            one.event.id = {one.message.id.value};
            const auto status =
                store->write(store::Durability::Disk, [&](store::Tx& tx) -> store::Status {
                    TRY(tx.append_message(one.message, std::nullopt));
                    TRY(tx.append_event(one.message.agent_id, one.event));
                    ++one.agent.total_message_count;
                    return tx.put_agent(one.agent);
                });
            CHECK(status.has_value(), "an admission succeeds");
        }
        return n;
    });
}

template <class Raw>
double raw_rate(const std::filesystem::path& file, int producers) {
    CHECK(sqlite::open({.file = file}).has_value(), "the schema can be made");
    Raw raw(file);
    return rate(producers, [&](int p, const std::atomic<bool>& stop) {
        Admission one = admission(p);
        one.message.id = {next_id(p, 0)};
        one.event.id = {one.message.id.value};
        bench::RawAdmission encoded{.agent_id = one.message.agent_id.value,
                                    .message = sql::encode(one.message).value(),
                                    .event = sql::encode(one.event).value(),
                                    .agent = sql::encode(one.agent).value()};
        long n = 0;
        for (; !stop; ++n) {
            encoded.message_id = next_id(p, n);
            raw.admit(encoded);
        }
        return n;
    });
}

// Runs `measure` on a database of its own.
double fresh(double (*measure)(const std::filesystem::path&, int), int producers) {
    std::string pattern = (std::filesystem::temp_directory_path() / "holon-bench-XXXXXX").string();
    CHECK(::mkdtemp(pattern.data()) != nullptr, "a temporary folder can be made");
    const double result = measure(std::filesystem::path(pattern) / "bench.db", producers);
    std::filesystem::remove_all(pattern);
    return result;
}

double median(std::vector<double> values) {
    std::ranges::sort(values);
    return values[values.size() / 2];
}

void compare(int producers) {
    using Measure = double (*)(const std::filesystem::path&, int);
    constexpr Measure kContenders[] = {store_rate, raw_rate<bench::RawSingle>,
                                       raw_rate<bench::RawGrouped>};
    std::vector<double> ours, single, grouped, to_single, to_grouped;
    for (int round = 0; round < kRounds; ++round) {
        double rates[3];
        // Each goes first in turn: what the one before leaves to the disk slows the next.
        for (int i = 0; i < 3; ++i)
            rates[(round + i) % 3] = fresh(kContenders[(round + i) % 3], producers);
        ours.push_back(rates[0]);
        single.push_back(rates[1]);
        grouped.push_back(rates[2]);
        to_single.push_back(rates[0] / rates[1]);
        to_grouped.push_back(rates[0] / rates[2]);
    }
    std::printf("# %d producers: store %.0f/s, raw %.0f/s, raw grouped %.0f/s\n", producers,
                median(ours), median(single), median(grouped));
    std::printf("store_admissions_%d_to_raw %.2f\n", producers, median(to_single));
    std::printf("store_admissions_%d_to_raw_grouped %.2f\n", producers, median(to_grouped));
    std::fflush(stdout);
}

}  // namespace

int main() {
    for (const int producers : {1, 8, 64}) compare(producers);
    return 0;
}
