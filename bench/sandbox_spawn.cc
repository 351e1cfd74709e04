// What confinement adds to a command: /bin/true bare and behind the boundary, turn by turn, with
// everything that is done for each command.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <sys/wait.h>

#include "base/os/spawn.h"
#include "bench/support/figures.h"
#include "exec/sandbox/boundary.h"

namespace {

constexpr int kRounds = 200;
constexpr double kAddedMsTarget = 10;

double once(const base::ProcessSpec& spec) {
    const auto program = base::find_program(spec);
    const auto begin = std::chrono::steady_clock::now();
    pid_t pid = 0;
    int status = -1;
    if (!program || base::spawn(*program, spec, {}, pid) != 0 ||
        ::waitpid(pid, &status, 0) != pid || status != 0) {
        std::fprintf(stderr, "bench_sandbox_spawn: %s failed\n", spec.argv[0].c_str());
        std::exit(1);
    }
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
        .count();
}

}  // namespace

int main() {
    const sandbox::Boundary boundary({.backend = sandbox::Backend::Bubblewrap},
                                     {std::getenv("HOME")}, "/nonexistent/holon");
    if (const auto able = boundary.check(); !able) {
        bench::note("sandbox not measured: " + able.error().message);
        return 0;
    }
    std::vector<double> bare;
    std::vector<double> added;
    std::vector<double> prepared;
    for (int round = 0; round < kRounds; ++round) {
        bare.push_back(once({.argv = {"/bin/true"}}));
        const auto begin = std::chrono::steady_clock::now();
        const auto confined =
            boundary.enclose({.argv = {"/bin/true"}}, {.execution_root = "/var/lib"});
        prepared.push_back(
            std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
                .count());
        if (!confined) {
            std::fprintf(stderr, "bench_sandbox_spawn: %s\n", confined.error().message.c_str());
            return 1;
        }
        added.push_back(prepared.back() + once(*confined) - bare.back());
    }
    bench::figure("bare_spawn_p50", bench::median(bare), "ms");
    bench::note(fmt::format("of what confinement adds, {:.2f} ms are before the command is started",
                            bench::median(prepared)));
    bench::figure("confined_added_p50", bench::median(added), "ms", bench::at_most(kAddedMsTarget));
    bench::figure("confined_added_p99", bench::percentile(added, 0.99), "ms");
}
