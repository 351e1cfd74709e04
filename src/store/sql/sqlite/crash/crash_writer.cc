// Writes events for ever and says on standard output which ones were acknowledged, until it is
// killed: crash_writer FILE MODE. Each line is "AGENT EVENT_SEQ", written in one piece.
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

#include "store/sql/sqlite/sqlite_store.h"

namespace {

constexpr int kProducers = 4;

void acknowledge(const std::string& agent, std::int64_t event_seq) {
    const std::string line = fmt::format("{} {}\n", agent, event_seq);
    if (::write(STDOUT_FILENO, line.data(), line.size()) < 0) std::exit(1);
}

// Blocking writes and asynchronous ones, of both durabilities, mixed.
void produce(store::Store& store, const std::string& agent) {
    for (int i = 0;; ++i) {
        const auto durability = i % 3 == 0 ? store::Durability::Disk : store::Durability::Process;
        auto event_seq = std::make_shared<std::int64_t>(0);
        const auto append = [=](store::Tx& tx) -> store::Status {
            *event_seq =
                TRY(tx.append_event({agent}, {.kind = "test", .data = json::string(1'000, 'x')}));
            return {};
        };
        if (i % 4 == 0) {
            store.write_async(durability, append, [=](store::Status status) {
                if (status) acknowledge(agent, *event_seq);
            });
        } else if (store.write(durability, append)) {
            acknowledge(agent, *event_seq);
        }
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) return 2;
    const bool is_inline = std::strcmp(argv[2], "inline") == 0;
    auto store = sqlite::open(
        {.file = argv[1], .mode = is_inline ? sqlite::Mode::Inline : sqlite::Mode::Threaded});
    if (!store) return 1;
    std::vector<std::jthread> producers;
    for (int p = 0; p < kProducers; ++p)
        producers.emplace_back([&, p] { produce(**store, "agent-" + std::to_string(p)); });
}
