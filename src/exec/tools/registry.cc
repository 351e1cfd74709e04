#include "exec/tools/registry.h"

#include <algorithm>
#include <iterator>
#include <mutex>
#include <utility>

#include "base/hash.h"

namespace tools {

void Registry::add(std::unique_ptr<Tool> tool) {
    const std::unique_lock lock(mutex_);
    CHECK(!find_locked(tool->spec().name), "two tools of one name");
    if (groups_.empty() || !groups_.back().name.empty()) groups_.emplace_back();
    groups_.back().tools.push_back(std::move(tool));
    version_.clear();
    ++changes_;
}

void Registry::replace(std::string_view group, std::vector<std::unique_ptr<Tool>> tools) {
    const std::unique_lock lock(mutex_);
    auto found = std::ranges::find(groups_, group, &Group::name);
    if (found == groups_.end())
        found = groups_.insert(groups_.end(), Group{.name = std::string(group)});
    std::ranges::move(std::exchange(found->tools, {}), std::back_inserter(replaced_));
    for (auto& tool : tools)
        if (!find_locked(tool->spec().name)) found->tools.push_back(std::move(tool));
    version_.clear();
    ++changes_;
}

Tool* Registry::find_locked(std::string_view name) const {
    for (const auto& group : groups_)
        for (const auto& tool : group.tools)
            if (tool->spec().name == name) return tool.get();
    return nullptr;
}

Tool* Registry::find(std::string_view name) const {
    const std::shared_lock lock(mutex_);
    return find_locked(name);
}

std::vector<const ToolSpec*> Registry::all() const {
    const std::shared_lock lock(mutex_);
    std::vector<const ToolSpec*> specs;
    for (const auto& group : groups_)
        for (const auto& tool : group.tools) specs.push_back(&tool->spec());
    return specs;
}

std::vector<const ToolSpec*> Registry::exposed(domain::ProfilePreset profile) const {
    auto specs = all();
    std::erase_if(specs, [&](const ToolSpec* spec) {
        return !grants(profile, spec->family) || spec->plans_only;
    });
    return specs;
}

std::uint64_t Registry::changes() const {
    const std::shared_lock lock(mutex_);
    return changes_;
}

std::string Registry::version() const {
    {
        const std::shared_lock lock(mutex_);
        if (!version_.empty()) return version_;
    }
    json::array summary;
    const std::unique_lock lock(mutex_);
    for (const auto& group : groups_)
        for (const auto& tool : group.tools)
            summary.push_back(json::array{tool->spec().name, tool->spec().input_schema,
                                          base::enum_name(tool->spec().risk)});
    version_ = base::sha256_hex(base::canonical_json(summary)).substr(0, 16);
    return version_;
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
