#include "service/local/search/searches.h"

#include "agent/memory/documents.h"
#include "agent/memory/recall.h"
#include "base/log/log.h"
#include "base/text.h"

namespace service {
namespace {

using base::ErrorCode;

base::Status check_query(const std::string& query) {
    if (!base::trim(query).empty()) return {};
    return base::fail(ErrorCode::InvalidInput, "the query is blank; name the words to find");
}

}  // namespace

LocalSearches::LocalSearches(SearchParts parts)
    : parts_(std::move(parts)),
      records_({.store = parts_.store, .clock = parts_.clock, .home = parts_.holon_home}) {}

base::Result<std::string> LocalSearches::workspace_of(const std::string& agent) {
    std::string workspace;
    TRY(parts_.store.read([&](store::Tx& tx) -> base::Status {
        const auto found = TRY(tx.agent({agent}));
        if (!found)
            return base::fail(ErrorCode::NotFound, "there is no agent {}",
                              base::printable(base::to_utf8(agent)));
        if (found->active_workspace_entry) workspace = found->active_workspace_entry->workspace_id;
        return {};
    }));
    return workspace;
}

base::Result<domain::MemoryHits> LocalSearches::memory(const std::string& agent,
                                                       const domain::MemoryQuery& query) {
    TRY(check_query(query.query));
    const auto workspace = TRY(workspace_of(agent));
    return memory::search({.store = parts_.store,
                           .agent = {agent},
                           .home = parts_.home_of({agent}),
                           .workspace_id = workspace,
                           .now = parts_.clock.now()},
                          query);
}

base::Result<domain::MemoryDocument> LocalSearches::document(const std::string& agent,
                                                             const std::string& source_ref,
                                                             std::int64_t max_chars) {
    if (const auto fault = memory::ref_fault(source_ref))
        return base::fail(ErrorCode::InvalidInput,
                          "{} is no handle of a memory: {}. Copy one from: holon memory search",
                          base::printable(base::ellipsize(base::to_utf8(source_ref), 80)), *fault);
    if (max_chars < 1 || max_chars > domain::kMemoryCharsMax)
        return base::fail(ErrorCode::InvalidInput, "max_chars is from 1 to {}",
                          domain::kMemoryCharsMax);
    const auto workspace = TRY(workspace_of(agent));
    return memory::recall({.store = parts_.store,
                           .agent = {agent},
                           .home = parts_.home_of({agent}),
                           .workspace_id = workspace,
                           .now = parts_.clock.now()},
                          source_ref, max_chars);
}

base::Result<domain::RecordHits> LocalSearches::records(const domain::RecordQuery& query) {
    TRY(check_query(query.query));
    return records_.search(query);
}

void LocalSearches::forget(const std::string& agent) {
    if (const auto forgotten = records_.forget({agent}); !forgotten)
        base::log_warn("agent {} is still in the search index: {}", agent,
                       forgotten.error().message);
}

}  // namespace service
