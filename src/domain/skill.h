// A skill: a folder with a SKILL.md that says how to do something, and what is known of its use.
#pragma once

#include <optional>
#include <string>

#include "base/typed.h"

namespace domain {

enum class SkillScope { User, Agent, Workspace };
BOOST_DESCRIBE_ENUM(SkillScope, User, Agent, Workspace)

// A skill that was found. `path` is that of its SKILL.md.
struct Skill {
    std::string skill_id;  // "<scope>:<folder>"
    std::string name;
    std::optional<std::string> description{};
    std::string path;
    SkillScope scope{SkillScope::Agent};
    friend bool operator==(const Skill&, const Skill&) = default;
};
BOOST_DESCRIBE_STRUCT(Skill, (), (skill_id, name, description, path, scope))

struct SkillRoot {
    SkillScope scope{SkillScope::Agent};
    std::string path;
    friend bool operator==(const SkillRoot&, const SkillRoot&) = default;
};
BOOST_DESCRIBE_STRUCT(SkillRoot, (), (scope, path))

// ImplicitFromCatalog: the agent used a skill that it was shown. Restored: it did so before this
// runtime started. The others are reserved.
enum class ActivationSource { Explicit, ImplicitFromCatalog, Restored, Inherited };
BOOST_DESCRIBE_ENUM(ActivationSource, Explicit, ImplicitFromCatalog, Restored, Inherited)
// TurnActive: used in the open turn. SessionActive: used in a turn that completed.
enum class ActivationState { TurnActive, SessionActive };
BOOST_DESCRIBE_ENUM(ActivationState, TurnActive, SessionActive)
// PromptInjection is reserved: no SKILL.md is put into a prompt.
enum class LoadReason { ReadSkillMd, RunSkillScript, PromptInjection };
BOOST_DESCRIBE_ENUM(LoadReason, ReadSkillMd, RunSkillScript, PromptInjection)

struct ActiveSkill {
    std::string skill_id;
    std::string name;
    std::string path;
    SkillScope scope{SkillScope::Agent};
    std::string agent_id;
    ActivationSource activation_source{ActivationSource::ImplicitFromCatalog};
    ActivationState activation_state{ActivationState::TurnActive};
    std::int64_t activated_at_turn{0};
    std::string session{};  // The runtime that it was activated in; see turn::Parts.
    friend bool operator==(const ActiveSkill&, const ActiveSkill&) = default;
};
BOOST_DESCRIBE_STRUCT(ActiveSkill, (),
                      (skill_id, name, path, scope, agent_id, activation_source, activation_state,
                       activated_at_turn, session))

}  // namespace domain
