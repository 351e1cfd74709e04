// Durable admissions per second: message, queue entry, event and agent in one commit that survives
// a power cut, by 1, 8 and 64 producers; our store against SQLite by hand. The disk is rarely ours
// alone, so the contenders take turns in slices that are short against its moods, and the median of
// the ratios of neighbouring slices counts, a few of them taken together. TMPDIR says which disk.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include <stdlib.h>

#include "bench/support/figures.h"
#include "bench/support/store_raw.h"
#include "store/sql/codec.h"
#include "store/sql/sqlite/sqlite_store.h"

namespace {

using namespace std::chrono_literals;

// A block holds several slices of each contender, or a checkpoint that happens to fall into one of
// them would decide the ratio.
constexpr auto kSlice = 50ms;
constexpr int kBlocks = 11;
constexpr int kWarmUps = 1;
constexpr double kOrders = 6;  // Of three contenders.
constexpr int kAgents = 16;
constexpr double kRatioMin = 0.8;

struct Admission {
    domain::Message message;
    domain::Event event;
    domain::AgentStatistics statistics;
};

Admission admission(int producer) {
    const domain::AgentId agent{"agent-" + std::to_string(producer % kAgents)};
    const base::Time now = base::from_micros(1'700'000'000'000'000);
    Admission one;
    one.message = {.agent_id = agent, .created_at = now};
    one.message.body = domain::TextBody{.text = std::string(200, 'x')};
    one.event = {.created_at = now, .kind = "message_admitted", .data = {{"priority", "normal"}}};
    one.statistics = {.agent_id = agent};
    return one;
}

std::string next_id(int producer, long n) {
    return fmt::format("0190a5c2-7b1e-7{:03x}-8000-{:012x}", producer, n);
}

// Our store, or SQLite by hand, with a database of its own. Ids continue from slice to slice.
class Contender {
public:
    virtual ~Contender() = default;
    // Admits for `producer` from the `first` message on until stopped; returns how many.
    virtual long admit(int producer, long first, const std::atomic<bool>& stop) = 0;

    // Admissions per second of one slice.
    double rate(int producers) {
        std::atomic<bool> stop{false};
        std::atomic<long> total{0};
        next_.resize(static_cast<std::size_t>(producers));
        const auto start = std::chrono::steady_clock::now();
        {
            std::vector<std::jthread> threads;
            for (int p = 0; p < producers; ++p)
                threads.emplace_back([&, p] {
                    long& next = next_[static_cast<std::size_t>(p)];
                    const long done = admit(p, next, stop);
                    next += done;
                    total += done;
                });
            std::this_thread::sleep_for(kSlice);
            stop = true;
        }
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
        return static_cast<double>(total.load()) / took.count();
    }

private:
    std::vector<long> next_;  // By producer.
};

class OurStore final : public Contender {
public:
    explicit OurStore(const std::filesystem::path& file)
        : store_(sqlite::open({.file = file}).value()) {}

    long admit(int producer, long first, const std::atomic<bool>& stop) override {
        Admission one = admission(producer);
        long n = first;
        for (; !stop; ++n) {
            one.message.id = {next_id(producer, n)};
            one.event.id = {one.message.id.value};
            const auto status =
                store_->write(store::Durability::Disk, [&](store::Tx& tx) -> store::Status {
                    TRY(tx.append_message(one.message, std::nullopt));
                    TRY(tx.append_event(one.message.agent_id, one.event));
                    ++one.statistics.total_message_count;
                    return tx.put_statistics(one.statistics);
                });
            CHECK(status.has_value(), "an admission succeeds");
        }
        return n - first;
    }

private:
    std::unique_ptr<store::Store> store_;
};

template <class Raw>
class ByHand final : public Contender {
public:
    explicit ByHand(const std::filesystem::path& file) : raw_(migrated(file)) {}

    long admit(int producer, long first, const std::atomic<bool>& stop) override {
        Admission one = admission(producer);
        one.message.id = {next_id(producer, first)};
        one.event.id = {one.message.id.value};
        bench::RawAdmission encoded{.agent_id = one.message.agent_id.value,
                                    .message = sql::encode(one.message).value(),
                                    .event = sql::encode(one.event).value(),
                                    .statistics = sql::encode(one.statistics).value()};
        long n = first;
        for (; !stop; ++n) {
            encoded.message_id = next_id(producer, n);
            raw_.admit(encoded);
        }
        return n - first;
    }

private:
    static const std::filesystem::path& migrated(const std::filesystem::path& file) {
        CHECK(sqlite::open({.file = file}).has_value(), "the schema can be made");
        return file;
    }

    Raw raw_;
};

void report(int producers, std::string_view to, const std::vector<double>& ours,
            const std::vector<double>& theirs) {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < ours.size(); ++i) ratios.push_back(ours[i] / theirs[i]);
    const std::string name = fmt::format("store_admissions_{}_to_{}", producers, to);
    bench::note(
        fmt::format("{}: {:.0f}/s to {:.0f}/s; half of the ratios lie from {:.2f} to "
                    "{:.2f}, all from {:.2f} to {:.2f}",
                    name, bench::median(ours), bench::median(theirs),
                    bench::percentile(ratios, 0.25), bench::percentile(ratios, 0.75),
                    bench::percentile(ratios, 0), bench::percentile(ratios, 1)));
    bench::figure(name, bench::median(ratios), "ratio", bench::at_least(kRatioMin));
}

void compare(const std::filesystem::path& folder, int producers) {
    const auto file = [&](const char* name) {
        return folder / fmt::format("{}-{}.db", name, producers);
    };
    OurStore ours(file("ours"));
    ByHand<bench::RawSingle> single(file("single"));
    ByHand<bench::RawGrouped> grouped(file("grouped"));
    std::array<Contender*, 3> contenders{&ours, &single, &grouped};
    std::array<std::vector<double>, 3> rates;
    for (int block = -kWarmUps; block < kBlocks; ++block) {
        std::array<double, 3> sums{};
        // Every order once: writes that one leaves behind slow the next one.
        std::array<std::size_t, 3> order{0, 1, 2};
        do
            for (const std::size_t at : order) sums[at] += contenders[at]->rate(producers);
        while (std::ranges::next_permutation(order).found);
        for (std::size_t at = 0; block >= 0 && at < sums.size(); ++at)
            rates[at].push_back(sums[at] / kOrders);
    }
    report(producers, "raw", rates[0], rates[1]);
    report(producers, "raw_grouped", rates[0], rates[2]);
}

}  // namespace

int main() {
    std::string folder = (std::filesystem::temp_directory_path() / "holon-bench-XXXXXX").string();
    CHECK(::mkdtemp(folder.data()) != nullptr, "a temporary folder can be made");
    for (const int producers : {1, 8, 64}) compare(folder, producers);
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
    return 0;
}
