// Searches the transcripts, briefs and events of all agents.
//
// Any thread may call, one at a time is served; blocks on the store and the file system.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <mutex>

#include "domain/search/record_search.h"
#include "store/fts/index.h"
#include "store/store.h"

namespace search {

// The file of the index, in the folder of the home.
inline constexpr std::string_view kIndexFile = "indexes/search.sqlite3";
// A search spends at most about so long on records that are new to the index.
inline constexpr std::chrono::milliseconds kRefreshPatience{5000};

struct RecordsParts {
    store::Store& store;
    base::Clock& clock;
    std::filesystem::path home;
    std::chrono::milliseconds patience{kRefreshPatience};
};

class Records {
public:
    explicit Records(RecordsParts parts) : parts_(std::move(parts)) {}

    // Best first. NotFound for an agent that there is none of.
    base::Result<domain::RecordHits> search(const domain::RecordQuery& query);

    // Removes what the index has of an agent that is gone. Without an index nothing is done.
    base::Status forget(const domain::AgentId& agent);

private:
    RecordsParts parts_;
    std::mutex mutex_;
};

}  // namespace search
