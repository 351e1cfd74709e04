#include "exec/tasks/spec.h"

#include "base/hash.h"

namespace tasks {
namespace {

// Older command specs say `continue_on_result` for what is now `terminal_reentry`.
json::value with_todays_names(json::value recovery) {
    auto* object = recovery.if_object();
    auto* spec = object ? object->if_contains("spec") : nullptr;
    if (!spec || !spec->is_object()) return recovery;
    auto& fields = spec->get_object();
    if (const auto* old = fields.if_contains("continue_on_result")) {
        if (!fields.contains("terminal_reentry")) fields["terminal_reentry"] = *old;
        fields.erase("continue_on_result");
    }
    return recovery;
}

}  // namespace

domain::TrustLevel trust_of(const domain::Task& task) {
    const auto recovery = recovery_of(task);
    if (!recovery || !*recovery) return domain::TrustLevel::TrustedSystem;
    return std::visit([](const auto& spec) { return spec.trust; }, **recovery);
}

base::Result<std::optional<Recovery>> recovery_of(const domain::Task& task) {
    if (!task.recovery || task.recovery->is_null()) return std::nullopt;
    return TRY(base::from_json<Recovery>(with_todays_names(*task.recovery)));
}

std::optional<Supervised> supervised_by(const domain::Task& task) {
    Supervised supervised;
    switch (task.kind) {
        case domain::TaskKind::CommandTask:
        case domain::TaskKind::SleepJob:
        case domain::TaskKind::PlanTask:
            return std::nullopt;
        case domain::TaskKind::WorktreeSubagentTask:
            supervised.workspace_mode = WorkspaceMode::Worktree;
            break;
        case domain::TaskKind::SubagentTask:
            break;
        case domain::TaskKind::ChildAgentTask:
            if (const auto recovery = recovery_of(task); recovery && *recovery)
                if (const auto* child = std::get_if<ChildRecovery>(&**recovery))
                    supervised.workspace_mode = child->workspace_mode;
            break;
    }
    if (task.detail)
        if (auto child = base::string_at(*task.detail, "child_agent_id"); !child.empty())
            supervised.child_agent_id = domain::AgentId{std::move(child)};
    return supervised;
}

CommandDetail detail_of(const domain::Task& task) {
    if (!task.detail) return {};
    return base::from_json<CommandDetail>(*task.detail).value_or(CommandDetail{});
}

std::string cmd_digest(std::string_view cmd) {
    return base::sha256_hex(cmd);
}

bool is_same_command(const CommandDetail& running, const CommandTaskSpec& asked,
                     const std::string& workdir) {
    return running.cmd_digest == cmd_digest(asked.cmd) && running.workdir == workdir &&
           running.shell == asked.shell && running.login == asked.login && running.tty == asked.tty;
}

}  // namespace tasks
