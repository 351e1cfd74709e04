#include "store/sql/sql_tx_inl.h"

namespace sql {

using domain::ExternalTrigger;
using domain::ManagedWorktree;
using domain::WakeHint;
using domain::Webhook;
using domain::WorkspaceEntry;

Status SqlTx::put_trigger(const ExternalTrigger& trigger) {
    active_triggers_.forget(trigger.target_agent_id);
    const auto text = TRY(encode(trigger));
    const std::int64_t active = trigger.status == domain::TriggerStatus::Active ? 1 : 0;
    if (TRY(change("UPDATE external_triggers SET token_hash = $2, is_active = $3, record = $4 "
                   "WHERE id = $1",
                   {trigger.external_trigger_id, trigger.token_hash, active, text})) == 1)
        return {};
    TRY(
        change("INSERT INTO external_triggers (id, agent_id, seq, token_hash, is_active, record) "
               "VALUES ($1, $2, $3, $4, $5, $6)",
               {trigger.external_trigger_id, trigger.target_agent_id,
                TRY(next_seq(trigger.target_agent_id, "external_trigger")), trigger.token_hash,
                active, text}));
    return {};
}

Result<std::optional<ExternalTrigger>> SqlTx::trigger_by_token(const std::string& token_hash) {
    return record<ExternalTrigger>("SELECT record FROM external_triggers WHERE token_hash = $1",
                                   {token_hash});
}

Result<std::optional<ExternalTrigger>> SqlTx::active_trigger(const AgentId& agent) {
    return active_triggers_.get(agent, [&] {
        return record<ExternalTrigger>(
            "SELECT record FROM external_triggers WHERE agent_id = $1 AND is_active = 1", {agent});
    });
}

Result<std::vector<ExternalTrigger>> SqlTx::triggers(const AgentId& agent, std::int64_t limit) {
    return records<ExternalTrigger>(
        "SELECT record FROM external_triggers WHERE agent_id = $1 ORDER BY seq DESC LIMIT $2",
        {agent, bounded(limit)});
}

Status SqlTx::put_webhook(const Webhook& webhook) {
    const auto text = TRY(encode(webhook));
    const std::int64_t active = webhook.status == domain::TriggerStatus::Active ? 1 : 0;
    if (TRY(change("UPDATE webhooks SET token_hash = $2, is_active = $3, record = $4 WHERE id = $1",
                   {webhook.webhook_id, webhook.token_hash, active, text})) == 1)
        return {};
    TRY(
        change("INSERT INTO webhooks (id, agent_id, seq, name, token_hash, is_active, record) "
               "VALUES ($1, $2, $3, $4, $5, $6, $7)",
               {webhook.webhook_id, webhook.target_agent_id,
                TRY(next_seq(webhook.target_agent_id, "webhook")), webhook.name, webhook.token_hash,
                active, text}));
    return {};
}

Result<std::optional<Webhook>> SqlTx::webhook_by_token(const std::string& token_hash) {
    return record<Webhook>("SELECT record FROM webhooks WHERE token_hash = $1", {token_hash});
}

Result<std::vector<Webhook>> SqlTx::webhooks(const AgentId& agent, std::int64_t limit) {
    return records<Webhook>(
        "SELECT record FROM webhooks WHERE agent_id = $1 ORDER BY seq DESC LIMIT $2",
        {agent, bounded(limit)});
}

Status SqlTx::put_wake_hint(const WakeHint& hint) {
    TRY(
        change("INSERT INTO wake_hints (agent_id, record) VALUES ($1, $2) "
               "ON CONFLICT (agent_id) DO UPDATE SET record = excluded.record",
               {hint.target_agent_id, TRY(encode(hint))}));
    return {};
}

Result<std::optional<WakeHint>> SqlTx::wake_hint(const AgentId& agent) {
    return record<WakeHint>("SELECT record FROM wake_hints WHERE agent_id = $1", {agent});
}

Status SqlTx::erase_wake_hint(const AgentId& agent) {
    TRY(change("DELETE FROM wake_hints WHERE agent_id = $1", {agent}));
    return {};
}

Result<std::vector<AgentId>> SqlTx::agents_with_wake_hint(const AgentId& after,
                                                          std::int64_t limit) {
    return agent_ids(
        "SELECT agent_id FROM wake_hints WHERE agent_id > $1 ORDER BY agent_id LIMIT $2",
        {after, bounded(limit)});
}

Status SqlTx::put_workspace(const WorkspaceEntry& entry) {
    TRY(
        change("INSERT INTO workspaces (workspace_id, record) VALUES ($1, $2) "
               "ON CONFLICT (workspace_id) DO UPDATE SET record = excluded.record",
               {entry.workspace_id, TRY(encode(entry))}));
    return {};
}

Result<std::optional<WorkspaceEntry>> SqlTx::workspace(const std::string& id) {
    return record<WorkspaceEntry>("SELECT record FROM workspaces WHERE workspace_id = $1", {id});
}

Status SqlTx::put_worktree(const ManagedWorktree& worktree) {
    TRY(change(
        "INSERT INTO worktrees (worktree_path, agent_id, created_at, record) "
        "VALUES ($1, $2, $3, $4) ON CONFLICT (worktree_path) DO UPDATE SET "
        "agent_id = excluded.agent_id, created_at = excluded.created_at, record = excluded.record",
        {worktree.session.worktree_path, worktree.agent_id, base::to_micros(worktree.created_at),
         TRY(encode(worktree))}));
    return {};
}

Result<std::optional<ManagedWorktree>> SqlTx::worktree(const std::string& path) {
    return record<ManagedWorktree>("SELECT record FROM worktrees WHERE worktree_path = $1", {path});
}

Result<std::vector<ManagedWorktree>> SqlTx::worktrees(const AgentId& agent, std::int64_t limit) {
    return records<ManagedWorktree>(
        "SELECT record FROM worktrees WHERE agent_id = $1 "
        "ORDER BY created_at DESC, worktree_path DESC LIMIT $2",
        {agent, bounded(limit)});
}

}  // namespace sql
