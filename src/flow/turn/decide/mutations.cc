#include "flow/turn/decide/mutations.h"

#include <algorithm>

#include "agent/workspace/moves.h"
#include "agent/workspace/workspace.h"
#include "domain/events/tools.h"
#include "flow/admission/follow_up.h"
#include "flow/notify/notify.h"
#include "flow/queue/read_results.h"
#include "flow/supervision/supervision.h"
#include "flow/turn/skill_uses.h"
#include "flow/work_items/work_items.h"

namespace turn {
namespace {

void keep_sleep_request(Decided& step, const tools::Mutation& mutation) {
    const auto& request = *mutation.as<domain::SleepRequest>();
    step.attempt.sleep_request = request;
    if (domain::is_short(request)) admission::count_follow_up(step.statistics, step.now);
}

void count_follow_up(Decided& step, const tools::Mutation&) {
    admission::count_follow_up(step.statistics, step.now);
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

// The tool has decided on a snapshot. When the operator has changed the item since, so that the
// change no longer applies, the item stays as the operator left it.
template <class T>
base::Status unless_refused(const base::Result<T>& made) {
    if (made || made.error().code == base::ErrorCode::NotFound ||
        made.error().code == base::ErrorCode::Conflict)
        return {};
    return std::unexpected(made.error());
}

base::Status create_work_item(Written& step, const tools::Mutation& mutation) {
    auto made = *mutation.as<work::NewItem>();
    made.trust = trust_passed_on(step.message);
    TRY(work_items::create(step.log, made));
    return {};
}

base::Status update_work_item(Written& step, const tools::Mutation& mutation) {
    auto change = *mutation.as<work::Update>();
    change.trust = trust_passed_on(step.message);
    return unless_refused(work_items::update(step.log, step.agent, change));
}

base::Status pick_work_item(Written& step, const tools::Mutation& mutation) {
    return unless_refused(work_items::pick(step.log, step.agent, *mutation.as<work::Pick>()));
}

base::Status complete_work_item(Written& step, const tools::Mutation& mutation) {
    return unless_refused(
        work_items::complete(step.log, step.agent, *mutation.as<work::Complete>()));
}

base::Status promote_report(Written& step, const tools::Mutation& mutation) {
    return work_items::promote(step.log, *mutation.as<work::Promote>());
}

// An external sender may have put these words into the agent's mouth: the operator has to see that.
std::string labelled(const domain::Message& cause, const std::string& text) {
    if (trust_passed_on(cause) <= domain::TrustLevel::TrustedSystem) return text;
    return std::string(kExternalLabel) + text;
}

// The notification as the operator reads it everywhere.
void tell_operator(Decided& step, const tools::Mutation& mutation) {
    const auto& notification = *mutation.as<domain::OperatorNotification>();
    step.briefs.push_back({.work_item_id = notification.work_item_id,
                           .kind = domain::BriefKind::Result,
                           .visibility = domain::BriefVisibility::ActionRequired,
                           .text = labelled(step.message, notification.message),
                           .related_message_id = step.attempt.message_id});
}

base::Status request_notification(Written& step, const tools::Mutation& mutation) {
    auto notification = *mutation.as<domain::OperatorNotification>();
    notification.message = labelled(step.message, notification.message);
    notification.summary = labelled(step.message, notification.summary);
    notification.causation_id = step.message.id.value;
    notification.correlation_id = step.message.correlation_id;
    if (domain::is_supervised(step.agent))
        return supervision::notify_parent(step.log, step.agent, std::move(notification));
    return notify::request(step.log, notification, step.attempt.operator_route);
}

supervision::Asking asking_of(const Written& step) {
    return {step.agent, step.attempt, step.message, trust_passed_on(step.message)};
}

base::Status spawn_child(Written& step, const tools::Mutation& mutation) {
    return supervision::spawn(step.log, asking_of(step), *mutation.as<tools::SpawnChild>());
}

base::Status spawn_named(Written& step, const tools::Mutation& mutation) {
    return supervision::introduce(step.log, asking_of(step), *mutation.as<tools::SpawnNamed>());
}

base::Status tell_child(Written& step, const tools::Mutation& mutation) {
    return supervision::follow_up(step.log, asking_of(step), *mutation.as<tools::ChildInput>());
}

void activate_skill(Decided& step, const tools::Mutation& mutation) {
    const auto& [use, session] = *mutation.as<SkillUsed>();
    const bool was_active = skills::activate(step.agent.active_skills, use, step.agent.agent_id,
                                             step.attempt.turn_index, session);
    const auto& active = step.agent.active_skills.back();
    step.events.push_back(
        domain::events::SkillActivated{.agent_id = step.agent.agent_id,
                                       .skill_id = use.skill.skill_id,
                                       .skill_name = use.skill.name,
                                       .path = use.path,
                                       .entrypoint_path = use.skill.path,
                                       .scope = use.skill.scope,
                                       .activation_source = active.activation_source,
                                       .activation_state = active.activation_state,
                                       .load_reason = use.reason,
                                       .turn_index = step.attempt.turn_index,
                                       .run_id = step.attempt.run_id,
                                       .repeated = was_active});
}

const std::map<std::type_index, MutationRules>& table() {
    static const std::map<std::type_index, MutationRules> rules{
        {typeid(domain::SleepRequest), {.decide = keep_sleep_request}},
        {typeid(tools::FollowUp), {.decide = count_follow_up, .write = append_follow_up}},
        {typeid(tools::ResultRead), {.write = drop_read_result}},
        {typeid(tools::WorkspaceUse), {.decide = enter_workspace, .write = remember_workspace}},
        {typeid(work::NewItem), {.write = create_work_item}},
        {typeid(work::Update), {.write = update_work_item}},
        {typeid(work::Pick), {.write = pick_work_item}},
        {typeid(work::Complete), {.write = complete_work_item}},
        {typeid(work::Promote), {.write = promote_report}},
        {typeid(domain::OperatorNotification),
         {.decide = tell_operator, .write = request_notification}},
        {typeid(SkillUsed), {.decide = activate_skill}},
        {typeid(tools::SpawnChild), {.write = spawn_child}},
        {typeid(tools::SpawnNamed), {.write = spawn_named}},
        {typeid(tools::ChildInput), {.write = tell_child}},
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
