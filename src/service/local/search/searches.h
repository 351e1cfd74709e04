// Searches of operators: the memory of one agent, and the records of all.
#pragma once

#include "record/search/records.h"
#include "service/service.h"

namespace service {

struct SearchParts {
    store::Store& store;
    base::Clock& clock;
    std::filesystem::path holon_home;
    std::function<std::filesystem::path(const domain::AgentId&)> home_of;
};

// Any thread but the loop's; blocks.
class LocalSearches {
public:
    explicit LocalSearches(SearchParts parts);

    base::Result<domain::MemoryHits> memory(const std::string& agent,
                                            const domain::MemoryQuery& query);
    base::Result<domain::MemoryDocument> document(const std::string& agent,
                                                  const std::string& source_ref,
                                                  std::int64_t max_chars);
    base::Result<domain::RecordHits> records(const domain::RecordQuery& query);
    // The agent is gone: so is what the index of records has of it. What cannot be removed now is
    // removed by the next search.
    void forget(const std::string& agent);

private:
    base::Result<std::string> workspace_of(const std::string& agent);

    SearchParts parts_;
    search::Records records_;
};

}  // namespace service
