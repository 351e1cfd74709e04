// The one gate that everything passes which starts something on an agent's behalf.
#pragma once

#include "base/result.h"
#include "domain/execution.h"

namespace sandbox {

// What is to be started. A background task is a process, too, and needs leave for both.
enum class Use { Process, BackgroundTask, Worktree };

// Refused, in words for whoever asked, when the agent's execution policy does not have it. The
// error's kind is the name of Rule::ExecutionPolicy where a setting is the reason.
base::Status permit(const domain::Execution& execution, Use use);

}  // namespace sandbox
