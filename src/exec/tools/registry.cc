#include "exec/tools/registry.h"

#include "base/hash.h"

namespace tools {

void Registry::add(std::unique_ptr<Tool> tool) {
    CHECK(!find(tool->spec().name), "two tools of one name");
    tools_.push_back(std::move(tool));
}

Tool* Registry::find(std::string_view name) const {
    for (const auto& tool : tools_)
        if (tool->spec().name == name) return tool.get();
    return nullptr;
}

std::vector<const ToolSpec*> Registry::all() const {
    std::vector<const ToolSpec*> specs;
    for (const auto& tool : tools_) specs.push_back(&tool->spec());
    return specs;
}

std::vector<const ToolSpec*> Registry::exposed(domain::ProfilePreset profile) const {
    std::vector<const ToolSpec*> specs;
    for (const auto& tool : tools_)
        if (grants(profile, tool->spec().family) && !tool->spec().plans_only)
            specs.push_back(&tool->spec());
    return specs;
}

std::string Registry::version() const {
    json::array summary;
    for (const auto* spec : all())
        summary.push_back(json::array{spec->name, spec->input_schema, base::enum_name(spec->risk)});
    return base::sha256_hex(base::canonical_json(summary)).substr(0, 16);
}

bool grants(domain::ProfilePreset profile, Family family) {
    switch (family) {
        case Family::CoreAgent:
        case Family::LocalEnvironment:
        case Family::Web:
        case Family::OperatorNotification:
        case Family::AgentCreation:  // How deep agents may delegate is a limit of its own.
            return true;
        case Family::AuthorityExpanding:
            return profile == domain::ProfilePreset::PublicNamed;
    }
    return false;
}

}  // namespace tools
