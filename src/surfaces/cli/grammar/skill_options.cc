#include "surfaces/cli/grammar/options.h"

namespace cli {
namespace {

Added<SkillCommand> add_skill_verb(CLI::App& skills, Invocation& invocation, SkillVerb verb,
                                   const char* name, const char* help) {
    auto added = add_command<SkillCommand>(skills, invocation, name, help);
    added.action->verb = verb;
    return added;
}

}  // namespace

void add_skills(CLI::App& app, Invocation& invocation) {
    auto* templates = app.add_subcommand("templates", "What agents can be created from");
    templates->require_subcommand(1);
    templates->footer("\nExample:\n  holon templates list");
    add_command<TemplatesCommand>(*templates, invocation, "list", "List the templates");

    auto* skills = app.add_subcommand("skills", "The skills of an agent");
    skills->require_subcommand(1);
    skills->footer(
        "\nExamples:\n"
        "  holon skills list --agent main\n"
        "  holon skills install ./my-skill --copy\n"
        "  holon skills install --remote owner/repo@skill");
    add_skill_verb(*skills, invocation, SkillVerb::List, "list", "List the agent's own skills");
    const auto show = add_skill_verb(*skills, invocation, SkillVerb::Show, "show",
                                     "Show a skill that the agent can discover");
    show.sub->add_option("name", show.action->name, "Its name or id")->required();
    const auto install =
        add_skill_verb(*skills, invocation, SkillVerb::Install, "install", "Install a skill");
    install.sub
        ->add_option("name", install.action->name,
                     "A folder, the name of a builtin skill or of one of yours, or with --remote "
                     "owner/repo@skill or the URL of a folder on GitHub")
        ->required();
    install.sub->add_flag("--builtin", install.action->builtin, "Only one of the builtin skills");
    install.sub->add_flag("--remote", install.action->remote, "Fetch it from GitHub");
    install.sub->add_option("--skill", install.action->skill, "Which skill of the repository");
    install.sub->add_flag("--copy", install.action->copy, "Copy the folder instead of linking it");
    install.sub->callback([&invocation, action = install.action] {
        if (action->builtin && (action->remote || action->skill))
            throw CLI::ExcludesError("--builtin", action->remote ? "--remote" : "--skill");
        if (action->skill && !action->remote) throw CLI::RequiresError("--skill", "--remote");
        invocation.command = Command(*action);
    });
    const auto uninstall = add_skill_verb(*skills, invocation, SkillVerb::Uninstall, "uninstall",
                                          "Remove one of the agent's own skills");
    uninstall.sub->add_option("name", uninstall.action->name, "The name of its folder")->required();
}

}  // namespace cli
