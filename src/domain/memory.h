// What an agent keeps in mind between turns: working memory, derived from records at the end of
// each turn, and episodes, which sum up a stretch of work and never change.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/typed.h"
#include "domain/ids.h"
#include "domain/work.h"

namespace domain {

struct WorkingMemorySnapshot {
    std::optional<WorkItemId> current_work_item_id{};
    std::optional<std::string> objective{};
    std::optional<std::string> plan{};  // Its status and the digest of its file.
    std::optional<std::vector<TodoItem>> todo_list{};
    std::optional<std::vector<std::string>> working_set_files{};  // Newest first.
    std::optional<std::vector<std::string>> recent_results{};     // Newest first.
    std::optional<std::vector<std::string>> pending_followups{};
    std::optional<std::vector<std::string>> waiting_on{};
    friend bool operator==(const WorkingMemorySnapshot&, const WorkingMemorySnapshot&) = default;
};
BOOST_DESCRIBE_STRUCT(WorkingMemorySnapshot, (),
                      (current_work_item_id, objective, plan, todo_list, working_set_files,
                       recent_results, pending_followups, waiting_on))

enum class MemoryReason { TerminalTurnCompleted, TaskRejoined, WakeResumed, ActiveWorkChanged };
BOOST_DESCRIBE_ENUM(MemoryReason, TerminalTurnCompleted, TaskRejoined, WakeResumed,
                    ActiveWorkChanged)

// What changed since the last prompt that showed working memory.
struct WorkingMemoryDelta {
    std::int64_t from_revision{0};
    std::int64_t to_revision{0};
    std::int64_t created_at_turn{0};
    MemoryReason reason{MemoryReason::TerminalTurnCompleted};
    std::vector<std::string> changed_fields{};
    std::vector<std::string> summary_lines{};
    friend bool operator==(const WorkingMemoryDelta&, const WorkingMemoryDelta&) = default;
};
BOOST_DESCRIBE_STRUCT(WorkingMemoryDelta, (),
                      (from_revision, to_revision, created_at_turn, reason, changed_fields,
                       summary_lines))

// What one turn adds to its episode.
struct TurnMemoryDelta {
    std::int64_t turn_index{0};
    bool active_work_changed{false};
    bool plan_changed{false};
    bool todo_list_changed{false};
    std::vector<std::string> touched_files{};
    std::vector<std::string> commands{};
    std::vector<std::string> verification{};
    std::vector<std::string> decisions{};
    std::vector<std::string> pending_followups{};
    std::vector<std::string> waiting_on{};
    friend bool operator==(const TurnMemoryDelta&, const TurnMemoryDelta&) = default;
};
BOOST_DESCRIBE_STRUCT(TurnMemoryDelta, (),
                      (turn_index, active_work_changed, plan_changed, todo_list_changed,
                       touched_files, commands, verification, decisions, pending_followups,
                       waiting_on))

// A stretch of work that is still growing.
struct EpisodeBuilder {
    std::string id;
    Time created_at{};
    std::int64_t start_turn_index{0};
    std::int64_t start_message_count{0};
    std::optional<WorkItemId> current_work_item_id{};
    std::optional<std::string> objective{};
    std::vector<std::string> working_set_files{};
    std::vector<std::string> commands{};
    std::vector<std::string> verification{};
    std::vector<std::string> decisions{};
    std::vector<std::string> carry_forward{};
    std::vector<std::string> waiting_on{};
    friend bool operator==(const EpisodeBuilder&, const EpisodeBuilder&) = default;
};
BOOST_DESCRIBE_STRUCT(EpisodeBuilder, (),
                      (id, created_at, start_turn_index, start_message_count, current_work_item_id,
                       objective, working_set_files, commands, verification, decisions,
                       carry_forward, waiting_on))

enum class EpisodeBoundary { ActiveWorkSwitched, ResultCheckpoint, WaitBoundary, HardTurnCap };
BOOST_DESCRIBE_ENUM(EpisodeBoundary, ActiveWorkSwitched, ResultCheckpoint, WaitBoundary,
                    HardTurnCap)

// A stretch of work that is over. Never changed.
struct ContextEpisode {
    std::string id;
    AgentId agent_id;
    std::string workspace_id;  // Where the agent worked when it ended.
    Time created_at{};
    Time finalized_at{};
    std::int64_t start_turn_index{0};
    std::int64_t end_turn_index{0};
    std::int64_t start_message_count{0};
    std::int64_t end_message_count{0};
    EpisodeBoundary boundary_reason{EpisodeBoundary::HardTurnCap};
    std::optional<WorkItemId> current_work_item_id{};
    std::optional<std::string> objective{};
    std::string summary;  // Bounded.
    std::vector<std::string> working_set_files{};
    std::vector<std::string> commands{};
    std::vector<std::string> verification{};
    std::vector<std::string> decisions{};
    std::vector<std::string> carry_forward{};
    std::vector<std::string> waiting_on{};
    friend bool operator==(const ContextEpisode&, const ContextEpisode&) = default;
};
BOOST_DESCRIBE_STRUCT(ContextEpisode, (),
                      (id, agent_id, workspace_id, created_at, finalized_at, start_turn_index,
                       end_turn_index, start_message_count, end_message_count, boundary_reason,
                       current_work_item_id, objective, summary, working_set_files, commands,
                       verification, decisions, carry_forward, waiting_on))

// One row for each agent that has had a turn.
struct WorkingMemory {
    AgentId agent_id;
    std::int64_t working_memory_revision{0};
    WorkingMemorySnapshot current_working_memory{};
    std::optional<WorkingMemoryDelta> pending_working_memory_delta{};
    std::optional<std::int64_t> last_prompted_working_memory_revision{};
    std::optional<std::string> active_episode_id{};
    std::int64_t archived_episode_count{0};
    std::optional<EpisodeBuilder> active_episode_builder{};
    friend bool operator==(const WorkingMemory&, const WorkingMemory&) = default;
};
BOOST_DESCRIBE_STRUCT(WorkingMemory, (),
                      (agent_id, working_memory_revision, current_working_memory,
                       pending_working_memory_delta, last_prompted_working_memory_revision,
                       active_episode_id, archived_episode_count, active_episode_builder))

}  // namespace domain
