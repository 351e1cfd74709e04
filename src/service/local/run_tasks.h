// The tasks of the agent that a run is about.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "exec/tasks/host.h"

namespace service {

// How long tasks of an agent that is about to go may take to end, softly and then by force.
inline constexpr std::chrono::milliseconds kTasksSettleMax{2000};

// Connects the agent's tasks with a run for as long as it lives. Used on the loop's thread, but for
// its making, stop_all() and its end, which come while the loop stands still.
class RunTasks {
public:
    struct Loop {
        base::Loop& tasks;
        std::function<void()> run;
        std::function<void()> stop;
    };
    RunTasks(tasks::Host& host, store::Store& store, Loop loop, domain::AgentId agent);
    ~RunTasks();
    RunTasks(const RunTasks&) = delete;
    RunTasks& operator=(const RunTasks&) = delete;

    // Takes up what an earlier process left; `wake` is called whenever a result is there.
    void begin(std::function<void()> wake, std::function<void(const base::Error&)> stuck);

    // What an agent that found its queue empty may still wait for. A result may have come since it
    // looked.
    enum class Left { Nothing, Task, Result };
    Left left() const;

    // Ends all of the agent's tasks, running the loop meanwhile. Those that do not end in time are
    // left to their supervisors.
    void stop_all();

private:
    void order_stops();
    bool any_active() const;

    tasks::Host& host_;
    store::Store& store_;
    Loop loop_;
    domain::AgentId agent_;
};

}  // namespace service
