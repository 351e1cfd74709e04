#include "surfaces/http/api/answers.h"
#include "surfaces/http/api/bodies.h"
#include "surfaces/http/api/handlers.h"

namespace http_surface::skills {

Answer templates(const Context& context, const Request&) {
    return json_response(base::to_json(TRY(context.service.templates())));
}

Answer list(const Context& context, const Request& request) {
    const auto agent = TRY(agent_of(context, request));
    return json_response(base::to_json(
        InstalledSkills{.agent_id = agent, .skills = TRY(context.service.skills(agent))}));
}

Answer show(const Context& context, const Request& request) {
    return json_response(TRY(context.service.skill(TRY(agent_of(context, request)),
                                                   request.params.find("skill")->second)));
}

Answer install(const Context& context, const Request& request) {
    const auto agent = TRY(agent_of(context, request));
    const auto body = TRY(body_of<SkillInstallBody>(request, base::Unknown::Reject));
    auto name = TRY(context.service.install_skill(agent, body.kind, caller_of(request)));
    return json_response(
        base::to_json(SkillChanged{.agent_id = agent, .skill_name = std::move(name)}));
}

Answer uninstall(const Context& context, const Request& request) {
    const auto agent = TRY(agent_of(context, request));
    const auto body = TRY(body_of<SkillNameBody>(request, base::Unknown::Reject));
    auto name = TRY(context.service.uninstall_skill(agent, body.name, caller_of(request)));
    return json_response(
        base::to_json(SkillChanged{.agent_id = agent, .skill_name = std::move(name)}));
}

}  // namespace http_surface::skills
