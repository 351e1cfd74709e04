#include "agent/memory/recall.h"

#include <algorithm>
#include <ranges>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/memory/documents.h"
#include "base/hash.h"
#include "base/os/fs/open_path.h"
#include "base/text.h"

namespace memory {
namespace {

namespace fs = std::filesystem;
using base::ErrorCode;
using base::Status;

constexpr std::int64_t kRecordsPerCommit = 256;
constexpr mode_t kFolderMode = 0700;
constexpr mode_t kDirtyMode = 0600;
constexpr std::string_view kDirtyText = "dirty";

// Another thread may have brought the index further meanwhile, so the cursor is read in each
// transaction.
base::Result<std::int64_t> number_cursor(fts::Index& index, const std::string& name) {
    const auto text = TRY(index.cursor(name));
    return text.empty() ? std::int64_t{-1} : std::strtoll(text.c_str(), nullptr, 10);
}

// A source of numbered records, and how a page of them becomes documents.
struct Stream {
    store::Stream stream;
    std::string kind;
    std::function<base::Result<std::vector<fts::Document>>(store::Tx&, const store::Page&)> load;
};

base::Result<std::optional<domain::Message>> cause_of(store::Tx& tx, const domain::Brief& brief) {
    if (!brief.related_message_id) return std::nullopt;
    auto message = TRY(tx.message(*brief.related_message_id));
    if (!message) return std::nullopt;
    return std::move(message->message);
}

Stream briefs_of(const domain::AgentId& agent) {
    return {store::Stream::Briefs, std::string(kBriefKind),
            [agent](store::Tx& tx,
                    const store::Page& page) -> base::Result<std::vector<fts::Document>> {
                std::vector<fts::Document> list;
                for (const auto& [seq, brief] : TRY(tx.briefs(agent, page)))
                    list.push_back(brief_document(brief, seq, TRY(cause_of(tx, brief))));
                return list;
            }};
}

Stream episodes_of(const domain::AgentId& agent) {
    return {store::Stream::Episodes, std::string(kEpisodeKind),
            [agent](store::Tx& tx,
                    const store::Page& page) -> base::Result<std::vector<fts::Document>> {
                std::vector<fts::Document> list;
                for (const auto& [seq, episode] : TRY(tx.episodes(agent, page)))
                    list.push_back(episode_document(episode, seq));
                return list;
            }};
}

// Brings the index of one agent up to date.
class Refresh {
public:
    Refresh(const Remembering& whose, fts::Index& index) : whose_(whose), index_(index) {}

    Status run() {
        TRY(load_agent());
        TRY(add_stream(briefs_of(whose_.agent)));
        TRY(add_stream(episodes_of(whose_.agent)));
        TRY(add_work());
        TRY(add_profiles());
        for (const char* name : {"self", "operator"}) TRY(add_note(name));
        return {};
    }
    std::vector<std::string> take_warnings() { return std::move(warnings_); }

private:
    Status load_agent() {
        return whose_.store.read([&](store::Tx& tx) -> Status {
            auto agent = TRY(tx.agent(whose_.agent));
            if (!agent)
                return base::fail(ErrorCode::NotFound, "there is no agent {}", whose_.agent);
            agent_ = std::move(*agent);
            workspaces_.clear();
            auto ids = agent_.attached_workspaces;
            if (agent_.active_workspace_entry)
                ids.push_back(agent_.active_workspace_entry->workspace_id);
            for (const auto& id : ids)
                if (auto entry = TRY(tx.workspace(id))) workspaces_.push_back(std::move(*entry));
            return {};
        });
    }

    Status add_stream(const Stream& source) {
        const std::string cursor = source.kind + ".last";
        while (true) {
            bool is_done = false;
            TRY(index_.write([&](fts::Index& index) -> Status {
                is_done = TRY(add_page(index, source, cursor));
                return {};
            }));
            if (is_done) return {};
        }
    }

    // Adds the records behind the cursor, at most a page of them; true when there are no more.
    base::Result<bool> add_page(fts::Index& index, const Stream& source,
                                const std::string& cursor) {
        const auto after = TRY(number_cursor(index, cursor));
        std::int64_t head = 0;
        std::int64_t oldest = 0;
        std::vector<fts::Document> page;
        TRY(whose_.store.read([&](store::Tx& tx) -> Status {
            head = TRY(tx.stream_head(whose_.agent, source.stream));
            const auto first = TRY(source.load(tx, {.limit = 1}));
            oldest = first.empty() ? head + 1 : first.front().sequence;
            const auto from = std::max({after, head - kRecordsIndexedMax, std::int64_t{0}});
            page = TRY(source.load(tx, {.after_seq = from, .limit = kRecordsPerCommit}));
            return {};
        }));
        // The records were replaced by older ones, from a backup.
        if (after > head)
            return base::fail(ErrorCode::Corrupt, "the index is ahead of the records");
        for (const auto& document : page) TRY(index.put(document));
        const bool is_done = std::ssize(page) < kRecordsPerCommit;
        const auto last = is_done ? head : page.back().sequence;
        if (last != after) TRY(index.set_cursor(cursor, std::to_string(last)));
        // Retention has removed what is before the oldest.
        const std::string kept = source.kind + ".oldest";
        if (TRY(number_cursor(index, kept)) != oldest) {
            TRY(index.erase_below(source.kind, std::nullopt, oldest));
            TRY(index.set_cursor(kept, std::to_string(oldest)));
        }
        return is_done;
    }

    // Work items change: those that changed since the last time come first in the list.
    Status add_work() {
        return index_.write([&](fts::Index& index) -> Status {
            const auto indexed = TRY(index.cursor("work.version"));
            const auto since = TRY(number_cursor(index, "work.updated_at"));
            std::vector<domain::WorkItem> changed;
            std::int64_t version = 0;
            TRY(whose_.store.read([&](store::Tx& tx) -> Status {
                version = TRY(tx.work_version(whose_.agent));
                changed.clear();
                if (std::to_string(version) == indexed) return {};
                changed = TRY(changed_work(tx, since));
                return {};
            }));
            if (std::to_string(version) == indexed) return {};
            for (const auto& item : std::views::reverse(changed))
                TRY(index.put(work_document(item)));
            if (!changed.empty())
                TRY(index.set_cursor("work.updated_at",
                                     std::to_string(base::to_micros(changed.front().updated_at))));
            return index.set_cursor("work.version", std::to_string(version));
        });
    }

    base::Result<std::vector<domain::WorkItem>> changed_work(store::Tx& tx, std::int64_t since) {
        std::vector<domain::WorkItem> list;
        store::WorkPage page{.limit = kRecordsPerCommit};
        while (std::ssize(list) < kRecordsIndexedMax) {
            auto items = TRY(tx.work_items(whose_.agent, page));
            const bool is_last = std::ssize(items) < page.limit;
            for (auto& item : items) {
                if (base::to_micros(item.updated_at) < since) return list;
                list.push_back(std::move(item));
            }
            if (is_last) break;
            page.before_updated_at = list.back().updated_at;
            page.before_id = list.back().id;
        }
        return list;
    }

    Status add_profiles() {
        std::vector<fts::Document> wanted;
        for (const auto& entry : workspaces_) wanted.push_back(profile_document(agent_, entry));
        return index_.write([&](fts::Index& index) -> Status {
            for (const auto& ref :
                 TRY(index.refs(std::string(kProfileKind), "", kRecordsPerCommit)))
                if (std::ranges::find(wanted, ref, &fts::Document::source_ref) == wanted.end())
                    TRY(index.erase(ref));
            for (const auto& document : wanted) TRY(put_changed(index, document));
            return {};
        });
    }

    static Status put_changed(fts::Index& index, const fts::Document& document) {
        if (TRY(index.get(document.source_ref)) == document) return {};
        return index.put(document);
    }

    // People and the agent edit these files by any means, so they are read each time.
    Status add_note(const std::string& name) {
        const std::string relative = "memory/" + name + ".md";
        const std::string path = (whose_.home / relative).string();
        auto text = base::read_file_beneath(whose_.home, relative, kNoteBytesMax);
        if (!text && text.error().code != ErrorCode::NotFound)
            warnings_.push_back(fmt::format(
                "{} is not searched: {}. It was left as it is; make it a regular file of at most "
                "{} bytes.",
                relative, text.error().message, kNoteBytesMax));
        return index_.write([&](fts::Index& index) -> Status {
            if (!text) return index.erase("agent_memory:" + name);
            struct stat info{};
            const bool has_time = ::lstat(path.c_str(), &info) == 0;
            const auto changed_at = has_time ? base::from_micros(info.st_mtim.tv_sec * 1'000'000 +
                                                                 info.st_mtim.tv_nsec / 1'000)
                                             : whose_.now;
            return put_changed(index, note_document(whose_.agent, name, path, *text, changed_at));
        });
    }

    const Remembering& whose_;
    fts::Index& index_;
    domain::Agent agent_;
    std::vector<domain::WorkspaceEntry> workspaces_;
    std::vector<std::string> warnings_;
};

// The folder of the index. A link in its place would lead out of the agent's home: refused.
base::Result<base::Fd> open_folder(const fs::path& home) {
    const base::Fd root(::open(home.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!root) return base::fail(ErrorCode::NotFound, "there is no folder {}", home.string());
    return base::open_beneath(root.get(), kIndexFolder, O_RDONLY | O_DIRECTORY);
}

Status with_memory(const Remembering& whose,
                   const std::function<Status(fts::Index&, std::vector<std::string>)>& use) {
    TRY(whose.store.read([&](store::Tx& tx) -> Status {
        if (TRY(tx.agent(whose.agent))) return {};
        return base::fail(ErrorCode::NotFound, "there is no agent {}", whose.agent);
    }));
    TRY(base::make_folders(whose.home / kIndexFolder, kFolderMode));
    const auto folder = TRY(open_folder(whose.home));
    // Before the records are read: what is written from now on is marked again.
    const bool was_dirty =
        ::unlinkat(folder.get(), fs::path(kDirtyFile).filename().c_str(), 0) == 0;
    auto status = fts::with_index(whose.home / kIndexFile, [&](fts::Index& index) -> Status {
        Refresh refresh(whose, index);
        TRY(refresh.run());
        return use(index, refresh.take_warnings());
    });
    if (!status && was_dirty) (void)mark_dirty(whose.home);  // The status says more.
    return status;
}

}  // namespace

base::Result<domain::MemoryHits> search(const Remembering& whose,
                                        const domain::MemoryQuery& query) {
    domain::MemoryHits found{.query = query.query};
    fts::Query asked{.text = query.query,
                     .limit = std::clamp<std::int64_t>(query.limit, 1, domain::kMemoryHitsMax),
                     .now = whose.now};
    if (!query.include_all_workspaces) asked.scope = whose.workspace_id;
    TRY(with_memory(whose, [&](fts::Index& index, std::vector<std::string> warnings) -> Status {
        found.results.clear();
        for (const auto& hit : TRY(index.search(asked))) found.results.push_back(hit_of(hit));
        if (!warnings.empty()) found.warnings = std::move(warnings);
        return {};
    }));
    return found;
}

namespace {

// Results of calls are no part of the index: the record of the call has them.
base::Result<std::optional<fts::Document>> result_of(const Remembering& whose,
                                                     const std::string& call_id) {
    std::optional<fts::Document> found;
    TRY(whose.store.read([&](store::Tx& tx) -> Status {
        const auto execution = TRY(tx.tool_execution({call_id}));
        found.reset();
        if (execution && execution->call.agent_id == whose.agent)
            found = result_document(*execution);
        return {};
    }));
    return found;
}

}  // namespace

base::Result<domain::MemoryDocument> recall(const Remembering& whose, const std::string& source_ref,
                                            std::int64_t chars_max) {
    std::optional<fts::Document> found;
    if (source_ref.starts_with(kResultPrefix))
        found = TRY(result_of(whose, source_ref.substr(kResultPrefix.size())));
    else
        TRY(with_memory(whose, [&](fts::Index& index, const std::vector<std::string>&) -> Status {
            found = TRY(index.get(source_ref));
            return {};
        }));
    if (!found)
        return base::fail(ErrorCode::NotFound,
                          "nothing in the memory of {} has the handle {}; search again",
                          whose.agent, base::printable(base::to_utf8(source_ref)));
    return read_document(*found, std::min(chars_max, domain::kMemoryCharsMax));
}

Status mark_dirty(const fs::path& home) {
    const auto folder = open_folder(home);
    if (!folder) return {};
    const base::Fd file(::openat(folder->get(), fs::path(kDirtyFile).filename().c_str(),
                                 O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kDirtyMode));
    if (!file) return errno == EEXIST ? Status() : base::fail_errno("mark the memory index");
    if (!base::write_all(file.get(), kDirtyText)) return base::fail_errno("mark the memory index");
    return {};
}

}  // namespace memory
