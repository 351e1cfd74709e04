// What a tool asks of the runtime: typed changes of its own records.
//
// A mutation is made in the commit that records the tool's result, or not at all. Its type says
// what it changes; the folder that owns those records makes the change
// (flow/turn/decide/mutations.h has the table). A new family of records adds a type and its rules,
// and nothing here.
#pragma once

#include <any>
#include <string>
#include <typeindex>
#include <utility>

#include "domain/agent.h"
#include "domain/message.h"
#include "exec/tasks/child_task.h"

namespace tools {

// Any value of a type that can be copied and compared. One whose type has `kNeedsVisibleResult` is
// dropped when the result gate withholds the result from the model.
class Mutation {
public:
    template <class T>
        requires(!std::is_same_v<std::remove_cvref_t<T>, Mutation>)
    Mutation(T value)
        : value_(std::move(value)), equals_([](const std::any& a, const std::any& b) {
              return std::any_cast<const T&>(a) == std::any_cast<const T&>(b);
          }) {
        if constexpr (requires { T::kNeedsVisibleResult; })
            needs_visible_result_ = T::kNeedsVisibleResult;
    }

    // Null when it is of another type.
    template <class T>
    const T* as() const {
        return std::any_cast<T>(&value_);
    }
    std::type_index type() const { return value_.type(); }
    bool needs_visible_result() const { return needs_visible_result_; }

    friend bool operator==(const Mutation& a, const Mutation& b) {
        return a.type() == b.type() && a.equals_(a.value_, b.value_);
    }

private:
    std::any value_;
    bool (*equals_)(const std::any&, const std::any&);
    bool needs_visible_result_{false};
};

// A message to the agent itself, handled after this turn.
struct FollowUp {
    std::string text;
    domain::Priority priority{domain::Priority::Next};
    friend bool operator==(const FollowUp&, const FollowUp&) = default;
};
// The kind of the error that the model reads when it may leave no further one.
inline constexpr std::string_view kFollowUpRefused = "follow_up_refused";
// The model has read how this task ended. A queued message that reports the same is not needed any
// more.
struct ResultRead {
    static constexpr bool kNeedsVisibleResult = true;
    domain::TaskId task_id;
    friend bool operator==(const ResultRead&, const ResultRead&) = default;
};
// The agent works here from now on; the next call of the same turn already does.
struct WorkspaceUse {
    static constexpr bool kNeedsVisibleResult = true;
    domain::WorkspaceEntry entry;
    friend bool operator==(const WorkspaceUse&, const WorkspaceUse&) = default;
};
// A private child agent is made, with the task by which this agent supervises it.
struct SpawnChild {
    domain::TaskId task_id;
    domain::Agent child;
    std::string initial_message;
    tasks::WorkspaceMode workspace_mode{tasks::WorkspaceMode::Inherit};
    std::optional<tasks::ChildWorktree> worktree{};
    // Children alive below the agent at the top, this one included, may be so many.
    domain::AgentId top;
    std::int64_t tree_alive_max{0};
    friend bool operator==(const SpawnChild&, const SpawnChild&) = default;
};
// A named agent is made, or found, and may receive a first message.
struct SpawnNamed {
    domain::Agent agent;
    std::optional<std::string> initial_message{};
    friend bool operator==(const SpawnNamed&, const SpawnNamed&) = default;
};
// What a parent has to say to the child that this task supervises.
struct ChildInput {
    domain::TaskId task_id;
    std::string text;
    friend bool operator==(const ChildInput&, const ChildInput&) = default;
};
// domain::SleepRequest is another: the turn ends and the agent sleeps.

}  // namespace tools
