// What confinement adds to a command: /bin/true bare and behind the boundary, turn by turn.
#include <cstdio>
#include <vector>

#include "bench/child.h"
#include "bench/figures.h"
#include "exec/sandbox/confine.h"

namespace {

constexpr int kRounds = 200;
constexpr double kAddedMsTarget = 10;

double once(const std::vector<std::string>& argv) {
    const auto end = bench::run({.argv = argv, .environment = {"PATH=/usr/bin:/bin"}});
    if (!end.succeeded) {
        std::fprintf(stderr, "bench_sandbox_spawn: %s failed\n", argv[0].c_str());
        std::exit(1);
    }
    return end.took.count();
}

}  // namespace

int main(int, char** argv) {
    const auto machine = sandbox::probe(std::filesystem::absolute(argv[1]));
    const sandbox::Policy policy{
        .writable_roots = {"/var/lib"},
        .hidden = sandbox::usual_secrets(std::getenv("HOME"), "/nonexistent/holon")};
    const auto confined = sandbox::confine({.argv = {"/bin/true"}}, policy, machine);
    if (!confined) {
        bench::note("sandbox not measured: " + confined.error().message);
        return 0;
    }
    std::vector<double> bare;
    std::vector<double> added;
    for (int round = 0; round < kRounds; ++round) {
        bare.push_back(once({"/bin/true"}));
        added.push_back(once(confined->argv) - bare.back());
    }
    bench::figure("bare_spawn_p50", bench::median(bare), "ms");
    bench::figure("confined_added_p50", bench::median(added), "ms", bench::at_most(kAddedMsTarget));
    bench::figure("confined_added_p99", bench::percentile(added, 0.99), "ms");
}
