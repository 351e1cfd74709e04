// Statistics of agents leave the record of the agent, and two members get plainer names.
#pragma once

#include <string_view>

namespace migrations {

// An agent's record is told by `total_message_count`, which only the old form has. What is left of
// it without the members of identity and control are its statistics, whatever they are.
inline constexpr std::string_view kAgentStatistics = R"sql(
CREATE TABLE IF NOT EXISTS agent_statistics (
    agent_id TEXT PRIMARY KEY,
    record   TEXT NOT NULL
);
INSERT INTO agent_statistics (agent_id, record)
SELECT agent_id, json_remove(record, '$.identity', '$.booting', '$.paused', '$.stopped', '$.rest',
                             '$.turn_index', '$.attached_workspaces', '$.active_workspace_entry',
                             '$.model_override', '$.current_work_item_id', '$.execution')
FROM agents WHERE json_type(record, '$.total_message_count') IS NOT NULL
ON CONFLICT (agent_id) DO NOTHING;
UPDATE agents SET record = json_remove(
    record, '$.last_turn_terminal', '$.last_runtime_failure', '$.last_continuation',
    '$.last_wake_reason', '$.last_brief_at', '$.total_message_count', '$.compacted_message_count',
    '$.total_input_tokens', '$.total_output_tokens', '$.total_model_rounds', '$.total_turn_ms',
    '$.last_turn_token_usage', '$.tool_latency')
WHERE json_type(record, '$.total_message_count') IS NOT NULL;
UPDATE agents SET record = json_set(json_remove(record, '$.rest'), '$.sleep', record -> '$.rest')
WHERE json_type(record, '$.rest') IS NOT NULL;
UPDATE attempts SET record = json_set(json_remove(record, '$.rest_wish'),
                                      '$.sleep_request', record -> '$.rest_wish')
WHERE json_type(record, '$.rest_wish') IS NOT NULL;
)sql";

}  // namespace migrations
