// The members of config.json: every key that exists, and no other.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/typed.h"
#include "config/agents/children.h"
#include "config/models/auth.h"
#include "config/models/catalogue.h"
#include "config/notify/notify.h"
#include "config/sections/mcp.h"
#include "config/sections/plans.h"
#include "config/sections/retention.h"
#include "config/web/web.h"
#include "domain/execution.h"
#include "domain/gate.h"
#include "domain/tool.h"

namespace config {

struct ModelSection {
    std::optional<std::string> default_{};
    std::optional<std::vector<std::string>> fallbacks{};
    std::optional<ModelOverride> unknown_fallback{};
};
BOOST_DESCRIBE_STRUCT(ModelSection, (), (default_, fallbacks, unknown_fallback))

struct ModelsSection {
    std::optional<std::map<std::string, ModelOverride>> catalog{};
};
BOOST_DESCRIBE_STRUCT(ModelsSection, (), (catalog))

struct ProviderSection {
    std::string transport;
    std::string base_url;
    Auth auth{};
    std::optional<ReasoningEffort> reasoning_effort{};
    std::optional<bool> stream{};
    std::optional<json::object> builtin_web_search{};
    std::optional<std::map<std::string, std::string>> headers{};
    std::optional<json::object> extra_body{};
    std::optional<std::vector<std::string>> omit{};
    std::optional<bool> keeps_state{};
    std::optional<bool> replay_reasoning{};
    std::optional<std::int64_t> first_byte_timeout_ms{};
    std::optional<std::int64_t> idle_timeout_ms{};
};
BOOST_DESCRIBE_STRUCT(ProviderSection, (),
                      (transport, base_url, auth, reasoning_effort, stream, builtin_web_search,
                       headers, extra_body, omit, keeps_state, replay_reasoning,
                       first_byte_timeout_ms, idle_timeout_ms))

struct ContextManagementSection {
    std::optional<bool> enabled{};
    std::optional<std::int64_t> trigger_input_tokens{};
    std::optional<std::int64_t> keep_recent_tool_uses{};
    std::optional<std::int64_t> clear_at_least_input_tokens{};
};
BOOST_DESCRIBE_STRUCT(ContextManagementSection, (),
                      (enabled, trigger_input_tokens, keep_recent_tool_uses,
                       clear_at_least_input_tokens))

struct RuntimeSection {
    std::optional<std::int64_t> max_output_tokens{};
    std::optional<std::int64_t> default_tool_output_tokens{};
    std::optional<std::int64_t> max_tool_output_tokens{};
    std::optional<bool> disable_provider_fallback{};
    std::optional<std::string> tls_ca_file{};
    std::optional<ContextManagementSection> anthropic_context_management{};
    std::optional<std::int64_t> max_command_output_bytes{};
    std::optional<std::int64_t> max_concurrent_turns{};
    std::optional<std::int64_t> max_turn_rounds{};
    std::optional<std::int64_t> max_turn_tokens{};
    std::optional<std::int64_t> max_turn_wall_ms{};
    std::optional<std::int64_t> max_agent_rounds{};
    std::optional<std::int64_t> max_agent_tokens{};
    std::optional<std::int64_t> max_agent_wall_ms{};
    std::optional<std::int64_t> outage_patience_ms{};
    std::optional<std::int64_t> max_follow_up_depth{};
    std::optional<std::int64_t> max_follow_ups_per_hour{};
    std::optional<std::int64_t> max_turns_without_progress{};
    std::optional<bool> compaction_summary{};
};
BOOST_DESCRIBE_STRUCT(RuntimeSection, (),
                      (max_output_tokens, default_tool_output_tokens, max_tool_output_tokens,
                       disable_provider_fallback, tls_ca_file, anthropic_context_management,
                       max_command_output_bytes, max_concurrent_turns, max_turn_rounds,
                       max_turn_tokens, max_turn_wall_ms, max_agent_rounds, max_agent_tokens,
                       max_agent_wall_ms, outage_patience_ms, max_follow_up_depth,
                       max_follow_ups_per_hour, max_turns_without_progress, compaction_summary))

struct WebhooksSection {
    std::optional<std::int64_t> rate_per_minute{};
    std::optional<std::int64_t> body_bytes_max{};
    std::optional<std::int64_t> timestamp_tolerance_s{};
};
BOOST_DESCRIBE_STRUCT(WebhooksSection, (), (rate_per_minute, body_bytes_max, timestamp_tolerance_s))

struct TuiSection {
    std::optional<std::string> alternate_screen{};
};
BOOST_DESCRIBE_STRUCT(TuiSection, (), (alternate_screen))

struct PolicySection {
    std::optional<domain::ExternalCalls> external_calls{};
};
BOOST_DESCRIBE_STRUCT(PolicySection, (), (external_calls))

struct RedactionSection {
    std::optional<bool> patterns{};
};
BOOST_DESCRIBE_STRUCT(RedactionSection, (), (patterns))

// A policy for each family of tools; tools::Family has the same names.
struct GateFamilies {
    std::optional<domain::GatePolicy> core_agent{};
    std::optional<domain::GatePolicy> local_environment{};
    std::optional<domain::GatePolicy> web{};
    std::optional<domain::GatePolicy> agent_creation{};
    std::optional<domain::GatePolicy> authority_expanding{};
    std::optional<domain::GatePolicy> operator_notification{};
    friend bool operator==(const GateFamilies&, const GateFamilies&) = default;
};
BOOST_DESCRIBE_STRUCT(GateFamilies, (),
                      (core_agent, local_environment, web, agent_creation, authority_expanding,
                       operator_notification))
struct GateSection {
    std::optional<domain::GatePolicy> policy{};
    std::optional<GateFamilies> families{};
    friend bool operator==(const GateSection&, const GateSection&) = default;
};
BOOST_DESCRIBE_STRUCT(GateSection, (), (policy, families))

// What is set here replaces the default.
struct SandboxLimitsSection {
    std::optional<std::int64_t> cpu_s{};
    std::optional<std::int64_t> memory_bytes{};
    std::optional<std::int64_t> processes{};
    std::optional<std::int64_t> file_bytes{};
    std::optional<std::int64_t> open_files{};
    std::optional<std::int64_t> private_tmp_bytes{};
};
BOOST_DESCRIBE_STRUCT(SandboxLimitsSection, (),
                      (cpu_s, memory_bytes, processes, file_bytes, open_files, private_tmp_bytes))
struct SandboxSection {
    std::optional<domain::SandboxBackend> backend{};
    std::optional<domain::SandboxNetwork> network{};
    std::optional<std::vector<std::string>> allowed_hosts{};
    std::optional<std::vector<std::string>> writable_roots{};
    std::optional<std::vector<std::string>> readable_roots{};
    std::optional<std::vector<std::string>> hidden{};
    std::optional<SandboxLimitsSection> limits{};
};
BOOST_DESCRIBE_STRUCT(SandboxSection, (),
                      (backend, network, allowed_hosts, writable_roots, readable_roots, hidden,
                       limits))
struct ExecutionSection {
    std::optional<bool> allow_processes{};
    std::optional<bool> allow_background_tasks{};
    std::optional<bool> allow_worktrees{};
    std::optional<bool> allow_new_workspaces{};
};
BOOST_DESCRIBE_STRUCT(ExecutionSection, (),
                      (allow_processes, allow_background_tasks, allow_worktrees,
                       allow_new_workspaces))

// Settings of one agent; unset ones use the global value.
struct AgentSection {
    std::optional<SandboxSection> sandbox{};
    std::optional<ExecutionSection> execution{};
    std::optional<PolicySection> policy{};
    std::optional<GateSection> gate{};
};
BOOST_DESCRIBE_STRUCT(AgentSection, (), (sandbox, execution, policy, gate))

struct ConfigFile {
    std::optional<ModelSection> model{};
    std::optional<ModelsSection> models{};
    std::optional<std::map<std::string, ProviderSection>> providers{};
    std::optional<RuntimeSection> runtime{};
    std::optional<TuiSection> tui{};
    std::optional<WebSection> web{};
    std::optional<McpSection> mcp{};
    std::optional<PolicySection> policy{};
    std::optional<RedactionSection> redaction{};
    std::optional<SandboxSection> sandbox{};
    std::optional<ExecutionSection> execution{};
    std::optional<std::map<std::string, AgentSection>> agents{};
    std::optional<PlanSection> plan{};
    std::optional<GateSection> gate{};
    std::optional<WebhooksSection> webhooks{};
    std::optional<RetentionSection> retention{};
    std::optional<NotifySection> notify{};
    std::optional<ChildrenSection> children{};
};
BOOST_DESCRIBE_STRUCT(ConfigFile, (),
                      (model, models, providers, runtime, tui, web, mcp, policy, redaction, sandbox,
                       execution, agents, plan, gate, webhooks, retention, notify, children))

// Checks that all of it is consistent; an error names the place.
base::Status check(const ConfigFile& file);

// credentials.json: profiles by name.
struct CredentialEntry {
    std::string kind;
    std::string material;
};
BOOST_DESCRIBE_STRUCT(CredentialEntry, (), (kind, material))
struct CredentialsFile {
    std::map<std::string, CredentialEntry> profiles;
};
BOOST_DESCRIBE_STRUCT(CredentialsFile, (), (profiles))

}  // namespace config
