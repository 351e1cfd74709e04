// `holon config …`, `holon models` and `holon doctor`.
#include "base/text.h"
#include "surfaces/cli/cli.h"
#include "surfaces/show/columns.h"
#include "surfaces/show/table.h"
#include "surfaces/show/words.h"

namespace cli {
namespace {

std::string shown(const json::value& value) {
    return value.is_string() ? base::printable(std::string_view(value.get_string()))
                             : base::printable(base::json_text(value));
}

void flatten(const json::value& value, const std::string& path, show::Rows& rows) {
    if (value.is_object() && !value.get_object().empty()) {
        for (const auto& member : value.get_object())
            flatten(
                member.value(),
                (path.empty() ? "" : path + ".") + base::printable(std::string_view(member.key())),
                rows);
        return;
    }
    rows.push_back({path, shown(value)});
}

Answered on(const SettingGetCommand& command, const SettingsContext& context) {
    auto value = TRY(context.settings.get(command.key));
    std::string text = value.is_null() ? "not set" : shown(value);
    return Answer{std::move(value), std::move(text)};
}

Answered on(const SettingSetCommand& command, const SettingsContext& context) {
    auto value = TRY(context.settings.set(command.key, command.value));
    std::string text = fmt::format("{} is now {}", command.key, shown(value));
    return Answer{std::move(value), std::move(text)};
}

Answered on(const SettingUnsetCommand& command, const SettingsContext& context) {
    TRY(context.settings.unset(command.key));
    return Answer{json::object{{"key", command.key}, {"status", "unset"}},
                  fmt::format("{} is no longer set", command.key)};
}

Answered on(const SettingListCommand&, const SettingsContext& context) {
    json::object stored = TRY(context.settings.list());
    show::Rows rows;
    flatten(stored, "", rows);
    std::string text = stored.empty() ? "Nothing is set; holon config schema lists all settings."
                                      : show::table(rows, out_columns(context.terminal));
    return Answer{std::move(stored), std::move(text)};
}

Answered on(const SettingSchemaCommand&, const SettingsContext& context) {
    show::Rows rows{{"SETTING", "DEFAULT", "MEANING"}};
    json::array list;
    for (const auto& entry : context.settings.schema()) {
        std::string meaning = entry.description;
        if (entry.allowed_values)
            meaning += fmt::format(" One of {}.", fmt::join(*entry.allowed_values, ", "));
        rows.push_back(
            {entry.key, entry.default_.is_null() ? "-" : shown(entry.default_), meaning});
        list.push_back(base::to_json(entry));
    }
    return Answer{std::move(list), show::table(rows, out_columns(context.terminal))};
}

Answered on(const ModelsCommand&, const SettingsContext& context) {
    show::Rows rows{{"MODEL", "NAME", "WINDOW", "OUTPUT", "USABLE"}};
    json::array list;
    for (const auto& model : TRY(context.settings.models())) {
        const std::int64_t window = base::int_at(model.policy, "context_window_tokens");
        rows.push_back(
            {base::printable(model.model), base::printable(model.display_name),
             window > 0 ? show::count_text(window) : "-",
             show::count_text(base::int_at(model.policy, "runtime_max_output_tokens")),
             model.available ? "yes" : base::printable(model.unavailable_reason.value_or("no"))});
        list.push_back(base::to_json(model));
    }
    return Answer{std::move(list), show::table(rows, out_columns(context.terminal))};
}

std::string credential_text(const service::ProviderView& provider) {
    if (provider.auth.source == "none") return "none needed";
    std::string where = provider.auth.source;
    for (const auto& name : {provider.auth.env, provider.auth.profile, provider.auth.external})
        if (name) where += " " + base::printable(*name);
    return (provider.credential_configured ? "there: " : "missing: ") + where;
}

std::string provider_text(const service::ProviderView& provider) {
    return show::table({{"provider", provider.id},
                        {"transport", provider.transport},
                        {"base url", base::printable(provider.base_url)},
                        {"credential", credential_text(provider)},
                        {"from", provider.configured_in_config ? "config.json" : "built in"}},
                       show::kUnbounded);
}

Answered on(const ProviderSetCommand& command, const SettingsContext& context) {
    const auto provider = TRY(context.settings.set_provider(command.change));
    return Answer{
        json::object{{"applied_via", "offline_store"}, {"provider", base::to_json(provider)}},
        provider_text(provider)};
}

Answered on(const ProviderGetCommand& command, const SettingsContext& context) {
    const auto provider = TRY(context.settings.provider(command.id));
    return Answer{base::to_json(provider), provider_text(provider)};
}

Answered on(const ProviderListCommand&, const SettingsContext& context) {
    show::Rows rows{{"PROVIDER", "TRANSPORT", "FROM", "CREDENTIAL", "BASE URL"}};
    json::array list;
    for (const auto& provider : TRY(context.settings.providers())) {
        rows.push_back({provider.id, provider.transport,
                        provider.configured_in_config ? "config.json" : "built in",
                        credential_text(provider), base::printable(provider.base_url)});
        list.push_back(base::to_json(provider));
    }
    return Answer{std::move(list), show::table(rows, out_columns(context.terminal))};
}

Answered on(const ProviderRemoveCommand& command, const SettingsContext& context) {
    const bool removed = TRY(context.settings.remove_provider(command.id));
    return Answer{json::object{{"applied_via", "offline_store"},
                               {"provider", command.id},
                               {"status", removed ? "removed" : "not_configured"}},
                  removed ? "removed" : "it is not in config.json"};
}

base::Result<std::string> material_of(const CredentialSetCommand& command,
                                      const SettingsContext& context) {
    if (command.material) return *command.material;
    if (!command.from_stdin && !context.terminal.in_is_terminal)
        return base::fail(base::ErrorCode::InvalidInput,
                          "give the credential with --stdin, or run this on a terminal");
    return context.terminal.read_secret(
        fmt::format("Credential for {}: ", base::printable(command.profile)));
}

json::value credential_change(const service::CredentialView& credential) {
    return json::object{{"applied_via", "offline_store"},
                        {"credential", base::to_json(credential)}};
}

Answered on(const CredentialSetCommand& command, const SettingsContext& context) {
    const auto credential = TRY(context.settings.set_credential(
        command.profile, command.kind, TRY(material_of(command, context))));
    return Answer{credential_change(credential), fmt::format("stored {}", credential.profile)};
}

Answered on(const CredentialListCommand&, const SettingsContext& context) {
    show::Rows rows{{"PROFILE", "KIND"}};
    json::array list;
    for (const auto& credential : TRY(context.settings.credentials())) {
        rows.push_back({base::printable(credential.profile), base::printable(credential.kind)});
        list.push_back(base::to_json(credential));
    }
    std::string text = list.empty() ? "No credentials are stored."
                                    : show::table(rows, out_columns(context.terminal));
    return Answer{std::move(list), std::move(text)};
}

Answered on(const CredentialRemoveCommand& command, const SettingsContext& context) {
    const auto credential = TRY(context.settings.remove_credential(command.profile));
    const bool was_there = credential.kind != "unknown";
    return Answer{credential_change(credential), was_there ? "removed" : "there was none"};
}

// One model of the chain in a line or two.
std::string diagnosis_text(const json::value& entry) {
    const auto& availability = entry.at("availability");
    const auto& settings = entry.at("settings");
    const bool available = base::bool_at(availability, "available");
    std::string text = fmt::format("  {} {}", available ? "✓" : "✗",
                                   base::printable(base::string_at(entry, "model")));
    if (const std::string transport = base::string_at(settings, "transport"); !transport.empty())
        text += "  " + transport;
    // A scripted model has no address.
    if (const std::string url = base::string_at(settings, "base_url"); !url.empty())
        text += " at " + base::printable(url);
    if (const auto* reachable = base::find(entry, "reachable"))
        text += reachable->as_bool() ? ", reachable" : ", NOT reachable";
    if (const auto* answered = base::find(entry, "answered"))
        text += answered->as_bool() ? ", answers" : ", does NOT answer";
    if (const auto* failure = base::find(entry, "probe_failure"))
        text += "\n      " + base::printable(base::string_at(*failure, "message"));
    if (!available)
        text += "\n      " + base::printable(base::string_at(availability, "error")) + " (" +
                base::string_at(availability, "failure_kind") + ")";
    if (const auto* step = base::find(entry, "next_step")) text += "\n      → " + shown(*step);
    return text;
}

std::string retry_text(const json::value& doctor) {
    const auto& policy = doctor.at("retry_policy");
    return fmt::format("Each is tried up to {} times ({} retries, at least {} ms apart).",
                       base::int_at(policy, "max_attempts_per_provider"),
                       base::int_at(policy, "max_retries_per_provider"),
                       base::int_at(policy, "base_backoff_ms"));
}

// The MCP servers, if there are any; each in a line or two.
std::string servers_text(const json::value& doctor) {
    const auto* servers = base::find(doctor, "mcp_servers");
    if (!servers || !servers->is_array() || servers->get_array().empty()) return "";
    std::string text = "\n\nMCP servers:";
    for (const auto& server : servers->get_array()) {
        const std::string state = base::string_at(server, "state");
        const bool is_bad = base::find(server, "reason") != nullptr;
        text +=
            fmt::format("\n  {} {}  {}, {}", is_bad ? "✗" : "✓", base::string_at(server, "name"),
                        state, base::printable(base::string_at(server, "command")));
        if (state == "ready")
            text += fmt::format(", {} tools, protocol {}", server.at("tools").as_array().size(),
                                base::string_at(server, "protocol_version"));
        if (is_bad) text += "\n      " + base::printable(base::string_at(server, "reason"));
        if (state == "failed") text += "\n      → " + base::string_at(server, "log");
        for (const auto& tool : server.at("left_out").as_array())
            text += fmt::format("\n      left out: {} ({})",
                                base::printable(base::string_at(tool, "tool")),
                                base::printable(base::string_at(tool, "reason")));
    }
    return text;
}

// The sandbox of commands, in a line, and what is missing for it.
std::string sandbox_line(const json::value& report, std::string_view whose) {
    const std::string backend = base::string_at(report, "backend");
    std::vector<std::string> kept;
    std::vector<std::string> open;
    if (const auto* enforced = base::find(report, "enforced"); enforced && enforced->is_object())
        for (const auto& [name, value] : enforced->get_object())
            (value == "hard_enforced" ? kept : open).emplace_back(name);
    std::string text = fmt::format("\n{}: {}", whose, backend);
    if (const auto version = base::string_at(report, "version"); !version.empty())
        text += " " + base::printable(version);
    if (!base::bool_at(report, "allow_processes", true)) text += ", switched off";
    if (!kept.empty()) text += fmt::format("\n  hard_enforced: {}", fmt::join(kept, ", "));
    if (!open.empty()) text += fmt::format("\n  not_enforced: {}", fmt::join(open, ", "));
    for (const char* name : {"warning", "stale"})
        if (const auto warning = base::string_at(report, name); !warning.empty())
            text += "\n  ✗ " + base::printable(warning);
    if (const auto* weaker = base::find(report, "weaker"); weaker && weaker->is_array())
        for (const auto& one : weaker->get_array()) text += "\n  weaker: " + shown(one);
    if (const auto* missing = base::find(report, "missing"); missing && missing->is_array())
        for (const auto& lack : missing->get_array())
            text += "\n  ✗ no command runs\n      → " + shown(lack);
    return text;
}

// What the result gate does, in a line.
std::string gate_text(const json::value& doctor) {
    const auto* report = base::find(doctor, "gate");
    if (!report) return "";
    return fmt::format(
        "\nResult gate: {} in turns that external input started, {} for MCP servers, {} in your "
        "own "
        "turns",
        base::string_at(*report, "turns_of_external_input"),
        base::string_at(*report, "mcp_servers"), base::string_at(*report, "operator_turns"));
}

std::string sandbox_text(const json::value& doctor) {
    const auto* report = base::find(doctor, "sandbox");
    if (!report || base::string_at(*report, "backend").empty()) return "";
    std::string text = sandbox_line(*report, "Commands");
    if (const auto* agents = base::find(*report, "agents"); agents && agents->is_object())
        for (const auto& [agent, one] : agents->get_object())
            text += sandbox_line(one, "Commands of agent " + std::string(agent));
    return text;
}

// Where the control token is, in a line.
std::string control_text(const json::value& doctor) {
    const auto* control = base::find(doctor, "control");
    if (!control) return "";
    const auto source = base::string_at(*control, "token_source");
    if (source == "environment") return "\nControl over TCP: the token in HOLON_CONTROL_TOKEN";
    if (source == "file")
        return "\nControl over TCP: the token in " +
               base::printable(base::string_at(*control, "token_file"));
    return "\nControl over TCP: no token\n  ✗ every user of this machine may control the daemon\n"
           "      → unset HOLON_CONTROL_AUTH_MODE";
}

// What keeps briefs from reaching the operator.
std::string notify_text(const json::value& doctor) {
    std::string text;
    const auto* steps = base::find(doctor, "next_steps");
    if (!steps || !steps->is_array()) return text;
    for (const auto& step : steps->get_array())
        if (const auto line = shown(step); line.starts_with("notify.")) text += "\n  ✗ " + line;
    return text.empty() ? text : "\nNotices to you:" + text;
}

std::string models_text(const json::value& doctor) {
    if (doctor.at("providers").as_array().empty())
        return "No model is configured.\n  → " + shown(doctor.at("next_steps").as_array().front()) +
               "\n  → holon models lists the known models" + sandbox_text(doctor) +
               gate_text(doctor);
    std::string text = "Models, in the order they are tried:";
    for (const auto& entry : doctor.at("providers").as_array())
        text += "\n" + diagnosis_text(entry);
    text += "\n" + retry_text(doctor) + sandbox_text(doctor) + gate_text(doctor);
    if (!base::bool_at(doctor, "ready")) return text + "\nNot ready: no model can be used.";
    const bool is_probed = base::find(doctor.at("providers").as_array().front(), "reachable");
    return text + "\nReady: holon run \"…\"" +
           (is_probed ? "" : "  (holon doctor --probe also asks the model)");
}

std::string doctor_text(const json::value& doctor) {
    const auto* store = base::find(doctor, "store");
    const bool is_damaged = store && !base::bool_at(*store, "ok", true);
    return models_text(doctor) + servers_text(doctor) + control_text(doctor) + notify_text(doctor) +
           (is_damaged ? "\n  ✗ the database is damaged\n      → holon store check" : "");
}

Answered on(const DoctorCommand& command, const SettingsContext& context) {
    json::value doctor = TRY(context.settings.doctor(command.probe));
    std::string text = show::folded(doctor_text(doctor), out_columns(context.terminal));
    return Answer{std::move(doctor), std::move(text)};
}

Answered on(const ProviderDoctorCommand& command, const SettingsContext& context) {
    json::value doctor = TRY(context.settings.doctor_provider(command.id, command.probe));
    std::string text;
    for (const auto& entry : doctor.at("model_chain_diagnostics").as_array())
        text += diagnosis_text(entry) + "\n";
    text = show::folded(text + retry_text(doctor), out_columns(context.terminal));
    return Answer{std::move(doctor), std::move(text)};
}

std::string login_text(const service::LoginResult& result) {
    std::string text = fmt::format("The key of {} is stored.", base::printable(result.provider));
    text += result.answered
                ? fmt::format("\n{} answers.", base::printable(result.model))
                : fmt::format("\n{} could not be asked: {}", base::printable(result.model),
                              base::printable(result.problem.value_or("")));
    text += result.is_default
                ? "\nIt is the default model. Next: holon run \"…\""
                : fmt::format("\nTo use it by default: holon config set model.default {}",
                              base::printable(result.model));
    return text;
}

Answered on(const LoginCommand& command, const SettingsContext& context) {
    TRY(context.settings.provider(command.provider));  // Before anything is asked.
    const auto key = TRY(context.terminal.read_secret(
        fmt::format("Key for {}: ", base::printable(command.provider))));
    const auto result = TRY(
        context.settings.login({.provider = command.provider, .key = key, .model = command.model}));
    return Answer{base::to_json(result), login_text(result)};
}

}  // namespace

Exit execute(const SettingsCommand& command, const SettingsContext& context) {
    return give(
        context.terminal, command.json,
        std::visit([&](const auto& action) { return on(action, context); }, command.action));
}

}  // namespace cli
