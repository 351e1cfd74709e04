#include "agent/memory/ledger.h"

#include <fstream>

#include "base/json.h"

namespace memory {
namespace {

namespace fs = std::filesystem;

// An episode is far smaller than that, so the last line is in what is read.
constexpr std::uintmax_t kTailBytes = 256 * 1024;

struct Tail {
    std::uintmax_t whole_bytes{0};  // The file up to its last complete line.
    std::string last_id{};          // Of the episode in that line; empty: none.
};

base::Result<Tail> read_tail(const fs::path& file) {
    std::error_code error;
    const auto size = fs::file_size(file, error);
    if (error || size == 0) return Tail{};
    std::ifstream in(file, std::ios::binary);
    const auto from = size > kTailBytes ? size - kTailBytes : 0;
    in.seekg(static_cast<std::streamoff>(from));
    std::string text(static_cast<std::size_t>(size - from), '\0');
    if (!in.read(text.data(), static_cast<std::streamsize>(text.size())))
        return base::fail(base::ErrorCode::Io, "cannot read {}", file.string());
    const auto end = text.rfind('\n');
    if (end == std::string::npos) return Tail{};
    const auto begin = end == 0 ? 0 : text.rfind('\n', end - 1) + 1;
    Tail tail{.whole_bytes = from + end + 1};
    if (const auto line = base::parse_json(text.substr(begin, end - begin)))
        tail.last_id = base::string_at(*line, "id");
    return tail;
}

// The number of the episode, newest first, or 0 when it is not on record any more.
base::Result<std::int64_t> seq_of(store::Tx& tx, const domain::AgentId& agent,
                                  const std::string& id) {
    std::int64_t before = 0;
    while (true) {
        const auto page = TRY(
            tx.episodes(agent, {.before_seq = before, .limit = kLedgerPage, .newest_first = true}));
        for (const auto& [seq, episode] : page) {
            if (episode.id == id) return seq;
            before = seq;
        }
        if (std::ssize(page) < kLedgerPage) return 0;
    }
}

}  // namespace

base::Status write_ledger(store::Store& store, const domain::AgentId& agent, const fs::path& home) {
    const fs::path file = home / kLedgerFile;
    std::error_code error;
    if (!fs::is_directory(file.parent_path(), error) || fs::is_symlink(file, error)) return {};
    const auto tail = TRY(read_tail(file));
    std::string lines;
    TRY(store.read([&](store::Tx& tx) -> base::Status {
        lines.clear();
        if (TRY(tx.working_memory(agent)).archived_episode_count == 0) return {};
        auto after = tail.last_id.empty() ? 0 : TRY(seq_of(tx, agent, tail.last_id));
        while (true) {
            const auto page = TRY(tx.episodes(agent, {.after_seq = after, .limit = kLedgerPage}));
            for (const auto& [seq, episode] : page) {
                lines += base::json_text(base::to_json(episode)) + "\n";
                after = seq;
            }
            if (std::ssize(page) < kLedgerPage) return {};
        }
    }));
    if (lines.empty()) return {};
    if (fs::exists(file, error)) fs::resize_file(file, tail.whole_bytes, error);
    std::ofstream out(file, std::ios::binary | std::ios::app);
    out.write(lines.data(), static_cast<std::streamsize>(lines.size()));
    out.close();
    if (!out) return base::fail(base::ErrorCode::Io, "cannot write {}", file.string());
    return {};
}

}  // namespace memory
