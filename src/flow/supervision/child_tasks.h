// What follows from the commits of supervision.h: children are woken, stopped and cleaned up after.
#pragma once

#include <deque>
#include <functional>
#include <memory>

#include "exec/tasks/host.h"
#include "flow/supervision/supervision.h"

namespace supervision {

// Checks the worktree of a child that is over, removes it if nothing in it would be lost, and gives
// the record of it. Repeating it is safe. On the loop, as `done`.
using CleanWorktree =
    std::function<void(const domain::AgentId& child, const tasks::ChildWorktree& worktree,
                       std::move_only_function<void(tasks::ChildWorktree)> done)>;

struct ChildTaskParts {
    store::Store& store;
    base::Loop& loop;
    base::Clock& clock;
    base::Ids& ids;
    events::Feed& feed;
    tasks::Host& tasks;
    // Something may be due for the agent.
    std::function<void(const domain::AgentId&)> wake;
    // The same for a named agent that another agent has just made or written to.
    std::function<void(const domain::AgentId&)> wake_named;
    // Ends the open turn of an agent that is stopped.
    std::function<void(const domain::AgentId&, const std::string& reason)> halt;
    CleanWorktree clean_worktree;  // None: worktrees are kept as they are.
};

// The executor of tasks that supervise children. Used on the loop, but for what Executor says.
//
// A child is an agent that the scheduler runs like any other; nothing is kept here while it works.
class ChildTasks final : public tasks::Executor {
public:
    // Adds itself to the host of the tasks.
    explicit ChildTasks(ChildTaskParts parts);
    ~ChildTasks() override;
    ChildTasks(const ChildTasks&) = delete;
    ChildTasks& operator=(const ChildTasks&) = delete;

    domain::TaskKind kind() const override { return domain::TaskKind::ChildAgentTask; }
    tasks::StopDecision decide_stop(domain::Task task, base::Time now) const override;
    void stop(const domain::Task& task, bool force) override;
    void resume(const domain::Task& task) override;
    base::Status refresh(store::Tx& tx, domain::Task& task) const override;

    // The agent cannot continue for now. When it is a child that was set aside, its task ends.
    void check(const domain::AgentId& agent);

private:
    // A child whose task continues after a start.
    struct Resumed {
        domain::AgentId parent;
        domain::TaskId task;
        domain::AgentId child;
    };

    // Looks what the next of them needs. One at a time: a start may resume thousands, and what all
    // of them read at once would stay in memory.
    void look_at_next();
    void committed(const events::Committed& committed);
    void clean(const domain::Task& task);
    void finish(const domain::Task& task, const tasks::ChildWorktree& worktree);

    ChildTaskParts parts_;
    events::Committer committer_;
    std::set<domain::TaskId> cleaning_;
    std::deque<Resumed> resumed_;
    bool looks_{false};
    std::shared_ptr<void> subscription_;
    base::Lifetime lifetime_;  // Last: it ends first.
};

}  // namespace supervision
