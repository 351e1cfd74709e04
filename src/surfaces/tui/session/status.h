// The lines that say where the operator is: agent, state, model, workspace, connection. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/time.h"
#include "surfaces/show/line.h"

namespace tui {

// What is known of the agent that is shown.
struct AgentView {
    std::string agent_id;
    std::string status{};  // The name of a domain::AgentStatus.
    std::string state{};   // In words: "waiting for your next prompt".
    bool needs_operator{false};
    bool resume_required{false};
    std::string model{};
    std::string workspace{};   // The folder it works in.
    std::string projection{};  // canonical_root, git_worktree_root
    std::string access{};      // shared_read, exclusive_write
    std::int64_t tokens{0};
    std::int64_t token_budget{0};  // 0: none.
    std::int64_t active_tasks{0};
    std::string current_run_id{};
    std::vector<json::object> children{};  // ChildAgentSummary
    json::object summary{};                // All of it, for /state.
};
// Of an AgentSummary.
AgentView agent_view(const json::object& summary);

struct Connection {
    bool is_loaded{false};  // The agent has been loaded over it.
    bool is_connected{true};
    std::string where{};  // "local runtime", "http://host:7878"
    std::string reason{};
    std::optional<base::Time> retry_at{};
};

// Two lines of at most `columns`: what matters least is left out first.
struct Figures {
    std::int64_t more_tokens{0};  // Since the view was read.
    double cost_usd{0};
    std::size_t approvals{0};  // That wait for the operator, of any agent.
    std::size_t questions{0};  // Of MCP servers.
};
std::vector<show::Line> status_lines(const AgentView& view, const Connection& connection,
                                     const Figures& figures, base::Time now, std::size_t columns);

// "~/work/x" where it is below `home`.
std::string short_path(const std::string& path, const std::string& home);

}  // namespace tui
