#include "flow/turn/offers.h"

#include "exec/tools/policy/flow_policy.h"

namespace turn {

context::Offer Offers::of(const tools::Registry& registry, const domain::Agent& agent,
                          domain::AuthorityClass authority) {
    const Terms terms{.profile = agent.identity.profile_preset,
                      .has_commands = agent.execution.process_execution_exposed,
                      .is_external = tools::is_external(authority)};
    const std::scoped_lock lock(mutex_);
    // Before the tools are read: a change in between makes the offer again.
    if (const auto changes = registry.changes(); changes != changes_) {
        made_.clear();
        changes_ = changes;
    }
    const auto found = made_.find(terms);
    if (found != made_.end()) return found->second;
    return made_.emplace(terms, make(registry, terms)).first->second;
}

context::Offer Offers::make(const tools::Registry& registry, const Terms& terms) {
    std::vector<provider::ToolDeclaration> list;
    for (const auto* spec : registry.exposed(terms.profile)) {
        if (spec->risk == domain::RiskLevel::Commands && !terms.has_commands) continue;
        list.push_back({spec->name, spec->description, spec->input_schema, spec->freeform_patch,
                        spec->web_search && !terms.is_external});
    }
    return context::offer_of(std::move(list));
}

}  // namespace turn
