// The seam to the result gate for what tasks print: it judges the output before an agent is shown
// any of it.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "domain/gate.h"
#include "domain/waiting.h"
#include "exec/tasks/supervisor/supervisor.h"

namespace tasks {

// Shown while the output of a task is not judged yet.
inline constexpr std::string_view kOutputWithheld =
    "The output is withheld until the task is over and the result gate has accepted it.";

struct FinishedOutput {
    domain::Task task;
    supervisor::End end;
};

struct OutputAnswer {
    domain::GateMark mark;
    // Shown for the output, which must not be shown. It says nothing of what the output held.
    std::optional<std::string> instead{};
};

// Used on the loop's thread only.
class OutputGate {
public:
    virtual ~OutputGate() = default;

    // What is done with the output of a task that `agent` started on this trust.
    virtual domain::GatePolicy policy(const domain::AgentId& agent,
                                      domain::TrustLevel trust) const = 0;

    // Judges the whole log of a task that is over. `done` comes once, on the loop, after the
    // verdict is on disk.
    virtual void judge(FinishedOutput finished,
                       std::move_only_function<void(OutputAnswer)> done) = 0;
};

}  // namespace tasks
