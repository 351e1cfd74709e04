#include "surfaces/cli/grammar/options.h"

namespace cli {
namespace {

template <class T>
Added<T> add(CLI::App& group, Invocation& invocation, const char* name, const char* help) {
    return add_to<SettingsCommand, T>(group, invocation, name, help);
}

constexpr const char* kProbeHelp = "Also ask the model a short question";

void add_doctor(CLI::App& group, Invocation& invocation, const char* help) {
    const auto doctor = add<DoctorCommand>(group, invocation, "doctor", help);
    doctor.sub->add_flag("--probe", doctor.action->probe,
                         "Also ask each model a short question, and start the MCP servers");
}

void add_login(CLI::App& app, Invocation& invocation) {
    const auto login =
        add<LoginCommand>(app, invocation, "login", "Store a provider's key, and try it");
    login.sub->add_option("provider", login.action->provider, "For instance anthropic")->required();
    login.sub->add_option("--model", login.action->model,
                          "The model to try, and to use by default from now on");
    login.sub->footer(
        "\nThe key is asked for on a terminal, or read from standard input; it is kept in\n"
        "credentials.json. One short question goes to the model.\n"
        "\nExamples:\n"
        "  holon login anthropic\n"
        "  pass show llm/work | holon login openai --model MODEL");
}

void add_keys(CLI::App& config, Invocation& invocation) {
    const auto get = add<SettingGetCommand>(config, invocation, "get", "Print one stored setting");
    get.sub->add_option("key", get.action->key, "For instance model.default")->required();
    const auto set = add<SettingSetCommand>(config, invocation, "set", "Store one setting");
    set.sub->add_option("key", set.action->key, "For instance model.default")->required();
    set.sub->add_option("value", set.action->value, "Its value")->required();
    const auto unset =
        add<SettingUnsetCommand>(config, invocation, "unset", "Go back to the default");
    unset.sub->add_option("key", unset.action->key, "For instance model.default")->required();
    add<SettingListCommand>(config, invocation, "list", "Print all stored settings");
    add<SettingSchemaCommand>(config, invocation, "schema", "Print all settings that exist");
}

void add_providers(CLI::App& config, Invocation& invocation) {
    auto* group = config.add_subcommand("providers", "Model providers");
    group->require_subcommand(1);
    group->footer(
        "\nExamples:\n"
        "  holon config providers set house --transport openai_chat_completions \\\n"
        "    --base-url https://llm.example.net/v1 --credential-source env \\\n"
        "    --credential-kind api_key --credential-env HOUSE_KEY\n"
        "  holon config providers doctor house --probe");
    const auto set = add<ProviderSetCommand>(*group, invocation, "set", "Add or change one");
    auto& change = set.action->change;
    set.sub->add_option("provider", change.id, "Its id: a-z, 0-9, '-' and '_'")->required();
    set.sub->add_option("--transport", change.transport,
                        "openai_chat_completions, openai_responses, openai_codex_responses or "
                        "anthropic_messages");
    set.sub->add_option("--base-url", change.base_url, "The address of its API");
    set.sub->add_option("--credential-source", change.credential_source,
                        "env, credential_profile, external_cli or none");
    set.sub->add_option("--credential-kind", change.credential_kind,
                        "api_key, bearer_token, oauth, session_token or none");
    set.sub->add_option("--credential-env", change.credential_env,
                        "The variable with the credential");
    set.sub->add_option("--credential-profile", change.credential_profile,
                        "The profile with the credential, see holon config credentials");
    set.sub->add_option("--credential-external", change.credential_external, "codex_cli");
    const auto get = add<ProviderGetCommand>(*group, invocation, "get", "Show one");
    get.sub->add_option("provider", get.action->id, "Its id")->required();
    add<ProviderListCommand>(*group, invocation, "list", "Show all, built in or configured");
    const auto remove = add<ProviderRemoveCommand>(*group, invocation, "remove",
                                                   "Remove one from the configuration");
    remove.sub->add_option("provider", remove.action->id, "Its id")->required();
    const auto doctor = add<ProviderDoctorCommand>(*group, invocation, "doctor",
                                                   "Show whether one can be used, and why not");
    doctor.sub->add_option("provider", doctor.action->id, "Its id")->required();
    doctor.sub->add_flag("--probe", doctor.action->probe, kProbeHelp);
}

void add_credentials(CLI::App& config, Invocation& invocation) {
    auto* group = config.add_subcommand("credentials", "Keys, kept in a private file");
    group->require_subcommand(1);
    group->footer(
        "\nExamples:\n"
        "  holon config credentials set work --kind api_key\n"
        "  pass show llm/work | holon config credentials set work --kind api_key --stdin");
    const auto set = add<CredentialSetCommand>(*group, invocation, "set",
                                               "Store one; asks for it on a terminal");
    set.sub->add_option("profile", set.action->profile, "Its name")->required();
    set.sub->add_option("--kind", set.action->kind, "api_key, bearer_token, oauth or session_token")
        ->required();
    auto* from_stdin =
        set.sub->add_flag("--stdin", set.action->from_stdin, "Read it from standard input");
    set.sub
        ->add_option("--material", set.action->material,
                     "The credential itself; others on this machine may see it")
        ->excludes(from_stdin);
    add<CredentialListCommand>(*group, invocation, "list", "List them, without the secrets");
    const auto remove = add<CredentialRemoveCommand>(*group, invocation, "remove", "Forget one");
    remove.sub->add_option("profile", remove.action->profile, "Its name")->required();
}

}  // namespace

void add_settings(CLI::App& app, Invocation& invocation) {
    auto* config = app.add_subcommand("config", "See and change the configuration");
    config->require_subcommand(1);
    config->footer(
        "\nExamples:\n"
        "  holon config set model.default openrouter/some/model\n"
        "  holon config set runtime.max_output_tokens 4096\n"
        "  holon config doctor --probe");
    add_keys(*config, invocation);
    auto* models = config->add_subcommand("models", "The model catalogue");
    models->require_subcommand(1);
    add<ModelsCommand>(*models, invocation, "list", "List all models");
    add_providers(*config, invocation);
    add_credentials(*config, invocation);
    constexpr const char* kDoctorHelp = "Show what is configured, whether it works, and what to do";
    add_doctor(*config, invocation, kDoctorHelp);
    add_doctor(app, invocation, kDoctorHelp);
    add_login(app, invocation);
    add<ModelsCommand>(app, invocation, "models", "List all models");
}

}  // namespace cli
