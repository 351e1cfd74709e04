#include <filesystem>

#include "base/text.h"
#include "surfaces/cli/actions/actions.h"
#include "surfaces/show/table.h"

namespace cli {
namespace {

constexpr std::size_t kDescriptionColumn = 60;

std::string short_text(const json::object& entry, const char* field) {
    return base::printable(base::ellipsize(base::collapse_whitespace(base::string_at(entry, field)),
                                           kDescriptionColumn));
}

// What the operator named: a folder that exists, an address, or a name.
service::SkillInstall request_of(const SkillCommand& command, const Context& context) {
    using Kind = service::SkillInstallKind;
    service::SkillInstall request{.mode = command.copy ? service::SkillInstallMode::Copied
                                                       : service::SkillInstallMode::Linked};
    if (command.builtin) {
        request = {.kind = Kind::Builtin, .name = command.name};
    } else if (command.remote || command.name.contains("://")) {
        request.kind = Kind::Remote;
        request.package = command.name;
        request.skill = command.skill;
    } else if (std::error_code failed;
               std::filesystem::is_directory(context.cwd / command.name, failed) ||
               command.name.starts_with('/')) {
        request.kind = Kind::Local;
        request.path = (context.cwd / command.name).lexically_normal().string();
    } else {
        request.name = command.name;
    }
    return request;
}

Exit list_skills(const SkillCommand& command, const Context& context) {
    const std::string agent = agent_of(command.agent, context);
    const auto skills = context.service.skills(agent);
    if (!skills) return report(context.terminal, skills.error());
    if (wants_json(context, command.json)) {
        json::array list;
        for (const auto& skill : *skills) list.push_back(skill);
        return answer(context, command.json,
                      json::object{{"ok", true}, {"agent_id", agent}, {"skills", std::move(list)}},
                      "");
    }
    for (const auto& skill : *skills) {
        const bool is_broken = skill.contains("warning");
        context.terminal.print_line(fmt::format(
            "{:<28} {:<8} {}", short_text(skill, "name"), short_text(skill, "install_mode"),
            is_broken ? "broken: " + short_text(skill, "warning")
                      : short_text(skill, "description")));
    }
    if (skills->empty())
        context.terminal.note(
            "The agent has no skills of its own. Install one with: holon skills "
            "install PATH");
    return Exit::Success;
}

Exit show_skill(const SkillCommand& command, const Context& context) {
    const auto skill = context.service.skill(agent_of(command.agent, context), command.name);
    if (!skill) return report(context.terminal, skill.error());
    return answer(context, command.json, *skill,
                  fmt::format("{} ({})\n{}\n\n{}", base::printable(base::string_at(*skill, "name")),
                              base::printable(base::string_at(*skill, "skill_id")),
                              base::printable(base::string_at(*skill, "path")),
                              base::printable(base::string_at(*skill, "text"), true)));
}

Exit changed_skill(const base::Result<std::string>& name, const SkillCommand& command,
                   const Context& context, const char* done) {
    if (!name) return report(context.terminal, name.error());
    const std::string agent = agent_of(command.agent, context);
    return answer(
        context, command.json,
        json::object{{"ok", true}, {"agent_id", agent}, {"skill_name", *name}},
        fmt::format("skill {} {} agent {}", base::printable(*name), done, base::printable(agent)));
}

}  // namespace

Exit on(const TemplatesCommand& command, const Context& context) {
    const auto templates = context.service.templates();
    if (!templates) return report(context.terminal, templates.error());
    if (wants_json(context, command.json)) {
        json::array list;
        for (const auto& entry : *templates) list.push_back(entry);
        return answer(context, command.json, list, "");
    }
    show::Rows rows;
    for (const auto& entry : *templates)
        rows.push_back({short_text(entry, "template_id"), short_text(entry, "source"),
                        short_text(entry, "description")});
    context.terminal.print_line(show::table(rows, out_columns(context.terminal)));
    return Exit::Success;
}

Exit on(const SkillCommand& command, const Context& context) {
    const std::string agent = agent_of(command.agent, context);
    switch (command.verb) {
        case SkillVerb::List:
            return list_skills(command, context);
        case SkillVerb::Show:
            return show_skill(command, context);
        case SkillVerb::Install:
            return changed_skill(
                context.service.install_skill(agent, request_of(command, context), context.caller),
                command, context, "is installed for");
        case SkillVerb::Uninstall:
            return changed_skill(
                context.service.uninstall_skill(agent, command.name, context.caller), command,
                context, "is removed from");
    }
    return Exit::Success;
}

}  // namespace cli
