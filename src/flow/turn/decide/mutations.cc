#include "flow/turn/decide/mutations.h"

#include <algorithm>

#include "agent/workspace/moves.h"
#include "agent/workspace/workspace.h"
#include "flow/admission/follow_up.h"
#include "flow/queue/read_results.h"

namespace turn {
namespace {

void keep_sleep_request(Decided& step, const tools::Mutation& mutation) {
    step.attempt.sleep_request = *mutation.as<domain::SleepRequest>();
}

base::Status append_follow_up(Written& step, const tools::Mutation& mutation) {
    const auto& follow_up = *mutation.as<tools::FollowUp>();
    return admission::append_follow_up(
        step.log, step.message,
        {follow_up.text, follow_up.priority, trust_passed_on(step.message)});
}

base::Status drop_read_result(Written& step, const tools::Mutation& mutation) {
    return queue::drop_read_result(step.log, step.attempt,
                                   mutation.as<tools::ResultRead>()->task_id);
}

void enter_workspace(Decided& step, const tools::Mutation& mutation) {
    const auto& entry = mutation.as<tools::WorkspaceUse>()->entry;
    for (auto& note : workspace::move_to(step.agent, entry)) step.events.push_back(std::move(note));
    step.events.push_back(workspace::place_of(entry));
}

base::Status remember_workspace(Written& step, const tools::Mutation& mutation) {
    const auto& entry = mutation.as<tools::WorkspaceUse>()->entry;
    if (entry.workspace_id == workspace::agent_home_id(step.agent.agent_id)) return {};
    return step.log.tx().put_workspace(workspace::entry_of_project(entry));
}

const std::map<std::type_index, MutationRules>& table() {
    static const std::map<std::type_index, MutationRules> rules{
        {typeid(domain::SleepRequest), {.decide = keep_sleep_request}},
        {typeid(tools::FollowUp), {.write = append_follow_up}},
        {typeid(tools::ResultRead), {.write = drop_read_result}},
        {typeid(tools::WorkspaceUse), {.decide = enter_workspace, .write = remember_workspace}},
    };
    return rules;
}

}  // namespace

const MutationRules& rules_of(const tools::Mutation& mutation) {
    const auto found = table().find(mutation.type());
    CHECK(found != table().end(), "a tool asked for a change that nobody makes");
    return found->second;
}

domain::TrustLevel trust_passed_on(const domain::Message& message) {
    return std::max(message.trust, domain::trust_of(domain::instructed_by(message)));
}

}  // namespace turn
