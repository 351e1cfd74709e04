// Making a managed worktree, or entering one again.
#pragma once

#include <expected>
#include <memory>

#include "agent/workspace/choose.h"
#include "base/os/lifetime.h"
#include "exec/tools/builtin/builtin.h"

namespace builtin {

struct MadeWorktree {
    domain::WorkspaceEntry entry;
    domain::ManagedWorktree worktree;
    bool is_new{false};
    // What the one who enters it should know.
    std::string note;
};
struct WorktreeOutcome {
    std::expected<MadeWorktree, domain::ToolError> made;
    bool was_cancelled{false};
};

// Makes the worktree of `plan`. It is on record, on disk, before anything is made: a process that
// finds the folder later knows whose it is, and the same plan again leads to the same worktree.
// Nothing that exists is removed or taken from another owner. Git runs behind the boundary of
// `agent`. On the loop, as `done`, which comes once while `owner` exists.
std::shared_ptr<tools::Running> make_worktree(const WorkspaceParts& parts,
                                              const base::Lifetime& owner,
                                              const domain::AgentId& agent, workspace::Plan plan,
                                              std::move_only_function<void(WorktreeOutcome)> done);

}  // namespace builtin
