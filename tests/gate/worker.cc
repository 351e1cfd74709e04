// Deposits and judges results for ever, and says on standard output which ones were deposited,
// until it is killed: gate_worker FOLDER FIRST. Every second one must not enter.
#include <unistd.h>

#include "base/os/asio_loop.h"
#include "exec/gate/gate.h"
#include "store/sql/sqlite/sqlite_store.h"

int main(int argc, char** argv) {
    if (argc != 3) return 2;
    const std::filesystem::path folder = argv[1];
    auto store = sqlite::open({.file = folder / "gate.db"});
    const auto validator = gate::Validator::make({});
    if (!store || !validator) return 1;
    base::SystemClock clock;
    base::RandomIds ids(clock);
    base::AsioLoop loop;  // Never runs: nobody watches.
    events::Feed feed;
    gate::Gate gate({.store = **store,
                     .clock = clock,
                     .committer = events::Committer({**store, loop, clock, ids, feed}),
                     .validator = [&] { return &*validator; },
                     .folder = folder / "gate",
                     .default_agent = {"nobody"}});
    if (!gate.settle()) return 1;
    for (int n = std::atoi(argv[2]);; ++n) {
        const bool is_good = n % 2 == 0;
        const gate::FinishedRequest request{
            .request_id = fmt::format("TR-{}-{}", n, is_good ? "good" : "bad"),
            .command = "true",
            .executor = "worker",
            .backend = "test",
            .stdout_file = folder / (is_good ? "good" : "bad"),
            .stderr_file = folder / "empty",
            .created = clock.now()};
        const auto id = gate.deposit({"ada"}, request);
        if (!id) return 1;
        const std::string line = *id + "\n";
        if (::write(STDOUT_FILENO, line.data(), line.size()) < 0) return 1;
        if (!gate.settle()) return 1;
    }
}
