#include "exec/tasks/child_task.h"

#include <algorithm>

#include "base/text.h"

namespace tasks {

using domain::TaskStatus;

namespace {

// The files of the child's worktree as its parent reads them.
std::string worktree_lines(const ChildWorktree& worktree) {
    const auto status = worktree.cleanup_status.value_or("");
    if (status == "cleaned" || status == "already_removed")
        return fmt::format("Worktree: {} was clean and is removed, with its branch {}.",
                           worktree.worktree_path, worktree.worktree_branch);
    std::string text = fmt::format(
        "Worktree: {}\nBranch: {} (from {}){}\nThe worktree is kept ({}). Review and merge the "
        "branch, or remove it when nothing in it is needed.",
        worktree.worktree_path, worktree.worktree_branch, worktree.original_branch,
        worktree.head_commit ? ", commit " + *worktree.head_commit : "",
        worktree.cleanup_reason.value_or(status));
    if (worktree.cleanup_error) text += "\nGit reported: " + *worktree.cleanup_error;
    const auto& files = worktree.changed_files;
    if (files && !files->empty()) {
        text += "\nChanged files:";
        for (const auto& file : *files) text += "\n- " + base::printable(file);
        const auto total = worktree.changed_files_total.value_or(std::ssize(*files));
        if (total > std::ssize(*files))
            text += fmt::format("\n- and {} more", total - std::ssize(*files));
    }
    return text;
}

}  // namespace

ChildDetail child_detail_of(const domain::Task& task) {
    if (!task.detail) return {};
    return base::from_json<ChildDetail>(*task.detail).value_or(ChildDetail{});
}

domain::Task child_task(const ChildFacts& facts, base::Time now) {
    const std::string label =
        base::ellipsize(base::collapse_whitespace(facts.initial_message), kLabelChars);
    return {
        .id = facts.id,
        .agent_id = facts.parent,
        .kind = domain::TaskKind::ChildAgentTask,
        .status = TaskStatus::Running,
        .created_at = now,
        .updated_at = now,
        .summary = label,
        .detail = base::to_json(ChildDetail{.child_agent_id = facts.child.value,
                                            .workspace_mode = facts.workspace_mode,
                                            .worktree = facts.worktree}),
        .recovery = base::to_json(Recovery(ChildRecovery{.summary = label,
                                                         .prompt = facts.initial_message,
                                                         .trust = facts.trust,
                                                         .workspace_mode = facts.workspace_mode}))};
}

domain::Task child_ended(domain::Task task, const ChildEnd& end, base::Time now) {
    auto detail = child_detail_of(task);
    detail.pending_end.reset();
    detail.error = end.error;
    if (end.status == TaskStatus::Cancelled) detail.cancelled_reason = "stop_requested";
    detail.output_summary = end.report;
    detail.output_truncated = end.is_cut;
    detail.terminal_snapshot_ready = true;
    task.status = end.status;
    task.detail = base::to_json(detail);
    task.updated_at = now;
    return task;
}

StopDecision decide_child_stop(domain::Task task, base::Time now) {
    auto detail = child_detail_of(task);
    return order_stop(std::move(task), std::move(detail), now);
}

std::optional<json::object> child_supervision(const domain::Task& task) {
    const auto supervised = supervised_by(task);
    if (!supervised || !supervised->child_agent_id) return std::nullopt;
    json::object view{{"parent_agent_id", task.agent_id.value},
                      {"child_agent_id", supervised->child_agent_id->value},
                      {"supervision_task_id", task.id.value},
                      {"workspace_mode", base::enum_name(supervised->workspace_mode)},
                      {"cleanup_owner", kCleanupOwner},
                      {"followup_target", kFollowupTarget}};
    if (const auto detail = child_detail_of(task); detail.worktree) {
        view["worktree"] = base::to_json(*detail.worktree);
        if (detail.worktree->cleanup_status)
            view["cleanup_status"] = *detail.worktree->cleanup_status;
    }
    return view;
}

base::Result<std::int64_t> count_children(store::Tx& tx, const domain::AgentId& agent,
                                          std::int64_t max) {
    std::vector<domain::AgentId> parents{agent};
    std::int64_t count = 0;
    while (!parents.empty() && count < max) {
        const auto parent = std::move(parents.back());
        parents.pop_back();
        for (const auto& task : TRY(tx.active_tasks(parent))) {
            const auto supervised = supervised_by(task);
            if (!supervised || !supervised->child_agent_id) continue;
            parents.push_back(*supervised->child_agent_id);
            ++count;
        }
    }
    return std::min(count, max);
}

domain::Message child_result_message(const domain::Task& task, const ChildEnd& end,
                                     domain::MessageId id, base::Time now) {
    const auto detail = child_detail_of(task);
    std::string text = end.report;
    if (detail.worktree) text += (text.empty() ? "" : "\n\n") + worktree_lines(*detail.worktree);
    auto message = result_message(task, {text, end.is_cut}, std::move(id), now);
    auto& metadata = message.metadata->as_object();
    metadata["child_agent_id"] = detail.child_agent_id;
    // Of the child's own inputs, when one was weaker than what it was made for.
    const auto asked = domain::instructed_by(message);
    if (end.trust > domain::trust_of(asked)) {
        const bool is_integration = end.trust == domain::TrustLevel::TrustedIntegration;
        metadata[domain::kInstructedBy] =
            base::enum_name(is_integration ? domain::AuthorityClass::IntegrationSignal
                                           : domain::AuthorityClass::ExternalEvidence);
    }
    return message;
}

}  // namespace tasks
