// A command as the Host knows it; for the files of the Host only.
#pragma once

#include <algorithm>

#include "exec/tasks/host.h"

namespace tasks {

// A command that runs, as far as this process knows.
struct Host::Live {
    enum class Owner { Call, Promoting, Task };
    CommandRequest request;
    Owner owner{Owner::Call};
    supervisor::OnEnd on_end{};  // The call's.
    std::shared_ptr<supervisor::Supervisor::Command> command{};
    std::optional<supervisor::End> end{};  // It came while the promotion was on its way.
    // Asked for before `command` exists: not to start it at all, or to stop it at once.
    bool is_cancelled{false};
    std::optional<std::chrono::milliseconds> stop_grace{};

    void stop(std::chrono::milliseconds grace) {
        if (command)
            command->stop(grace);
        else
            stop_grace = std::min(grace, stop_grace.value_or(grace));
    }
};

// An agent's tasks that are not over, last changed first.
base::Result<std::vector<domain::Task>> load_active(store::Tx& tx, const domain::AgentId& agent);

}  // namespace tasks
