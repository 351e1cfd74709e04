#include "record/briefs/briefs.h"

#include "base/scan/secrets.h"
#include "base/text.h"
#include "domain/events/messages.h"
#include "record/briefs/deliveries.h"

namespace briefs {
namespace {

bool is_delivered(const domain::Brief& brief) {
    return brief.visibility == domain::BriefVisibility::ActionRequired ||
           brief.visibility == domain::BriefVisibility::WorkDone;
}

base::Status deliver(events::Log& log, const domain::Brief& brief) {
    if (!is_delivered(brief)) return {};
    const auto by = [&](domain::DeliveryChannel channel, std::string_view setting) {
        const auto id = "odi_" + log.ids().hex32();
        return submit(log,
                      {.delivery_intent_id = id,
                       .output_event_id = brief.id.value,
                       .agent_id = brief.agent_id,
                       .channel = channel,
                       .route_id = std::string(setting),
                       .trigger_kind = "brief"},
                      delivered_brief(brief, id));
    };
    if (log.brief_channels().command) TRY(by(domain::DeliveryChannel::Command, kCommandSetting));
    if (log.brief_channels().webhook) TRY(by(domain::DeliveryChannel::Webhook, kWebhookSetting));
    return {};
}

}  // namespace

base::Status publish(events::Log& log, const domain::Agent& agent,
                     domain::AgentStatistics& statistics, domain::Brief brief) {
    if (brief.id.empty()) brief.id = log.ids().fresh<domain::BriefId>();
    brief.agent_id = agent.agent_id;
    brief.created_at = log.now();
    brief.text = scan::without_credentials(std::move(brief.text));
    if (brief.workspace_id.empty() && agent.active_workspace_entry)
        brief.workspace_id = agent.active_workspace_entry->workspace_id;
    TRY(log.tx().append_brief(brief));
    statistics.last_brief_at = brief.created_at;
    TRY(log.append(agent.agent_id, domain::events::BriefCreated{brief}));
    // What a child says reaches its parent.
    return domain::is_supervised(agent) ? base::Status{} : deliver(log, brief);
}

domain::Brief ack(const domain::Agent& agent, const domain::Message& message) {
    const std::string preview = base::collapse_whitespace(domain::readable(message.body));
    return {.agent_id = agent.agent_id,
            .kind = domain::BriefKind::Ack,
            .text = std::string(kAckPrefix) + base::ellipsize(preview, kAckPreviewChars),
            .related_message_id = message.id};
}

}  // namespace briefs
