#include "record/search/records.h"

#include <algorithm>
#include <limits>
#include <map>
#include <sstream>

#include "base/os/files.h"
#include "record/search/texts.h"

namespace search {
namespace {

using base::ErrorCode;
using base::Status;

constexpr std::int64_t kAgentsPerPage = 512;
constexpr std::int64_t kRecordsPerCommit = 512;
// The index is rewritten into one piece after so many new records.
constexpr std::int64_t kCompactFrom = 100'000;
constexpr mode_t kFolderMode = 0700;
constexpr std::string_view kAgentCursor = "agent:";
constexpr std::string_view kRetentionCursor = "retention";
constexpr std::int64_t kAll = std::numeric_limits<std::int64_t>::max();
constexpr std::string_view kKinds[] = {kTranscriptKind, kBriefKind, kEventKind};

// How far the records of an agent are in the index, as one text: "events transcript briefs".
struct Progress {
    std::int64_t events{0};
    std::int64_t transcript{0};
    std::int64_t briefs{0};
};

Progress parse_progress(const std::string& text) {
    Progress progress;
    std::istringstream in(text);
    in >> progress.events >> progress.transcript >> progress.briefs;
    return progress;
}

std::string progress_text(const Progress& progress) {
    return fmt::format("{} {} {}", progress.events, progress.transcript, progress.briefs);
}

std::string cursor_of(const domain::AgentId& agent) {
    return std::string(kAgentCursor) + agent.value;
}

class Refresh {
public:
    Refresh(const RecordsParts& parts, fts::Index& index)
        : parts_(parts),
          index_(index),
          deadline_(std::chrono::steady_clock::now() + parts.patience) {}

    // True when all records are in the index.
    base::Result<bool> run() {
        TRY(drop_gone_agents());
        for (const auto& [agent, head] : heads_)
            if (!TRY(add_agent(agent, head))) return false;
        TRY(drop_old_records());
        if (added_ >= kCompactFrom) TRY(index_.compact());
        return true;
    }

private:
    bool is_late() const { return std::chrono::steady_clock::now() >= deadline_; }

    // Loads the number of the newest event of every agent. Whatever is stored of an agent comes
    // with an event, so that the number says whether anything is new.
    Status load_heads() {
        domain::AgentId after;
        while (true) {
            std::vector<domain::AgentId> page;
            TRY(parts_.store.read([&](store::Tx& tx) -> Status {
                page = TRY(tx.agents(after, kAgentsPerPage));
                for (const auto& agent : page) heads_[agent] = TRY(tx.last_event_seq(agent));
                return {};
            }));
            if (std::ssize(page) < kAgentsPerPage) return {};
            after = page.back();
        }
    }

    Status drop_gone_agents() {
        TRY(load_heads());
        for (const auto& [name, value] : TRY(index_.cursors(std::string(kAgentCursor)))) {
            const domain::AgentId agent{name.substr(kAgentCursor.size())};
            const auto head = heads_.find(agent);
            if (head == heads_.end()) {
                TRY(erase_agent(agent));
                continue;
            }
            // Fewer events than were indexed: the store is an older one, or the agent a new one of
            // the same name.
            if (parse_progress(value).events > head->second)
                TRY(erase_agent(agent));
            else
                progress_[agent] = parse_progress(value);
        }
        return {};
    }

    Status erase_agent(const domain::AgentId& agent) {
        return index_.write([&](fts::Index& index) -> Status {
            for (const auto kind : kKinds)
                TRY(index.erase_below(std::string(kind), agent.value, kAll));
            return index.erase_cursor(cursor_of(agent));
        });
    }

    // False when there was no time for all of it.
    base::Result<bool> add_agent(const domain::AgentId& agent, std::int64_t head) {
        while (progress_[agent].events < head) {
            if (is_late()) return false;
            TRY(index_.write([&](fts::Index& index) { return add_page(index, agent); }));
        }
        return true;
    }

    // Transcript and briefs first: when the last event is in, everything is.
    Status add_page(fts::Index& index, const domain::AgentId& agent) {
        auto progress = parse_progress(TRY(index.cursor(cursor_of(agent))));
        std::vector<fts::Document> documents;
        const auto before = progress;
        TRY(parts_.store.read([&](store::Tx& tx) -> Status {
            documents.clear();
            progress = before;
            bool is_whole = true;
            for (const auto& [seq, entry] :
                 TRY(tx.transcript(agent, page_after(before.transcript)))) {
                documents.push_back(document_of(entry, seq));
                progress.transcript = seq;
            }
            is_whole &= std::ssize(documents) < kRecordsPerCommit;
            const auto briefs = TRY(tx.briefs(agent, page_after(before.briefs)));
            for (const auto& [seq, brief] : briefs) {
                documents.push_back(document_of(brief, seq));
                progress.briefs = seq;
            }
            is_whole &= std::ssize(briefs) < kRecordsPerCommit;
            if (is_whole) TRY(load_events(tx, agent, documents, progress));
            return {};
        }));
        for (const auto& document : documents)
            if (!document.body.empty()) TRY(index.put(document));
        added_ += std::ssize(documents);
        progress_[agent] = progress;
        return index.set_cursor(cursor_of(agent), progress_text(progress));
    }

    static Status load_events(store::Tx& tx, const domain::AgentId& agent,
                              std::vector<fts::Document>& documents, Progress& progress) {
        const auto events = TRY(tx.events(agent, page_after(progress.events)));
        for (const auto& event : events) {
            if (auto document = document_of(agent, event))
                documents.push_back(std::move(*document));
            progress.events = event.event_seq;
        }
        // The newest ones may have been removed by retention.
        if (events.empty()) progress.events = TRY(tx.last_event_seq(agent));
        return {};
    }

    static store::Page page_after(std::int64_t seq) {
        return {.after_seq = seq, .limit = kRecordsPerCommit};
    }

    // After a pass of retention, what it has removed is removed here, too.
    Status drop_old_records() {
        std::string pass;
        TRY(parts_.store.read([&](store::Tx& tx) -> Status {
            const auto state = TRY(tx.retention());
            pass = state.last_pass_at ? base::to_text(*state.last_pass_at) : "";
            return {};
        }));
        if (TRY(index_.cursor(std::string(kRetentionCursor))) == pass) return {};
        for (const auto& [agent, head] : heads_) TRY(drop_old_records(agent));
        return index_.write([&](fts::Index& index) {
            return index.set_cursor(std::string(kRetentionCursor), pass);
        });
    }

    Status drop_old_records(const domain::AgentId& agent) {
        std::map<std::string_view, std::int64_t> oldest;
        TRY(parts_.store.read([&](store::Tx& tx) -> Status {
            const auto transcript = TRY(tx.transcript(agent, page_of_one()));
            const auto briefs = TRY(tx.briefs(agent, page_of_one()));
            const auto events = TRY(tx.events(agent, page_of_one()));
            oldest[kTranscriptKind] = transcript.empty() ? kAll : transcript.front().seq;
            oldest[kBriefKind] = briefs.empty() ? kAll : briefs.front().seq;
            oldest[kEventKind] = events.empty() ? kAll : events.front().event_seq;
            return {};
        }));
        return index_.write([&](fts::Index& index) -> Status {
            for (const auto& [kind, seq] : oldest)
                TRY(index.erase_below(std::string(kind), agent.value, seq));
            return {};
        });
    }

    static store::Page page_of_one() { return {.limit = 1}; }

    const RecordsParts& parts_;
    fts::Index& index_;
    const std::chrono::steady_clock::time_point deadline_;
    std::map<domain::AgentId, std::int64_t> heads_;
    std::map<domain::AgentId, Progress> progress_;
    std::int64_t added_{0};
};

// An answer is a round of the transcript and a brief: one of them is enough.
bool is_repeated(const std::vector<domain::RecordHit>& before, const domain::RecordHit& hit) {
    constexpr std::size_t kAlike = 80;
    const std::string_view beginning = std::string_view(hit.snippet).substr(0, kAlike);
    return std::ranges::any_of(before, [&](const domain::RecordHit& other) {
        return other.agent_id == hit.agent_id && other.kind != hit.kind &&
               std::string_view(other.snippet).substr(0, kAlike) == beginning;
    });
}

Status check_agent(store::Store& store, const std::optional<std::string>& agent) {
    if (!agent) return {};
    return store.read([&](store::Tx& tx) -> Status {
        if (TRY(tx.agent({*agent}))) return {};
        return base::fail(ErrorCode::NotFound, "there is no agent {}", *agent);
    });
}

}  // namespace

base::Result<domain::RecordHits> Records::search(const domain::RecordQuery& query) {
    if (parts_.home.empty())
        return base::fail(ErrorCode::Unavailable, "there is no home to keep an index in");
    TRY(check_agent(parts_.store, query.agent));
    const std::scoped_lock lock(mutex_);
    const auto file = parts_.home / kIndexFile;
    TRY(base::make_folders(file.parent_path(), kFolderMode));
    domain::RecordHits found{.query = query.query};
    TRY(fts::with_index(file, [&](fts::Index& index) -> Status {
        found.results.clear();
        found.is_partial = !TRY(Refresh(parts_, index).run());
        const auto limit = std::clamp<std::int64_t>(query.limit, 1, domain::kRecordHitsMax);
        const auto hits = TRY(index.search({.text = query.query,
                                            .scope = query.agent,
                                            .since = query.since,
                                            .limit = std::min(2 * limit, fts::kHitsMax),
                                            .now = parts_.clock.now()}));
        for (const auto& hit : hits) {
            if (std::ssize(found.results) == limit) break;
            auto shown = hit_of(hit);
            if (!is_repeated(found.results, shown)) found.results.push_back(std::move(shown));
        }
        return {};
    }));
    return found;
}

Status Records::forget(const domain::AgentId& agent) {
    const auto file = parts_.home / kIndexFile;
    std::error_code error;
    if (parts_.home.empty() || !std::filesystem::exists(file, error)) return {};
    const std::scoped_lock lock(mutex_);
    return fts::with_index(file, [&](fts::Index& index) {
        return index.write([&](fts::Index& in) -> Status {
            for (const auto kind : kKinds)
                TRY(in.erase_below(std::string(kind), agent.value, kAll));
            return in.erase_cursor(cursor_of(agent));
        });
    });
}

}  // namespace search
