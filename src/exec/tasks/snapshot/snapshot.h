// Tasks as agents and operators see them: compact, and never the raw record.
#pragma once

#include "base/typed.h"
#include "domain/waiting.h"

namespace tasks {

// One entry of a list: which tasks there are, and which commands they are.
json::object list_entry(const domain::Task& task);
// Lifecycle and coordination, without any output (TaskStatusSnapshot).
json::object status_snapshot(const domain::Task& task);
// The output within its bound, and how it ended (TaskOutputSnapshot). Reads the log.
json::object output_snapshot(const domain::Task& task);
// `{task_id, task_kind, status, initial_output?}`
json::object handle(const domain::Task& task);

// Is there a snapshot of the end that will not change any more? Status alone does not make one.
bool has_terminal_snapshot(const domain::Task& task);

}  // namespace tasks
