// Creating 10,000 notes: the core of vault.createFile (path check, safe and free name, confinement,
// etag, undo entry) against a shell loop and a Python script that only write. The contenders take
// turns in fresh folders of one disk, which TMPDIR chooses; the median of the ratios of neighbours
// counts. Nobody flushes inside its own time: with Durability::RunEnd a run flushes once at its
// end, and that is told apart, since it is the same work for all three.
#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>

#include <stdlib.h>

#include "base/ids.h"
#include "bench/child.h"
#include "bench/figures.h"
#include "exec/results/artifacts.h"
#include "exec/tools/vault/decide.h"

namespace {

namespace fs = std::filesystem;
using Millis = std::chrono::duration<double, std::milli>;

constexpr int kFiles = 10'000;
constexpr int kRounds = 6;  // Each contender comes first twice, second twice, last twice.
constexpr std::string_view kText = "# A note\\n\\nWith a line of text in it.\\n";

Millis ours(const fs::path& folder, vault::Durability durability, int files, Millis* flush) {
    base::SystemClock clock;
    base::RandomIds ids(clock);
    results::FileArtifacts sink(folder / "artifacts", "before", ids);
    const std::string text = "# A note\n\nWith a line of text in it.\n";
    const auto start = std::chrono::steady_clock::now();
    const auto root = vault::Root::open(folder).value();
    for (int i = 0; i < files; ++i) {
        const std::string path = fmt::format("f{}", i);
        const auto done = vault::carry_out(
            root,
            [&](bool first) {
                return vault::decide_create(root, path, text, vault::OnCollision::Unique, first);
            },
            sink, durability);
        CHECK(done.has_value() && done->decision.path == path, "a file is created");
    }
    const auto written = std::chrono::steady_clock::now();
    if (flush) {
        CHECK(root.sync().has_value(), "the vault is flushed");
        *flush = std::chrono::steady_clock::now() - written;
    }
    return written - start;
}

Millis program(const fs::path& folder, const std::vector<std::string>& argv) {
    const auto end =
        bench::run({.argv = argv, .environment = {"PATH=/usr/bin:/bin"}, .cwd = folder.string()});
    CHECK(end.succeeded, "the other contender runs");
    return end.took;
}

const std::string kShellLoop =
    fmt::format("i=0; while [ $i -lt {} ]; do printf '{}' > f$i; i=$((i+1)); done", kFiles, kText);
const std::string kPython =
    fmt::format("for i in range({}):\n    with open(f'f{{i}}', 'w') as f:\n        f.write('{}')\n",
                kFiles, kText);

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

}  // namespace

int main() {
    std::string base = (fs::temp_directory_path() / "holon-bench-XXXXXX").string();
    CHECK(::mkdtemp(base.data()) != nullptr, "a temporary folder can be made");
    enum : std::size_t { Ours, Shell, Python, Contenders };
    std::array<std::vector<double>, Contenders> times;
    std::vector<double> flushes;
    for (int round = -1; round < kRounds; ++round) {
        std::array<double, Contenders> took{};
        Millis flush{};
        for (std::size_t turn = 0; turn < Contenders; ++turn) {
            const std::size_t who = (turn + static_cast<std::size_t>(round + 1)) % Contenders;
            const fs::path folder = fs::path(base) / fmt::format("{}-{}", who, round);
            fs::create_directories(folder);
            // Nobody should wait for what another has left to the disk.
            CHECK(vault::Root::open(folder).value().sync().has_value(), "the disk is flushed");
            took[who] = (who == Ours    ? ours(folder, vault::Durability::RunEnd, kFiles, &flush)
                         : who == Shell ? program(folder, {"/bin/sh", "-c", kShellLoop})
                                        : program(folder, {"/usr/bin/python3", "-c", kPython}))
                            .count();
        }
        if (round < 0) continue;  // The first warms up.
        for (std::size_t who = 0; who < Contenders; ++who) times[who].push_back(took[who]);
        flushes.push_back(flush.count());
    }
    report("shell", times[Ours], times[Shell]);
    report("python", times[Ours], times[Python]);
    bench::figure("vault_create_flush", bench::median(flushes), "ms");
    constexpr int kFlushed = 200;
    const auto each = ours(fs::path(base), vault::Durability::EachCall, kFlushed, nullptr);
    bench::figure("vault_create_each_flushed", each.count() / kFlushed, "ms/file");
    std::error_code ignored;
    fs::remove_all(base, ignored);
    return 0;
}
