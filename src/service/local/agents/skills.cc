#include "service/local/agents/skills.h"

#include <algorithm>

#include "agent/skills/builtin_skills.h"
#include "agent/skills/catalogue.h"
#include "agent/skills/install.h"
#include "base/os/fs/open_path.h"
#include "base/text.h"
#include "domain/events/control.h"

namespace service {
namespace {

using base::ErrorCode;
using base::fail;

constexpr std::size_t kShownBytesMax = 256 * 1024;

base::Status check_caller(const Caller& caller) {
    if (caller.admission == domain::AdmissionContext::ControlAuthenticated ||
        caller.admission == domain::AdmissionContext::LocalProcess)
        return {};
    return fail(ErrorCode::Refused, "only the operator may do this");
}

std::unexpected<base::Error> lacks(const char* field, SkillInstallKind kind) {
    return fail(ErrorCode::InvalidInput, "to install a {} skill, give its {}",
                base::enum_name(kind), field);
}

}  // namespace

base::Result<domain::Agent> LocalSkills::agent_of(const std::string& agent) const {
    domain::Agent known;
    TRY(parts_.transactions.read([&](store::Tx& tx) -> base::Status {
        known = TRY(known_agent(tx, domain::AgentId{agent}));
        return {};
    }));
    return known;
}

base::Result<std::vector<json::object>> LocalSkills::list(const std::string& agent) const {
    const auto known = TRY(agent_of(agent));
    std::vector<json::object> list;
    for (const auto& skill : skills::list_installed(parts_.turn.home_of(known.agent_id)))
        list.push_back(base::to_json(skill).as_object());
    return list;
}

base::Result<json::object> LocalSkills::show(const std::string& agent,
                                             const std::string& name) const {
    const auto known = TRY(agent_of(agent));
    const auto catalogue = skills::discover(
        skills::places_of(known, parts_.turn.user_home, parts_.turn.home_of(known.agent_id)));
    const auto found = std::ranges::find_if(catalogue.skills, [&](const domain::Skill& skill) {
        return skill.skill_id == name || skill.name == name || skill.skill_id.ends_with(":" + name);
    });
    if (found == catalogue.skills.end())
        return fail(ErrorCode::NotFound, "agent {} discovers no skill {}; see holon skills list",
                    agent, base::printable(name));
    json::object view = base::to_json(*found).as_object();
    const std::filesystem::path folder = std::filesystem::path(found->path).parent_path();
    view["text"] =
        base::to_utf8(TRY(base::read_file_beneath(folder, skills::kSkillFile, kShownBytesMax)));
    return view;
}

base::Result<std::string> LocalSkills::put_folder(const domain::AgentId& agent,
                                                  const std::filesystem::path& folder,
                                                  SkillInstallMode mode) const {
    const auto home = parts_.turn.home_of(agent);
    const bool is_confined =
        parts_.turn.execution_of(agent).backend != domain::SandboxBackend::HostLocal;
    if (mode == SkillInstallMode::Linked && !is_confined) return skills::install_link(home, folder);
    return skills::install_copy(home, TRY(skills::read_tree(folder)));
}

base::Result<std::string> LocalSkills::put(const domain::AgentId& agent,
                                           const SkillInstall& request) const {
    const auto home = parts_.turn.home_of(agent);
    const auto mode = request.mode.value_or(SkillInstallMode::Linked);
    switch (request.kind) {
        case SkillInstallKind::Builtin:
        case SkillInstallKind::Named:
            if (!request.name) return lacks("name", request.kind);
            if (const auto* builtin = skills::find_builtin(*request.name))
                return skills::install_copy(home, *builtin);
            if (request.kind == SkillInstallKind::Builtin)
                return fail(ErrorCode::NotFound,
                            "there is no builtin skill {}; there are ghx, github-issue-solve, "
                            "github-pr-fix and github-review",
                            base::printable(*request.name));
            return put_folder(agent, TRY(skills::find_named(parts_.turn.user_home, *request.name)),
                              mode);
        case SkillInstallKind::Local:
            if (!request.path || !request.path->starts_with('/'))
                return lacks("absolute path", request.kind);
            return put_folder(agent, *request.path, mode);
        case SkillInstallKind::Remote: {
            if (!request.package) return lacks("package", request.kind);
            skills::Github github(parts_.fetch, parts_.github_api);
            auto tree = skills::read_remote(github, *request.package, request.skill);
            if (tree) return skills::install_copy(home, *tree);
            auto error = tree.error();
            if (error.code == ErrorCode::Unavailable) {
                error.kind = "remote_skill_install_failed";
                error.details = {{"package", *request.package}};
            }
            return std::unexpected(std::move(error));
        }
    }
    return fail(ErrorCode::InvalidInput, "this kind of skill is not known");
}

base::Result<std::string> LocalSkills::install(const std::string& agent,
                                               const SkillInstall& request, const Caller& caller) {
    TRY(check_caller(caller));
    const auto known = TRY(agent_of(agent));
    const auto name = TRY(put(known.agent_id, request));
    TRY(parts_.transactions.write([&](events::Log& log) -> base::Status {
        return log.append(known.agent_id, domain::events::SkillInstalled{
                                              .target_agent_id = known.agent_id,
                                              .skill_name = name,
                                              .kind = std::string(base::enum_name(request.kind))});
    }));
    return name;
}

base::Result<std::string> LocalSkills::uninstall(const std::string& agent, const std::string& name,
                                                 const Caller& caller) {
    TRY(check_caller(caller));
    const auto known = TRY(agent_of(agent));
    TRY(skills::uninstall(parts_.turn.home_of(known.agent_id), name));
    TRY(parts_.transactions.write([&](events::Log& log) -> base::Status {
        // What is gone is not active.
        auto stored = TRY(known_agent(log.tx(), known.agent_id));
        if (std::erase_if(stored.active_skills, [&](const domain::ActiveSkill& skill) {
                return skill.skill_id == "agent:" + name;
            }) > 0)
            TRY(log.tx().put_agent(stored));
        return log.append(known.agent_id,
                          domain::events::SkillUninstalled{.target_agent_id = known.agent_id,
                                                           .skill_name = name});
    }));
    return name;
}

}  // namespace service
