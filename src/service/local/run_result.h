// What a run has come to, from the records that the agent's turns have left.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "exec/tools/tool.h"
#include "service/service.h"
#include "store/store.h"

namespace service {

// What there was of an agent when a run began: what is not part of its result.
struct RunBaseline {
    std::int64_t turn_index{0};
    std::int64_t event_seq{0};
    std::int64_t transcript_seq{0};
    std::optional<domain::RunId> open_attempt{};
    std::size_t open_attempt_calls{0};  // Its calls that were over.
    std::optional<domain::TaskId> newest_task{};
    std::vector<domain::TaskId> active_tasks{};
    friend bool operator==(const RunBaseline&, const RunBaseline&) = default;
};
base::Result<RunBaseline> load_baseline(store::Tx& tx, const domain::AgentId& agent);

// A run that is over.
struct RunFacts {
    domain::AgentId agent_id;
    RunBaseline baseline{};
    std::optional<domain::MessageId> message_id{};  // Absent for a resumption without a text.
    std::string end_reason{};                       // Why the agent has stopped working.
    bool is_interrupted{false};
};

// Whether the message belongs to the run of `own`: it is that message, or the runtime made it from
// what the agent did (results of tasks, follow-ups). Others came from elsewhere meanwhile.
bool is_of_run(const domain::Message& message, const std::optional<domain::MessageId>& own);

using SpecOf = std::function<const tools::ToolSpec*(const std::string& tool)>;

// Counts everything that the agent did since the baseline; the answer and the status are those of
// the run's own last turn.
base::Result<RunResponse> make_result(store::Tx& tx, const RunFacts& run, const SpecOf& spec_of);

}  // namespace service
