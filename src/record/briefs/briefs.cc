#include "record/briefs/briefs.h"

#include "base/scan/secrets.h"
#include "base/text.h"
#include "domain/events/messages.h"

namespace briefs {

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
    return log.append(agent.agent_id, domain::events::BriefCreated{std::move(brief)});
}

domain::Brief ack(const domain::Agent& agent, const domain::Message& message) {
    const std::string preview = base::collapse_whitespace(domain::readable(message.body));
    return {.agent_id = agent.agent_id,
            .kind = domain::BriefKind::Ack,
            .text = std::string(kAckPrefix) + base::ellipsize(preview, kAckPreviewChars),
            .related_message_id = message.id};
}

}  // namespace briefs
