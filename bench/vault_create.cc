// Creating notes by a plan's loop, through check, journal, dispatcher, vault.createFile and the
// run's files, against a shell loop and a Python script that make the same promise: each file is on
// disk before the next thing is built on it. The contenders take turns in fresh folders of one
// disk, which TMPDIR chooses; the median of the ratios of neighbours counts. What loops that flush
// nothing take is reported as well.
#include <array>
#include <chrono>
#include <filesystem>

#include <stdlib.h>
#include <unistd.h>

#include "base/os/asio_loop.h"
#include "base/os/process_runner.h"
#include "bench/support/child.h"
#include "bench/support/figures.h"
#include "exec/tools/plan_tools/plan_tools.h"
#include "flow/plans/plans.h"
#include "store/sql/sqlite/sqlite_store.h"

namespace {

namespace fs = std::filesystem;
using Millis = std::chrono::duration<double, std::milli>;

constexpr int kFilesWanted = 10'000;
constexpr int kFilesFew = 500;  // On a disk where the others would take more than a minute.
constexpr int kFilesPilot = 50;
constexpr double kOthersMsMax = 60'000;
constexpr int kRounds = 3;  // Each contender comes first, second and last once.
constexpr int kSideBySide = 4;
constexpr std::string_view kText = "# A note\\n\\nWith a line of text in it.\\n";

std::string plan_text() {
    return base::json_text(json::object{
        {"version", "1.0"},
        {"goal", "Bench"},
        {"riskLevel", "writes"},
        {"steps",
         json::array{json::object{
             {"id", "create"},
             {"tool", "vault.createFile"},
             {"foreach",
              {{"from", "$vars.params.names"}, {"itemName", "name"}, {"concurrency", kSideBySide}}},
             {"args",
              {{"path", "{name}"}, {"content", "# A note\n\nWith a line of text in it.\n"}}}}}}});
}

Millis ours(const fs::path& folder, int files) {
    base::SystemClock clock;
    base::RandomIds ids(clock);
    base::AsioLoop loop;
    base::SystemProcessRunner processes(loop);
    builtin::Shell shell(loop, processes, {});
    fs::create_directories(folder / "home");
    fs::create_directories(folder / "vault");
    const auto store = sqlite::open({.file = folder / "home" / "holon.db"}).value();
    tools::Registry registry;
    plan_tools::add_all(registry, {.loop = loop, .shell = shell});
    tools::Dispatcher dispatcher({.registry = registry, .clock = clock, .ids = ids});
    events::Feed feed;
    plans::Plans plans({.store = *store,
                        .loop = loop,
                        .clock = clock,
                        .ids = ids,
                        .agent_feed = feed,
                        .dispatcher = dispatcher,
                        .home = folder / "home",
                        .vault = folder / "vault",
                        .run_loop = [&] { loop.run(); },
                        .stop_loop = [&] { loop.stop(); }});
    json::array names;
    for (int i = 0; i < files; ++i) names.emplace_back(fmt::format("f{}", i));
    domain::PlanRequest request{.text = plan_text()};
    request.params["names"] = std::move(names);
    request.policy["confirmationsRequired"] = false;
    const auto created = plans.create(request);
    CHECK(created && created->run, "the plan is good");
    const auto start = std::chrono::steady_clock::now();
    const auto run = plans.execute(created->run->run_id.value);
    const Millis took = std::chrono::steady_clock::now() - start;
    CHECK(run && run->counts.calls == files && run->status == domain::PlanRunStatus::Succeeded,
          "the run succeeds");
    return took;
}

Millis program(const fs::path& folder, const std::vector<std::string>& argv) {
    fs::create_directories(folder);
    const auto end =
        bench::run({.argv = argv, .environment = {"PATH=/usr/bin:/bin"}, .cwd = folder.string()});
    CHECK(end.succeeded, "the other contender runs");
    return end.took;
}

std::vector<std::string> shell_loop(int files, std::string_view after) {
    return {"/bin/sh", "-c",
            fmt::format("i=0; while [ $i -lt {} ]; do printf '{}' > f$i; {} i=$((i+1)); done",
                        files, kText, after)};
}
std::vector<std::string> python(int files, bool flushed) {
    return {"/usr/bin/python3", "-c",
            fmt::format("import os\nd = os.open('.', os.O_RDONLY)\nfor i in range({}):\n"
                        "    with open(f'f{{i}}', 'w') as f:\n        f.write('{}')\n{}",
                        files, kText,
                        flushed ? "        f.flush()\n        os.fsync(f.fileno())\n"
                                  "    os.fsync(d)\n"
                                : "")};
}

void report(std::string_view to, const std::vector<double>& mine,
            const std::vector<double>& theirs) {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < mine.size(); ++i) ratios.push_back(mine[i] / theirs[i]);
    bench::note(
        fmt::format("vault_create_to_{}: {:.0f} ms to {:.0f} ms; ratios from {:.2f} to {:.2f}", to,
                    bench::median(mine), bench::median(theirs), bench::percentile(ratios, 0),
                    bench::percentile(ratios, 1)));
    bench::figure(fmt::format("vault_create_to_{}", to), bench::median(ratios), "ratio",
                  bench::at_most(1.0));
}

// As many as the promise is about, where that takes no longer than people wait.
int files_for(const fs::path& folder) {
    const double each = (program(folder / "pilot-sh", shell_loop(kFilesPilot, "sync f$i .;")) +
                         program(folder / "pilot-py", python(kFilesPilot, true)))
                            .count() /
                        kFilesPilot;
    return each * kFilesWanted * kRounds <= kOthersMsMax ? kFilesWanted : kFilesFew;
}

}  // namespace

// Usage: bench_vault_create [FILES]
int main(int argc, char** argv) {
    std::string base = (fs::temp_directory_path() / "holon-bench-XXXXXX").string();
    CHECK(::mkdtemp(base.data()) != nullptr, "a temporary folder can be made");
    const int files = argc > 1 ? std::max(std::atoi(argv[1]), 1) : files_for(base);
    bench::note(fmt::format("{} files each, {} rounds", files, kRounds));
    enum : std::size_t { Ours, Shell, Python, Contenders };
    std::array<std::vector<double>, Contenders> times;
    for (std::size_t round = 0; round < kRounds; ++round)
        for (std::size_t turn = 0; turn < Contenders; ++turn) {
            const std::size_t who = (turn + round) % Contenders;
            const fs::path folder = fs::path(base) / fmt::format("{}-{}", who, round);
            ::sync();  // No program should wait for writes that another one left behind.
            times[who].push_back((who == Ours    ? ours(folder, files)
                                  : who == Shell ? program(folder, shell_loop(files, "sync f$i .;"))
                                                 : program(folder, python(files, true)))
                                     .count());
        }
    report("shell", times[Ours], times[Shell]);
    report("python", times[Ours], times[Python]);
    bench::figure("vault_create", bench::median(times[Ours]) / files, "ms/file");
    bench::note(
        fmt::format("without flushing, {} files take a shell loop {:.0f} ms and Python {:.0f} ms",
                    files, program(fs::path(base) / "loose-sh", shell_loop(files, "")).count(),
                    program(fs::path(base) / "loose-py", python(files, false)).count()));
    std::error_code ignored;
    fs::remove_all(base, ignored);
    return 0;
}
