// What becomes of the worktree of a child that is over.
#pragma once

#include <memory>

#include "base/os/lifetime.h"
#include "exec/tasks/child_task.h"
#include "exec/tools/builtin/builtin.h"

namespace builtin {

// What was found in a worktree. Reading ends at the first thing that decides.
struct WorktreeFacts {
    bool is_there{false};
    bool is_of_repository{false};  // Its repository knows it, and is the one it was made from.
    std::optional<std::string> branch{};  // That is checked out.
    std::optional<std::string> head{};
    std::vector<std::string> changed{};    // Not committed; untracked files included.
    std::vector<std::string> committed{};  // Changed by commits since it was made.
    std::optional<std::string> error{};    // Why something could not be read.
};

// The record with the decision. Without `cleanup_status`: nothing would be lost, so it may be
// removed. In doubt it is kept. Pure.
tasks::ChildWorktree judge_worktree(tasks::ChildWorktree worktree, const WorktreeFacts& facts);

// Checks the worktree and removes it, with its branch, if it holds neither changes nor commits.
// The branch goes only while it still points to the commit it was made from. Safe to repeat. Git
// runs behind the boundary of `agent`. On the loop, as `done`.
void clean_worktree(const WorkspaceParts& parts, const base::Lifetime& owner,
                    const domain::AgentId& agent, tasks::ChildWorktree worktree,
                    std::move_only_function<void(tasks::ChildWorktree)> done);

// The paths of `git status --porcelain=v1 -z`. Pure.
std::vector<std::string> paths_of_status(std::string_view output);

}  // namespace builtin
