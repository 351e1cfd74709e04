// What a console shows of one agent, within bounds.
#pragma once

#include <filesystem>
#include <vector>

#include "agent/homes/templates.h"
#include "agent/identity/views.h"
#include "agent/skills/catalogue.h"
#include "store/store.h"

namespace service {

// AgentSummary, with the counts that need the store. NotFound for an unknown or archived agent.
base::Result<json::object> summary_of(store::Tx& tx, const domain::AgentId& agent,
                                      const domain::Execution& execution,
                                      const identity::ModelFacts& models);

// At most `limit` of them, the newest change first.
std::vector<domain::Task> newest_changed(std::vector<domain::Task> tasks, std::int64_t limit);

// What `skills` of a summary is made of.
struct SkillsFacts {
    skills::Catalogue catalogue;
    std::vector<domain::ActiveSkill> active;
    std::vector<homes::CatalogueEntry> templates;
};
// Adds SkillsRuntimeView, and the active skills to the state of the agent.
void add_skills(json::object& summary, const SkillsFacts& facts);

// The guidance files that a turn would be given now, by where they lie.
void add_guidance_sources(json::object& summary, const std::filesystem::path& user_home,
                          const std::filesystem::path& agent_home);

// What a console starts from: the summary, and in addition only what it draws at once. Of that
// three parts repeat facts of the summary. `workspace`: they change together, so that a client
// replaces all of them by one event. `session`: as `workspace`, for what each turn changes.
// `execution`: clients of the reference read it here, too.
base::Result<json::object> state_view(store::Tx& tx, const domain::AgentId& agent,
                                      const domain::Execution& execution,
                                      const identity::ModelFacts& models);

}  // namespace service
