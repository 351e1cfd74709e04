#include "exec/tasks/snapshot/snapshot.h"

#include "domain/provider.h"
#include "exec/tasks/decide.h"
#include "exec/tasks/output.h"
#include "exec/tasks/snapshot/description.h"

namespace tasks {
namespace {

using domain::TaskStatus;

std::string wait_policy(const domain::Task& task) {
    if (!description_of(task.kind).has_wait_policy || !task.detail) return std::string(kBackground);
    return base::string_at(*task.detail, "wait_policy", kBackground);
}

json::value nullable(const std::optional<std::string>& text) {
    return text ? json::value(*text) : json::value(nullptr);
}

std::string failure_kind(const domain::Task& task) {
    if (task.status == TaskStatus::Cancelled) return "task_cancelled";
    const auto& description = description_of(task.kind);
    return std::string(task.status == TaskStatus::Interrupted ? description.interrupted_kind
                                                              : description.failure_kind(task));
}

std::optional<domain::FailureArtifact> failure_artifact(const domain::Task& task) {
    if (task.status != TaskStatus::Failed && task.status != TaskStatus::Cancelled &&
        task.status != TaskStatus::Interrupted)
        return std::nullopt;
    const auto detail = detail_of(task);
    domain::FailureArtifact artifact{.category = domain::FailureCategory::Task,
                                     .kind = failure_kind(task),
                                     .summary = "The task " + outcome_words(task) + ".",
                                     .task_id = task.id,
                                     .exit_status = detail.exit_status};
    std::map<std::string, std::string> metadata{
        {"task_status", std::string(base::enum_name(task.status))},
        {"error_present", detail.error ? "true" : "false"}};
    if (!detail.cmd.empty()) metadata["command"] = detail.cmd;
    if (detail.output_path) metadata["output_path"] = *detail.output_path;
    artifact.metadata = std::move(metadata);
    return artifact;
}

void append(json::object& object, json::object members) {
    for (auto& member : members) object[member.key()] = std::move(member.value());
}

}  // namespace

json::object list_entry(const domain::Task& task) {
    json::object entry{{"id", task.id.value},
                       {"kind", base::enum_name(task.kind)},
                       {"status", base::enum_name(task.status)},
                       {"summary", nullable(task.summary)},
                       {"updated_at", base::to_text(task.updated_at)},
                       {"wait_policy", wait_policy(task)}};
    append(entry, description_of(task.kind).list_members(task));
    return entry;
}

json::object status_snapshot(const domain::Task& task) {
    json::object snapshot{{"task_id", task.id.value},
                          {"kind", base::enum_name(task.kind)},
                          {"status", base::enum_name(task.status)},
                          {"created_at", base::to_text(task.created_at)},
                          {"updated_at", base::to_text(task.updated_at)},
                          {"wait_policy", wait_policy(task)}};
    if (task.summary) snapshot["summary"] = *task.summary;
    if (task.parent_message_id) snapshot["parent_message_id"] = task.parent_message_id->value;
    append(snapshot, description_of(task.kind).status_members(task));
    return snapshot;
}

json::object output_snapshot(const domain::Task& task) {
    const auto detail = detail_of(task);
    const Shown shown = show_output(task);
    json::object snapshot{{"task_id", task.id.value},
                          {"kind", base::enum_name(task.kind)},
                          {"status", base::enum_name(task.status)},
                          {"summary", nullable(task.summary)},
                          {"output_preview", shown.text},
                          {"output_truncated", shown.truncated}};
    if (shown.from_file) {
        snapshot["artifacts"] = json::array{json::object{{"path", *detail.output_path}}};
        snapshot["output_artifact"] = 0;
    }
    snapshot["result_summary"] =
        domain::is_terminal(task.status) ? json::value(outcome_words(task)) : json::value(nullptr);
    snapshot["exit_status"] =
        detail.exit_status ? json::value(*detail.exit_status) : json::value(nullptr);
    if (const auto artifact = failure_artifact(task))
        snapshot["failure_artifact"] = base::to_json(*artifact);
    append(snapshot, description_of(task.kind).output_members(task));
    return snapshot;
}

json::object handle(const domain::Task& task) {
    json::object handle{{"task_id", task.id.value},
                        {"task_kind", base::enum_name(task.kind)},
                        {"status", base::enum_name(task.status)}};
    if (const auto detail = detail_of(task); detail.initial_output)
        handle["initial_output"] = *detail.initial_output;
    return handle;
}

bool has_terminal_snapshot(const domain::Task& task) {
    if (!domain::is_terminal(task.status)) return false;
    const auto detail = detail_of(task);
    return detail.output_path || detail.output_summary || detail.initial_output;
}

}  // namespace tasks
