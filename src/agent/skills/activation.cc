#include "agent/skills/activation.h"

#include <algorithm>
#include <cctype>

#include "agent/skills/tree.h"

namespace skills {
namespace {

namespace fs = std::filesystem;
using domain::ActivationSource;
using domain::ActivationState;

bool is_path_char(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("_-.+@%~/").contains(c);
}

// The end of `path` in `command` where it stands as a word of its own, or npos. A path that goes on
// is another one, unless `may_continue`.
std::size_t find_path(std::string_view command, std::string_view path, bool may_continue) {
    for (auto at = command.find(path); at != std::string_view::npos;
         at = command.find(path, at + 1)) {
        const auto end = at + path.size();
        const bool begins = at == 0 || !is_path_char(command[at - 1]);
        const bool ends = end == command.size() || !is_path_char(command[end]);
        if (begins && (ends || may_continue)) return end;
    }
    return std::string_view::npos;
}

// How a command may spell the folder, each with a slash at its end; "" for the folder itself.
std::vector<std::string> spellings(const fs::path& folder, const CommandPlace& place) {
    std::vector<std::string> list{folder.string() + "/"};
    const auto add = [&](const fs::path& base, const std::string& prefix) {
        if (base.empty()) return;
        const auto relative = folder.lexically_relative(base);
        if (relative.empty()) return;
        const std::string text = relative == "." ? "" : relative.string() + "/";
        if (prefix.empty()) {
            list.push_back(text);
            list.push_back("./" + text);
        } else if (!text.starts_with("../")) {
            list.push_back(prefix + text);
        }
    };
    add(place.cwd, "");
    add(place.anchor, "");
    for (const char* home : {"~/", "$HOME/", "${HOME}/"}) add(place.user_home, home);
    return list;
}

std::optional<Use> use_of(const domain::Skill& skill, std::string_view command,
                          const CommandPlace& place) {
    const fs::path folder = fs::path(skill.path).parent_path();
    const auto names = spellings(folder, place);
    for (const auto& name : names)
        if (find_path(command, name + kSkillFile, false) != std::string_view::npos)
            return Use{skill, domain::LoadReason::ReadSkillMd, skill.path};
    for (const auto& name : names) {
        const auto end = find_path(command, name + "scripts/", true);
        if (end == std::string_view::npos) continue;
        auto stop = end;
        while (stop < command.size() && is_path_char(command[stop])) ++stop;
        return Use{skill, domain::LoadReason::RunSkillScript,
                   (folder / "scripts" / command.substr(end, stop - end)).string()};
    }
    for (const auto& name : names)
        if (!name.empty() && find_path(command, name + "scripts", false) != std::string_view::npos)
            return Use{skill, domain::LoadReason::RunSkillScript, (folder / "scripts").string()};
    return std::nullopt;
}

}  // namespace

bool may_use_skill(std::string_view command) {
    return command.contains(kSkillFile) || command.contains("scripts");
}

std::vector<Use> uses_of(const Catalogue& catalogue, std::string_view command,
                         const CommandPlace& place) {
    std::vector<Use> uses;
    for (const auto& skill : catalogue.skills)
        if (auto use = use_of(skill, command, place)) uses.push_back(std::move(*use));
    return uses;
}

bool activate(std::vector<domain::ActiveSkill>& active, const Use& use,
              const domain::AgentId& agent, std::int64_t turn_index, const std::string& session) {
    const auto was_active =
        std::erase_if(active, [&](const auto& one) { return one.skill_id == use.skill.skill_id; });
    if (active.size() >= kActiveMax) active.erase(active.begin());  // The one used longest ago.
    active.push_back({.skill_id = use.skill.skill_id,
                      .name = use.skill.name,
                      .path = use.skill.path,
                      .scope = use.skill.scope,
                      .agent_id = agent.value,
                      .activated_at_turn = turn_index,
                      .session = session});
    return was_active > 0;
}

std::vector<domain::ActiveSkill> shown(std::vector<domain::ActiveSkill> active,
                                       const std::string& session) {
    for (auto& skill : active)
        if (skill.session != session && skill.activation_state == ActivationState::SessionActive)
            skill.activation_source = ActivationSource::Restored;
    return active;
}

std::vector<domain::ActiveSkill> at_turn_start(std::vector<domain::ActiveSkill> active,
                                               const std::string& session) {
    std::erase_if(active, [](const auto& skill) {
        return skill.activation_state == ActivationState::TurnActive;
    });
    return shown(std::move(active), session);
}

void promote(std::vector<domain::ActiveSkill>& active) {
    for (auto& skill : active) skill.activation_state = ActivationState::SessionActive;
}

}  // namespace skills
