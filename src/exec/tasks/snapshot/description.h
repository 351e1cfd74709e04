// What a record of one kind of task shows beyond its lifecycle. Pure: a record is shown without
// what runs behind it, and kinds of older programs have no executor any more.
#pragma once

#include <string_view>

#include "domain/waiting.h"

namespace tasks {

// One for each kind; snapshot.cc builds on it what agents and operators see.
struct Description {
    // Members that follow those that all kinds have.
    json::object (*list_members)(const domain::Task& task);
    json::object (*status_members)(const domain::Task& task);
    json::object (*output_members)(const domain::Task& task);
    // The kind of the failure artifact of a task that failed.
    std::string_view (*failure_kind)(const domain::Task& task);
    std::string_view interrupted_kind;
    // Its detail says whether somebody waits for it; otherwise nobody does.
    bool has_wait_policy{true};
};
const Description& description_of(domain::TaskKind kind);

// The identity of a command: `cmd`, `cmd_digest`, `workdir`, `shell`, `login`, `tty`,
// `promoted_from_exec_command`.
json::object command_identity(const domain::Task& task);

}  // namespace tasks
