// Events of tasks.
#pragma once

#include "domain/events/payload.h"
#include "domain/waiting.h"

namespace domain::events {

// A whole TaskRecord, with its id under the name that other events use for it, too.
struct TaskRecord : Task {
    TaskId task_id;
    TaskRecord() = default;
    explicit TaskRecord(Task task) : Task(std::move(task)), task_id(id) {}
};
BOOST_DESCRIBE_STRUCT(TaskRecord, (Task), (task_id))

struct TaskCreated : TaskRecord {
    static constexpr std::string_view kKind = "task_created";
    using TaskRecord::TaskRecord;
};
struct TaskStatusUpdated : TaskRecord {
    static constexpr std::string_view kKind = "task_status_updated";
    using TaskRecord::TaskRecord;
};
struct TaskResultReceived : TaskRecord {
    static constexpr std::string_view kKind = "task_result_received";
    using TaskRecord::TaskRecord;
};
struct CommandTaskTerminalPersisted : TaskRecord {
    static constexpr std::string_view kKind = "command_task_terminal_persisted";
    using TaskRecord::TaskRecord;
};
BOOST_DESCRIBE_STRUCT(TaskCreated, (TaskRecord), ())
BOOST_DESCRIBE_STRUCT(TaskStatusUpdated, (TaskRecord), ())
BOOST_DESCRIBE_STRUCT(TaskResultReceived, (TaskRecord), ())
BOOST_DESCRIBE_STRUCT(CommandTaskTerminalPersisted, (TaskRecord), ())

struct CommandTaskRunningPersisted {
    static constexpr std::string_view kKind = "command_task_running_persisted";
    TaskId task_id;
};
BOOST_DESCRIBE_STRUCT(CommandTaskRunningPersisted, (), (task_id))

struct TaskInputDelivered {
    static constexpr std::string_view kKind = "task_input_delivered";
    TaskId task_id;
    TaskKind task_kind{TaskKind::CommandTask};
    std::int64_t bytes_written{0};
    std::string input_target;
};
BOOST_DESCRIBE_STRUCT(TaskInputDelivered, (), (task_id, task_kind, bytes_written, input_target))

struct TaskCreateRequested {
    static constexpr std::string_view kKind = "task_create_requested";
    AgentId target_agent_id;
    TaskId task_id;
    AdmissionContext admission_context{AdmissionContext::PublicUnauthenticated};
    TrustLevel provided_trust{TrustLevel::UntrustedExternal};
    json::object boundary{};
};
BOOST_DESCRIBE_STRUCT(TaskCreateRequested, (),
                      (target_agent_id, task_id, admission_context, provided_trust, boundary))

}  // namespace domain::events
