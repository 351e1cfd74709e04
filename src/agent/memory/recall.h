// Searches what one agent remembers: its notes, work items, episodes, briefs and workspaces.
//
// The index is a file in the agent's home. It is brought up to date from the records before each
// search, by as much as is new; when it is missing or damaged, it is made again. Everything here
// blocks on the store and the file system: never called on the loop.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "domain/search/memory_search.h"
#include "store/store.h"

namespace memory {

inline constexpr std::string_view kIndexFolder = ".holon/indexes";
inline constexpr std::string_view kIndexFile = ".holon/indexes/memory.sqlite3";
// Says that something was written since the index was last brought up to date. Only a hint for
// people and other programs: the records decide.
inline constexpr std::string_view kDirtyFile = ".holon/indexes/memory.dirty";
// Of each kind of record, the newest so many are in the index.
inline constexpr std::int64_t kRecordsIndexedMax = 20'000;
// A file of notes that is larger is reported and not searched.
inline constexpr std::size_t kNoteBytesMax = 1024 * 1024;

// Whose memory, and where it is.
struct Remembering {
    store::Store& store;
    domain::AgentId agent;
    std::filesystem::path home;
    std::string workspace_id{};  // The one the agent works in; empty: none.
    base::Time now{};
};

// Best first. Without `include_all_workspaces`, what belongs to the agent itself and to the
// workspace it works in. NotFound for an unknown agent.
base::Result<domain::MemoryHits> search(const Remembering& whose, const domain::MemoryQuery& query);

// The text behind a handle, of any workspace of the agent. NotFound when there is none.
base::Result<domain::MemoryDocument> recall(const Remembering& whose, const std::string& source_ref,
                                            std::int64_t chars_max);

// Leaves the mark that the index is older than the records. Without the folder nothing is written.
base::Status mark_dirty(const std::filesystem::path& home);

}  // namespace memory
