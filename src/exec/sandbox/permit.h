// Checks whether an agent's execution policy allows starting a process. Every caller that starts
// one on behalf of an agent calls permit() first.
#pragma once

#include "base/result.h"
#include "domain/execution.h"

namespace sandbox {

// What the caller wants to start. A background task is also a process and needs both permissions.
enum class Use { Process, BackgroundTask, Worktree };

// Succeeds if `execution` allows `use`. Otherwise Refused, with a message for the caller of the
// tool that names the setting to change; the error's kind is the name of Rule::ExecutionPolicy.
// Pure.
base::Status permit(const domain::Execution& execution, Use use);

}  // namespace sandbox
