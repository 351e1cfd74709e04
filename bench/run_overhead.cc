// What `holon run` adds to the model and the commands: time between two requests, time to the first
// request, peak memory, and what becomes of a gigabyte of output. The model answers at once over
// loopback. Commands are not confined, but for the figures that say so: what confinement adds to a
// command is a figure of bench_sandbox_spawn. TMPDIR says which disk.
// Usage: bench_run_overhead HOLON [rounds|confined|start|flood].
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <deque>
#include <filesystem>

#include "base/hash.h"
#include "base/json.h"
#include "bench/support/child.h"
#include "bench/support/figures.h"
#include "bench/support/loopback_model.h"

namespace {

using bench::at_most;
using bench::figure;
using bench::note;
using Milliseconds = std::chrono::duration<double, std::milli>;

constexpr int kRounds = 20;
constexpr int kRuns = 10;
constexpr int kStarts = 20;
constexpr int kColdStarts = 7;
constexpr int kSpawnsPerRun = 10;
constexpr int kSyncsPerRun = 5;

constexpr double kRoundOverheadMsMax = 3;
constexpr double kFirstRequestMsMax = 30;
constexpr double kPeakMbMax = 25;
constexpr double kFloodPeakMbMax = 40;

constexpr std::uintmax_t kFloodBytes = 1'000'000'000;
// Text that never repeats: a block that was lost, doubled or moved changes the digest.
constexpr std::string_view kFlood = "seq 200000000 | head -c 1000000000";
constexpr int kFloodMsMax = 120'000;  // It is to be over before it would become a task.

constexpr std::string_view kPath = "PATH=/usr/local/bin:/usr/bin:/bin";

class TempFolder {
public:
    TempFolder() {
        std::string pattern =
            (std::filesystem::temp_directory_path() / "holon-bench-XXXXXX").string();
        CHECK(::mkdtemp(pattern.data()) != nullptr, "a temporary folder can be made");
        path_ = pattern;
    }
    ~TempFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    TempFolder(const TempFolder&) = delete;
    TempFolder& operator=(const TempFolder&) = delete;
    const std::filesystem::path& path() const { return path_; }

private:
    std::filesystem::path path_;
};

// `holon run` in an empty project, against our own model.
class Holon {
public:
    explicit Holon(std::string program) : program_(std::move(program)) {
        std::filesystem::create_directory(project());
    }

    bench::ChildEnd run(const std::filesystem::path& home, std::deque<std::string> replies,
                        const std::vector<std::string>& more = {}) {
        model_.script(std::move(replies));
        std::vector<std::string> arguments{"run", "Do it.", "--json"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return command(home, std::move(arguments));
    }

    bench::ChildEnd command(const std::filesystem::path& home, std::vector<std::string> arguments) {
        bench::ChildSpec spec{
            .argv = std::move(arguments),
            .environment = {std::string(kPath), "HOME=" + home.string(),
                            "HOLON_HOME=" + home.string(), "HOLON_MODEL=vllm/bench",
                            "HOLON_VLLM_BASE_URL=" + model_.base_url()},
            .cwd = project().string()};
        spec.argv.insert(spec.argv.begin(), program_);
        const auto end = bench::run(spec);
        CHECK(end.succeeded, "holon succeeds");
        return end;
    }

    std::vector<bench::Round> rounds() const { return model_.rounds(); }
    std::filesystem::path home() const { return folder_.path() / "home"; }

private:
    std::filesystem::path project() const { return folder_.path() / "project"; }

    std::string program_;
    TempFolder folder_;
    bench::LoopbackModel model_;
};

double ms(bench::Steady::duration time) {
    return Milliseconds(time).count();
}

double spawn_ms(std::vector<std::string> argv) {
    const auto end = bench::run({.argv = std::move(argv), .environment = {std::string(kPath)}});
    CHECK(end.succeeded, "a plain command succeeds");
    return end.took.count();
}

// What this disk takes for the least that a durable commit can be, a few times over.
void add_sync_ms(std::vector<double>& times) {
    const TempFolder folder;
    const base::Fd fd(::open((folder.path() / "file").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    const std::string page(4096, 'x');
    for (int i = 0; i < kSyncsPerRun; ++i) {
        const auto start = bench::Steady::now();
        CHECK(base::write_all(fd.get(), page) && ::fdatasync(fd.get()) == 0,
              "a file can be synced");
        times.push_back(ms(bench::Steady::now() - start));
    }
}

std::deque<std::string> rounds_of_true() {
    return std::deque<std::string>(kRounds,
                                   bench::calls("ExecCommand", R"({"cmd":"true","login":false})"));
}

// A home whose commands run as the operator's own do.
void leave_unconfined(Holon& holon, const std::filesystem::path& home) {
    holon.command(home, {"config", "set", "sandbox.backend", "host_local"});
}

// The same rounds in a home as it is made where commands can be confined.
void measure_confined(Holon& holon) {
    const TempFolder fresh;
    std::vector<double> between;
    for (int run = 0; run < kRuns; ++run) {
        holon.run(fresh.path() / "home", rounds_of_true());
        const auto rounds = holon.rounds();
        for (std::size_t k = 0; k < kRounds; ++k)
            between.push_back(ms(rounds[k + 1].asked - rounds[k].answered));
    }
    figure("round_in_new_home_p50", bench::median(between), "ms");
    figure("round_in_new_home_p99", bench::percentile(between, 0.99), "ms");
}

void measure_rounds(Holon& holon) {
    std::vector<double> bare, syncs, between, peaks;
    for (int run = 0; run < kRuns; ++run) {
        const auto end = holon.run(holon.home(), rounds_of_true());
        const auto rounds = holon.rounds();
        CHECK(std::ssize(rounds) == kRounds + 1, "every reply led to one more request");
        for (int i = 0; i < kSpawnsPerRun; ++i) bare.push_back(spawn_ms({"/bin/sh", "-c", "true"}));
        add_sync_ms(syncs);
        peaks.push_back(end.peak_mb);
        for (std::size_t k = 0; k < kRounds; ++k)
            between.push_back(ms(rounds[k + 1].asked - rounds[k].answered));
    }
    const double spawn = bench::median(bare);
    note(
        fmt::format("{} rounds of `true`: {:.2f} ms between reply and next request (p50), of "
                    "which the command alone takes {:.2f} ms; fdatasync of a page takes {:.2f} ms",
                    between.size(), bench::median(between), spawn, bench::median(syncs)));
    figure("round_overhead_p50", bench::median(between) - spawn, "ms",
           at_most(kRoundOverheadMsMax));
    figure("round_overhead_p99", bench::percentile(between, 0.99) - spawn, "ms");
    // One commit of a round has to reach the disk, whose speed is not ours.
    figure("round_overhead_less_sync_p50", bench::median(between) - spawn - bench::median(syncs),
           "ms");
    figure("round_to_spawn", bench::median(between) / spawn, "ratio");
    figure("run_peak_memory", bench::percentile(peaks, 1), "MB", at_most(kPeakMbMax));
}

void measure_start(Holon& holon) {
    std::vector<double> warm, cold, made, bare, reads;
    const auto first_request = [&](const std::filesystem::path& home) {
        const auto end = holon.run(home, {bench::says("done")});
        return ms(holon.rounds().at(0).asked - end.started);
    };
    for (int i = 0; i < kStarts; ++i) {
        warm.push_back(first_request(holon.home()));
        reads.push_back(holon.command(holon.home(), {"agent", "list"}).took.count());
        bare.push_back(spawn_ms({"/bin/true"}));
    }
    for (int i = 0; i < kColdStarts; ++i) {
        const TempFolder fresh;
        made.push_back(first_request(fresh.path() / "made"));
        leave_unconfined(holon, fresh.path() / "home");
        cold.push_back(first_request(fresh.path() / "home"));
    }
    note(fmt::format("start to first request {:.2f} ms (p50); spawning /bin/true takes {:.2f} ms",
                     bench::median(warm), bench::median(bare)));
    figure("first_request_p50", bench::median(warm), "ms", at_most(kFirstRequestMsMax));
    figure("first_request_p99", bench::percentile(warm, 0.99), "ms");
    figure("first_request_to_spawn", bench::median(warm) / bench::median(bare), "ratio");
    figure("first_request_new_database_p50", bench::median(cold), "ms");
    // A new home also tries once whether commands can be confined.
    figure("first_request_new_home_p50", bench::median(made), "ms");
    figure("agent_list_p50", bench::median(reads), "ms");
}

struct Digest {
    std::uintmax_t bytes{0};
    std::string sha256;
};

Digest digest_of(int fd) {
    Digest digest;
    base::Sha256 hash;
    std::vector<char> chunk(65536);
    for (ssize_t got = 0; (got = ::read(fd, chunk.data(), chunk.size())) > 0;) {
        hash.add({chunk.data(), static_cast<std::size_t>(got)});
        digest.bytes += static_cast<std::uintmax_t>(got);
    }
    digest.sha256 = hash.finish_hex();
    return digest;
}

// The command by itself, written to a file as a shell would: the least a run could do.
struct Plain {
    Digest digest;
    double took_ms{0};
};

Plain plain_flood() {
    const TempFolder folder;
    const base::Fd fd(::open((folder.path() / "out").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    const auto end = bench::run({.argv = {"/bin/sh", "-c", std::string(kFlood)},
                                 .environment = {std::string(kPath)},
                                 .out = fd.get()});
    CHECK(end.succeeded && ::lseek(fd.get(), 0, SEEK_SET) == 0, "the plain command succeeds");
    return {digest_of(fd.get()), end.took.count()};
}

Digest artifact_below(const std::filesystem::path& home) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(home))
        if (entry.is_regular_file() && entry.path().string().ends_with("-stdout.log"))
            return digest_of(base::Fd(::open(entry.path().c_str(), O_RDONLY | O_CLOEXEC)).get());
    return {};
}

// The same gigabyte, with and without the gate in its way.
void flood(Holon& holon, const Plain& plain, bool is_gated) {
    const std::string name = is_gated ? "gigabyte_gated" : "gigabyte";
    const TempFolder fresh;
    const auto home = fresh.path() / "home";
    leave_unconfined(holon, home);
    if (is_gated) holon.command(home, {"config", "set", "gate.policy", "enforce"});
    const std::string args =
        base::json_text({{"cmd", kFlood}, {"login", false}, {"yield_time_ms", kFloodMsMax}});
    const auto end = holon.run(home, {bench::calls("ExecCommand", args)},
                               {"--agent", "bench", "--create-agent"});
    const Digest kept = artifact_below(fresh.path());
    const bool whole = kept.bytes == kFloodBytes && kept.sha256 == plain.digest.sha256;
    const auto rounds = holon.rounds();
    const double took = ms(rounds.at(1).asked - rounds.at(0).answered);
    note(fmt::format("{}: {:.0f} ms, and {:.0f} ms from a shell into a file; {} bytes kept", name,
                     took, plain.took_ms, kept.bytes));
    figure(name + "_peak_memory", end.peak_mb, "MB", at_most(kFloodPeakMbMax));
    figure(name + "_kept_whole", whole ? 1 : 0, "bool", bench::at_least(1));
    figure(name + "_to_shell", took / plain.took_ms, "ratio");
}

void measure_flood(Holon& holon) {
    const Plain plain = plain_flood();
    flood(holon, plain, false);
    flood(holon, plain, true);
}

struct Section {
    std::string_view name;
    void (*measure)(Holon&);
};
constexpr Section kSections[] = {{"rounds", measure_rounds},
                                 {"confined", measure_confined},
                                 {"start", measure_start},
                                 {"flood", measure_flood}};

void measure(const char* program, std::string_view only) {
    Holon holon(std::filesystem::absolute(program).string());
    leave_unconfined(holon, holon.home());
    holon.run(holon.home(), rounds_of_true());  // Makes a database that has seen work.
    for (const auto& section : kSections)
        if (only.empty() || only == section.name) section.measure(holon);
    note(fmt::format("peaks below {:.1f} MB, that of the measuring program, cannot be seen",
                     bench::own_peak_mb()));
}

}  // namespace

int main(int argc, char** argv) {
    const std::string_view only = argc == 3 ? argv[2] : "";
    const bool known = only.empty() || std::ranges::find(kSections, only, &Section::name) !=
                                           std::ranges::end(kSections);
    if (argc < 2 || argc > 3 || !known) {
        std::fputs("usage: bench_run_overhead HOLON [rounds|confined|start|flood]\n", stderr);
        return 2;
    }
    try {
        measure(argv[1], only);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "bench_run_overhead: %s\n", error.what());
        return 1;
    }
    return 0;
}
