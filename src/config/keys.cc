#include "config/keys.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/text.h"
#include "config/config.h"

namespace config {
namespace {

using base::ErrorCode;
using base::fail;

constexpr auto kKeys = std::to_array<Key>({
    {"model.default", KeyKind::ModelRef, "The model to ask; the first with a key when unset."},
    {"model.fallbacks", KeyKind::ModelRefList, "The models to ask when it fails, in order."},
    {"model.unknown_fallback", KeyKind::JsonObject, "Limits of models outside the catalogue."},
    {"model.unknown_fallback.context_window_tokens", KeyKind::PositiveInteger,
     "Context window of an unknown model."},
    {"model.unknown_fallback.effective_context_window_percent", KeyKind::PercentageInteger,
     "How much of its window a prompt may fill."},
    {"model.unknown_fallback.prompt_budget_estimated_tokens", KeyKind::PositiveInteger,
     "Prompt budget of an unknown model."},
    {"model.unknown_fallback.compaction_trigger_estimated_tokens", KeyKind::PositiveInteger,
     "Size at which its context is compacted."},
    {"model.unknown_fallback.compaction_keep_recent_estimated_tokens", KeyKind::PositiveInteger,
     "How much of it a compaction keeps as it is."},
    {"model.unknown_fallback.runtime_max_output_tokens", KeyKind::PositiveInteger,
     "What an unknown model may write in one round."},
    {"models.catalog", KeyKind::JsonObject, "Limits of models by reference.", "{}"},
    {"runtime.max_output_tokens", KeyKind::PositiveInteger,
     "What a model may write in one round; comes before the catalogue.", "8192"},
    {"runtime.default_tool_output_tokens", KeyKind::PositiveInteger,
     "How much output a tool call shows the model.", "8000"},
    {"runtime.max_tool_output_tokens", KeyKind::PositiveInteger,
     "How much a tool call may ask to show; at most 64000.", "64000"},
    {"runtime.disable_provider_fallback", KeyKind::Boolean, "Ask the first model only.", "false"},
    {"runtime.tls_ca_file", KeyKind::String,
     "A file of certificates to trust instead of the system's."},
    {"runtime.anthropic_context_management.enabled", KeyKind::Boolean,
     "Let servers of the Messages API forget old tool results.", "false"},
    {"runtime.anthropic_context_management.trigger_input_tokens", KeyKind::PositiveInteger,
     "Prompt size from which they may do so.", "100000"},
    {"runtime.anthropic_context_management.keep_recent_tool_uses", KeyKind::PositiveInteger,
     "How many of the last results are kept.", "3"},
    {"runtime.anthropic_context_management.clear_at_least_input_tokens", KeyKind::PositiveInteger,
     "Tokens that one clearing must save at least."},
    {"runtime.max_command_output_bytes", KeyKind::PositiveInteger,
     "Output of one command that is kept on disk.", "4294967296"},
    {"runtime.max_concurrent_turns", KeyKind::PositiveInteger,
     "Turns open at once that ask one provider; over all providers four times as many.", "64"},
    {"runtime.max_turn_rounds", KeyKind::PositiveInteger, "Model rounds of one turn; at most 1000.",
     "1000"},
    {"runtime.max_turn_tokens", KeyKind::PositiveInteger, "Tokens of one turn, in and out."},
    {"runtime.max_turn_wall_ms", KeyKind::PositiveInteger, "How long one turn may take."},
    {"runtime.max_agent_rounds", KeyKind::PositiveInteger, "Model rounds of an agent in its life."},
    {"runtime.max_agent_tokens", KeyKind::PositiveInteger, "Tokens of an agent in its life."},
    {"runtime.max_agent_wall_ms", KeyKind::PositiveInteger,
     "Time an agent may spend in turns in its life."},
    {"runtime.max_turns_without_progress", KeyKind::PositiveInteger,
     "Turns in a row on one work item without material progress before it is blocked.", "3"},
    {"runtime.compaction_summary", KeyKind::Boolean,
     "Ask the model for a summary of what a compaction takes out of a conversation.", "false"},
    {"runtime.outage_patience_ms", KeyKind::PositiveInteger,
     "How long a turn waits for a provider that is down; default: 5 minutes in holon run, 12 hours "
     "in the daemon."},
    {"webhooks.rate_per_minute", KeyKind::PositiveInteger,
     "Deliveries that one webhook accepts in a minute.", "60"},
    {"webhooks.body_bytes_max", KeyKind::PositiveInteger, "Bytes of one delivery; at most 1048576.",
     "262144"},
    {"webhooks.timestamp_tolerance_s", KeyKind::PositiveInteger,
     "How old a signed delivery may be, in seconds.", "300"},
    {"notify.command", KeyKind::StringList,
     "A program that receives briefs which need you or report finished work, as JSON on its "
     "standard input. No shell.",
     "[]"},
    {"notify.webhook_credential", KeyKind::String,
     "The credential profile whose secret signs deliveries to the webhook; set this first."},
    {"notify.webhook", KeyKind::String, "An http or https address that receives the same by POST."},
    {"notify.timeout_ms", KeyKind::PositiveInteger, "How long one attempt may take.", "10000"},
    {"notify.max_attempts", KeyKind::PositiveInteger,
     "How often a delivery that fails is tried, with growing pauses.", "20"},
    {"runtime.max_follow_up_depth", KeyKind::PositiveInteger,
     "How long a chain of follow-ups may be that an agent queues for itself.", "25"},
    {"runtime.max_follow_ups_per_hour", KeyKind::PositiveInteger,
     "How many follow-ups an agent may queue for itself in an hour.", "100"},
    {"children.max_depth", KeyKind::PositiveInteger,
     "How deep agents may delegate; 1: children have no children. At most 8.", "2"},
    {"children.max_alive", KeyKind::PositiveInteger,
     "Children that one agent may have at the same time.", "8"},
    {"children.max_tree_alive", KeyKind::PositiveInteger,
     "Children alive at the same time below one named agent, at every depth together.", "32"},
    {"children.max_tree_tokens", KeyKind::PositiveInteger,
     "Tokens that one delegated child and everything below it may use.", "5000000"},
    {"children.max_tree_wall_ms", KeyKind::PositiveInteger,
     "Time that one delegated child and everything below it may spend in turns.", "43200000"},
    {"children.max_named", KeyKind::PositiveInteger,
     "Named agents that agents may have made by themselves, all together.", "32"},
    {"providers.<name>.stream", KeyKind::Boolean,
     "Whether answers are streamed. Define the provider first: holon config providers set ID.",
     "true"},
    {"providers.<name>.headers", KeyKind::JsonObject,
     "Headers added to its requests; $NAME is the value of that variable."},
    {"providers.<name>.extra_body", KeyKind::JsonObject, "Fields added to its requests."},
    {"providers.<name>.omit", KeyKind::StringList, "Fields left out of its requests.", "[]"},
    {"providers.<name>.keeps_state", KeyKind::Boolean,
     "Continue conversations by reference (openai_responses only). Privacy: the provider then "
     "stores every conversation on its servers.",
     "false"},
    {"providers.<name>.replay_reasoning", KeyKind::Boolean,
     "Whether unsigned thinking of a model is sent back to it; default: as the provider requires.",
     "null"},
    {"providers.<name>.first_byte_timeout_ms", KeyKind::PositiveInteger,
     "How long it may take to begin an answer.", "300000"},
    {"providers.<name>.idle_timeout_ms", KeyKind::PositiveInteger,
     "How long it may be silent within an answer.", "300000"},
    {"policy.external_calls", KeyKind::Enum,
     "What happens to a consequential call that only untrusted input requested.", R"("ask")",
     "allow,refuse,ask"},
    {"agents.<name>.policy.external_calls", KeyKind::Enum, "The same for one agent.", "null",
     "allow,refuse,ask"},
    {"redaction.patterns", KeyKind::Boolean,
     "Whether text that only looks like a secret is redacted, too.", "false"},
    {"plan.allow_delete", KeyKind::Boolean,
     "Whether plans may delete; deleted files move to the vault's .trash.", "false"},
    {"plan.commands", KeyKind::JsonObject, "Programs that plans run by name.", "{}"},
    {"plan.commands.<name>", KeyKind::JsonObject, "A program that plans run by this name."},
    {"plan.commands.<name>.argv", KeyKind::StringList,
     "The program and its arguments, no shell; {text} in an argument is a parameter. Set this "
     "first.",
     "[]"},
    {"plan.commands.<name>.description", KeyKind::String, "What it is for."},
    {"plan.commands.<name>.timeout_ms", KeyKind::PositiveInteger, "How long it may take."},
    {"plan.policy.confirmations_required", KeyKind::Boolean,
     "Whether plans that change something wait for approval.", "true"},
    {"plan.policy.max_risk_level", KeyKind::Enum, "The highest risk that plans may have.", "null",
     "read-only,writes,commands"},
    {"plan.policy.allowed_roots", KeyKind::StringList,
     "Folders plans may touch; the run's vault when unset.", "[]"},
    {"plan.policy.deny_patterns", KeyKind::StringList, "Paths that plans may not touch.",
     R"(["://"])"},
    {"plan.policy.max_concurrency", KeyKind::PositiveInteger, "Calls in parallel.", "4"},
    {"plan.policy.max_attempts", KeyKind::PositiveInteger, "Tries of one call.", "5"},
    {"plan.policy.max_backoff_ms", KeyKind::PositiveInteger, "The longest wait between attempts.",
     "60000"},
    {"plan.policy.step_timeout_ms", KeyKind::PositiveInteger, "How long a call may take.",
     "600000"},
    {"plan.policy.run_timeout_ms", KeyKind::PositiveInteger, "How long a plan run may take.",
     "86400000"},
    {"plan.policy.max_foreach_items", KeyKind::PositiveInteger, "Items of one loop.", "10000"},
    {"plan.policy.max_calls", KeyKind::PositiveInteger, "Calls of one plan run.", "200000"},
    {"plan.retention.enabled", KeyKind::Boolean, "Whether old plan runs are deleted.", "true"},
    {"plan.retention.max_age_days", KeyKind::PositiveInteger, "How long ended plan runs are kept.",
     "90"},
    {"plan.retention.max_runs", KeyKind::PositiveInteger, "How many ended plan runs are kept.",
     "1000"},
    {"plan.retention.max_bytes", KeyKind::PositiveInteger,
     "How much disk they may take, files and journals together.", "1073741824"},
    {"retention.enabled", KeyKind::Boolean, "Whether old records of agents are deleted.", "true"},
    {"retention.max_age_days", KeyKind::PositiveInteger,
     "How long messages, turns, events, briefs and task logs are kept.", "90"},
    {"retention.max_bytes", KeyKind::PositiveInteger,
     "How much disk the database and the files of agents and plans may take; the oldest records go "
     "first.",
     "10737418240"},
    {"retention.min_age_days", KeyKind::PositiveInteger,
     "How long records are kept even when they take more than that.", "7"},
    {"retention.keep_turns", KeyKind::PositiveInteger,
     "How many of the newest turns of each agent are kept, whatever their age.", "50"},
    {"retention.temporary_agent_days", KeyKind::PositiveInteger,
     "How long agents of runs are kept that did not complete.", "30"},
    {"gate.policy", KeyKind::Enum, "What the gate does with results before a model sees them.",
     R"("off")", "off,report,enforce"},
    {"gate.families.core_agent", KeyKind::Enum, "The same for one family of tools.", "null",
     "off,report,enforce"},
    {"gate.families.local_environment", KeyKind::Enum, "The same for one family of tools.", "null",
     "off,report,enforce"},
    {"gate.families.web", KeyKind::Enum, "The same for one family of tools.", "null",
     "off,report,enforce"},
    {"gate.families.agent_creation", KeyKind::Enum, "The same for one family of tools.", "null",
     "off,report,enforce"},
    {"gate.families.authority_expanding", KeyKind::Enum, "The same for one family of tools.",
     "null", "off,report,enforce"},
    {"gate.families.operator_notification", KeyKind::Enum, "The same for one family of tools.",
     "null", "off,report,enforce"},
    {"agents.<name>.gate.policy", KeyKind::Enum, "The same for one agent.", "null",
     "off,report,enforce"},
    {"agents.<name>.gate.families.core_agent", KeyKind::Enum,
     "The same for one agent and one family of tools.", "null", "off,report,enforce"},
    {"agents.<name>.gate.families.local_environment", KeyKind::Enum,
     "The same for one agent and one family of tools.", "null", "off,report,enforce"},
    {"agents.<name>.gate.families.web", KeyKind::Enum,
     "The same for one agent and one family of tools.", "null", "off,report,enforce"},
    {"agents.<name>.gate.families.agent_creation", KeyKind::Enum,
     "The same for one agent and one family of tools.", "null", "off,report,enforce"},
    {"agents.<name>.gate.families.authority_expanding", KeyKind::Enum,
     "The same for one agent and one family of tools.", "null", "off,report,enforce"},
    {"agents.<name>.gate.families.operator_notification", KeyKind::Enum,
     "The same for one agent and one family of tools.", "null", "off,report,enforce"},
    {"tui.alternate_screen", KeyKind::Enum, "Whether the console uses the alternate screen.",
     R"("auto")", "auto,always,never"},
    {"web.fetch.enabled", KeyKind::Boolean, "Whether pages may be fetched.", "true"},
    {"web.fetch.max_chars", KeyKind::PositiveInteger, "How much of a page is shown.", "20000"},
    {"web.fetch.max_response_bytes", KeyKind::PositiveInteger, "The largest page.", "750000"},
    {"web.fetch.timeout_seconds", KeyKind::PositiveInteger, "How long a page may take.", "20"},
    {"web.fetch.max_redirects", KeyKind::PositiveInteger, "How many redirects are followed.", "5"},
    {"web.fetch.allowed_hosts", KeyKind::StringList, "Only these hosts, if the list is not empty.",
     "[]"},
    {"web.fetch.denied_hosts", KeyKind::StringList, "Never these hosts.", "[]"},
    {"web.search.enabled", KeyKind::Boolean, "Whether the web may be searched.", "true"},
    {"web.search.builtin_provider.enabled", KeyKind::Boolean, "Search by the model's provider.",
     "true"},
    {"web.search.provider", KeyKind::String, "The search provider.", R"("auto")"},
    {"web.search.mode", KeyKind::Enum, "How several search providers are used.", R"("fallback")",
     "single,fallback,aggregate"},
    {"web.search.providers", KeyKind::StringList, "The search providers to use.", "[]"},
    {"web.search.max_results", KeyKind::PositiveInteger, "How many results are shown.", "5"},
    {"web.search.max_provider_attempts", KeyKind::PositiveInteger, "How many providers are tried.",
     "3"},
    {"web.providers", KeyKind::JsonObject, "Search providers by name.", "{}"},
    {"web.providers.<name>", KeyKind::JsonObject, "A search provider."},
    {"web.providers.<name>.kind", KeyKind::Enum, "The kind of provider; set this first.", "null",
     "brave,tavily,exa,open_ai_native,anthropic_native,gemini_native,perplexity,firecrawl,searxng,"
     "command,duck_duck_go"},
    {"web.providers.<name>.base_url", KeyKind::String,
     "Its address, if it is not the default one."},
    {"web.providers.<name>.credential_profile", KeyKind::String, "The profile with its API key."},
    {"web.providers.<name>.command.argv", KeyKind::StringList,
     "What a command provider runs; {{query}} and {{max_results}} are filled in. No shell.", "[]"},
    {"web.providers.<name>.output.format", KeyKind::Enum, "How its output is read.", R"("json")",
     "json"},
    {"web.providers.<name>.output.mapping.title", KeyKind::String, "JSON path of a title."},
    {"web.providers.<name>.output.mapping.url", KeyKind::String, "JSON path of a URL."},
    {"web.providers.<name>.output.mapping.snippet", KeyKind::String, "JSON path of a summary."},
    {"web.providers.<name>.output.mapping.published_at", KeyKind::String, "JSON path of a date."},
    {"web.providers.<name>.limits.timeout_ms", KeyKind::PositiveInteger,
     "How long a command may take.", "10000"},
    {"web.providers.<name>.limits.max_output_bytes", KeyKind::PositiveInteger,
     "How much a command may print.", "200000"},
    {"mcp.servers", KeyKind::JsonObject, "MCP servers by name.", "{}"},
    {"mcp.servers.<name>", KeyKind::JsonObject, "An MCP server."},
    {"mcp.servers.<name>.command", KeyKind::String, "The program to start; set this first."},
    {"mcp.servers.<name>.url", KeyKind::String,
     "The address of a server over HTTP, instead of a program; set this first."},
    {"mcp.servers.<name>.headers", KeyKind::JsonObject,
     "Headers sent to it; $NAME is the value of that variable here."},
    {"mcp.servers.<name>.start_timeout_ms", KeyKind::PositiveInteger,
     "How long its start may take.", "60000"},
    {"mcp.servers.<name>.args", KeyKind::StringList, "Its arguments. No shell.", "[]"},
    {"mcp.servers.<name>.env", KeyKind::JsonObject,
     "Variables it gets; $NAME is the value of that variable here."},
    {"mcp.servers.<name>.cwd", KeyKind::String, "The folder it runs in."},
    {"mcp.servers.<name>.enabled", KeyKind::Boolean, "Whether its tools are offered.", "true"},
    {"mcp.servers.<name>.timeout_ms", KeyKind::PositiveInteger, "How long a call may take.",
     "60000"},
    {"mcp.servers.<name>.risk", KeyKind::Enum,
     "The risk of all its tools; hints of the server are ignored.", R"("commands")",
     "read_only,writes,commands"},
    {"mcp.servers.<name>.oauth.client_id", KeyKind::String,
     "The client that was registered for holon; holon registers itself where it is not set."},
    {"mcp.servers.<name>.oauth.client_secret", KeyKind::String,
     "$NAME, the variable with the secret of that client."},
    {"mcp.servers.<name>.oauth.scope", KeyKind::String,
     "The scopes to ask for; else those that the server names."},
    {"mcp.servers.<name>.oauth.callback_port", KeyKind::PositiveInteger,
     "The local port that the browser comes back to; else any free one."},
    {"mcp.servers.<name>.tools.allow", KeyKind::StringList,
     "Only these tools, if the list is not empty."},
    {"mcp.servers.<name>.tools.deny", KeyKind::StringList, "Never these tools.", "[]"},
    {"sandbox.backend", KeyKind::Enum, "Whether commands run unconfined or in a sandbox.",
     R"("host_local")", "host_local,bubblewrap"},
    {"sandbox.network", KeyKind::Enum, "The network of confined commands.", R"("none")",
     "none,allowlist,host"},
    {"sandbox.allowed_hosts", KeyKind::StringList,
     "The hosts of the allow-list: example.com, *.example.com, example.com:8443.", "[]"},
    {"sandbox.writable_roots", KeyKind::StringList,
     "Absolute folders to write in, in addition to the execution root.", "[]"},
    {"sandbox.readable_roots", KeyKind::StringList,
     "Absolute paths to read, in addition to the system and toolchains.", "[]"},
    {"sandbox.hidden", KeyKind::StringList,
     "Absolute paths to hide, in addition to the usual secrets.", "[]"},
    {"sandbox.limits.cpu_s", KeyKind::PositiveInteger,
     "Processor time of each process, in seconds.", "600"},
    {"sandbox.limits.memory_bytes", KeyKind::PositiveInteger, "Memory of each process.",
     "8589934592"},
    {"sandbox.limits.processes", KeyKind::PositiveInteger, "Processes of a command at once.",
     "512"},
    {"sandbox.limits.file_bytes", KeyKind::PositiveInteger, "The largest file a command can write.",
     "8589934592"},
    {"sandbox.limits.open_files", KeyKind::PositiveInteger, "Files a process has open at once.",
     "4096"},
    {"sandbox.limits.private_tmp_bytes", KeyKind::PositiveInteger,
     "Size of a command's private folders together: /tmp, its home and others.", "1073741824"},
    {"execution.allow_processes", KeyKind::Boolean, "Whether commands may run at all.", "true"},
    {"execution.allow_background_tasks", KeyKind::Boolean,
     "Whether commands may continue in the background.", "true"},
    {"execution.allow_worktrees", KeyKind::Boolean,
     "Whether agents may create worktrees for isolated work.", "true"},
    {"execution.allow_new_workspaces", KeyKind::Boolean,
     "Whether agents may enter folders that no operator attached; default: only when unconfined.",
     "null"},
    {"agents", KeyKind::JsonObject, "Settings of single agents, by id.", "{}"},
    {"agents.<name>", KeyKind::JsonObject, "Settings of this agent."},
    {"agents.<name>.sandbox.backend", KeyKind::Enum,
     "Whether this agent's commands run unconfined or in a sandbox.", "null",
     "host_local,bubblewrap"},
    {"agents.<name>.sandbox.network", KeyKind::Enum, "The network of confined commands.", "null",
     "none,allowlist,host"},
    {"agents.<name>.sandbox.allowed_hosts", KeyKind::StringList,
     "The hosts of the allow-list: example.com, *.example.com, example.com:8443.", "[]"},
    {"agents.<name>.sandbox.writable_roots", KeyKind::StringList,
     "Absolute folders to write in, in addition to the execution root.", "[]"},
    {"agents.<name>.sandbox.readable_roots", KeyKind::StringList,
     "Absolute paths to read, in addition to the system and toolchains.", "[]"},
    {"agents.<name>.sandbox.hidden", KeyKind::StringList,
     "Absolute paths to hide, in addition to the usual secrets.", "[]"},
    {"agents.<name>.sandbox.limits.cpu_s", KeyKind::PositiveInteger,
     "Processor time of each process, in seconds."},
    {"agents.<name>.sandbox.limits.memory_bytes", KeyKind::PositiveInteger,
     "Memory of each process."},
    {"agents.<name>.sandbox.limits.processes", KeyKind::PositiveInteger,
     "Processes of a command at once."},
    {"agents.<name>.sandbox.limits.file_bytes", KeyKind::PositiveInteger,
     "The largest file a command can write."},
    {"agents.<name>.sandbox.limits.open_files", KeyKind::PositiveInteger,
     "Files a process has open at once."},
    {"agents.<name>.sandbox.limits.private_tmp_bytes", KeyKind::PositiveInteger,
     "Size of a command's private folders together: /tmp, its home and others."},
    {"agents.<name>.execution.allow_processes", KeyKind::Boolean,
     "Whether commands may run at all."},
    {"agents.<name>.execution.allow_background_tasks", KeyKind::Boolean,
     "Whether commands may continue in the background."},
    {"agents.<name>.execution.allow_worktrees", KeyKind::Boolean,
     "Whether this agent may create worktrees for isolated work."},
    {"agents.<name>.execution.allow_new_workspaces", KeyKind::Boolean,
     "Whether this agent may enter folders that no operator attached."},
});

constexpr std::string_view kAnyName = "<name>";

// Tool output beyond the cap is never shown, so a larger number would only mislead.
constexpr auto kCapped = std::to_array<std::string_view>(
    {"runtime.default_tool_output_tokens", "runtime.max_tool_output_tokens"});

std::vector<std::string> split(std::string_view text, char separator) {
    std::vector<std::string> parts;
    while (true) {
        const std::size_t end = text.find(separator);
        if (const auto part = base::trim(text.substr(0, end)); !part.empty())
            parts.emplace_back(part);
        if (end == std::string_view::npos) return parts;
        text.remove_prefix(end + 1);
    }
}

std::unexpected<base::Error> expected(const Key& key, std::string_view what,
                                      std::string_view text) {
    return fail(ErrorCode::InvalidInput, "{} must be {}, got '{}'", key.key, what,
                base::printable(base::ellipsize(base::to_utf8(text), 80)));
}

base::Result<json::value> parse_number(const Key& key, std::string_view text) {
    const bool is_percent = key.kind == KeyKind::PercentageInteger;
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end != text.data() + text.size() || number < 1 ||
        (is_percent && number > 100))
        return expected(key, is_percent ? "1 to 100" : "a whole number above 0", text);
    if (std::ranges::find(kCapped, key.key) != kCapped.end())
        number = std::min(number, kToolOutputTokensCap);
    return number;
}

base::Result<json::value> parse_truth(const Key& key, std::string_view text) {
    for (const std::string_view yes : {"true", "1", "yes", "on"})
        if (text == yes) return json::value(true);
    for (const std::string_view no : {"false", "0", "no", "off"})
        if (text == no) return json::value(false);
    return expected(key, "true or false", text);
}

// Comma-separated text or a JSON array of strings.
base::Result<std::vector<std::string>> parse_list(const Key& key, std::string_view text) {
    if (!text.starts_with('[')) return split(text, ',');
    const auto parsed = base::parse_json(text);
    if (!parsed) return expected(key, "a list", text);
    auto list = base::from_json<std::vector<std::string>>(*parsed);
    if (!list) return expected(key, "a list of texts", text);
    return *list;
}

base::Result<json::value> parse_object(const Key& key, std::string_view text) {
    const auto parsed = base::parse_json(text);
    if (!parsed || (!parsed->is_object() && !parsed->is_null()))
        return expected(key, "a JSON object", text);
    return *parsed;
}

base::Result<json::value> parse_choice(const Key& key, std::string_view text) {
    const auto choices = split(key.allowed_values, ',');
    if (std::ranges::find(choices, text) == choices.end())
        return expected(key, fmt::format("one of {}", fmt::join(choices, ", ")), text);
    return json::value(json::string_view(text.data(), text.size()));
}

bool fits(const std::vector<std::string>& pattern, const std::vector<std::string>& path) {
    return std::ranges::equal(pattern, path,
                              [](const std::string& wanted, const std::string& part) {
                                  return wanted == part || wanted == kAnyName;
                              });
}

// Removes what is at `path` and, on the way back, the groups that it leaves empty.
void erase_at(json::object& group, std::span<const std::string> path) {
    const auto found = group.find(path.front());
    if (found == group.end()) return;
    if (path.size() > 1) {
        if (!found->value().is_object()) return;
        erase_at(found->value().get_object(), path.subspan(1));
        if (!found->value().get_object().empty()) return;
    }
    group.erase(found);
}

}  // namespace

std::span<const Key> keys() {
    return kKeys;
}

base::Result<Key> find_key(std::string_view name) {
    std::vector<std::string> names;
    const auto path = split(name, '.');
    const bool is_whole = fmt::format("{}", fmt::join(path, ".")) == name;  // No part is empty.
    for (const auto& key : kKeys) {
        if (is_whole && fits(split(key.key, '.'), path)) {
            Key found = key;
            found.key = name;
            return found;
        }
        names.emplace_back(key.key);
    }
    if (name == "providers" || name.starts_with("providers."))
        return fail(ErrorCode::NotFound, "providers are set with: holon config providers set ID");
    const std::string near = base::nearest(name, names);
    return fail(ErrorCode::NotFound, "there is no setting '{}'{}; see holon config schema",
                base::printable(base::ellipsize(base::to_utf8(name), 80)),
                near.empty() ? "" : " (did you mean " + near + "?)");
}

base::Result<json::value> parse_value(const Key& key, std::string_view typed) {
    const std::string_view text = base::trim(typed);
    if (!base::is_utf8(text)) return expected(key, "valid UTF-8", text);
    switch (key.kind) {
        case KeyKind::ModelRef:
            return base::to_json(TRY(parse_model_ref(text)).text());
        case KeyKind::ModelRefList: {
            std::vector<std::string> refs;
            for (const auto& entry : TRY(parse_list(key, text)))
                refs.push_back(TRY(parse_model_ref(entry)).text());
            return base::to_json(refs);
        }
        case KeyKind::JsonObject:
            return parse_object(key, text);
        case KeyKind::PositiveInteger:
        case KeyKind::PercentageInteger:
            return parse_number(key, text);
        case KeyKind::Boolean:
            return parse_truth(key, text);
        case KeyKind::Enum:
            return parse_choice(key, text);
        case KeyKind::String:
            if (text.empty() && key.default_value == "null") return json::value(nullptr);
            if (text.empty()) return expected(key, "a text", text);
            return base::to_json(std::string(text));
        case KeyKind::StringList:
            return base::to_json(TRY(parse_list(key, text)));
    }
    return expected(key, "a value", text);
}

json::value get_value(const json::object& document, const Key& key) {
    json::value at(document);
    for (const auto& name : split(key.key, '.')) {
        const json::value* found = base::find(at, name);
        if (!found) {
            const bool is_list =
                key.kind == KeyKind::ModelRefList || key.kind == KeyKind::StringList;
            return is_list ? json::value(json::array{}) : json::value(nullptr);
        }
        at = json::value(*found);
    }
    return at;
}

void set_value(json::object& document, const Key& key, json::value value) {
    const bool is_empty = value.is_null() || (value.is_array() && value.get_array().empty());
    if (is_empty) return unset_value(document, key);
    json::object* group = &document;
    const auto path = split(key.key, '.');
    for (std::size_t i = 0; i + 1 < path.size(); ++i) {
        json::value& inner = (*group)[path[i]];
        if (!inner.is_object()) inner.emplace_object();
        group = &inner.get_object();
    }
    (*group)[path.back()] = std::move(value);
}

void unset_value(json::object& document, const Key& key) {
    const auto path = split(key.key, '.');
    erase_at(document, path);
}

}  // namespace config
