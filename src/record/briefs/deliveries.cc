#include "record/briefs/deliveries.h"

#include "base/text.h"
#include "domain/events/operators.h"

namespace briefs {

base::Status submit(events::Log& log, domain::OperatorDelivery delivery, const std::string& body) {
    delivery.next_attempt_at = delivery.created_at = delivery.updated_at = log.now();
    TRY(log.tx().add_delivery(delivery, body));
    return log.append(delivery.agent_id, domain::events::OperatorDeliverySubmitted{{delivery}});
}

std::string delivered_brief(const domain::Brief& brief, const std::string& delivery_id) {
    json::object sent{{"delivery_id", delivery_id}};
    for (const auto& member : base::to_json(brief).as_object()) sent[member.key()] = member.value();
    if (base::char_count(brief.text) > kDeliveredTextChars) {
        sent["text"] = base::ellipsize(brief.text, kDeliveredTextChars);
        sent["text_truncated"] = true;
    }
    return base::json_text(sent);
}

}  // namespace briefs
