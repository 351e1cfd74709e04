#include "record/events/events.h"

#include "base/scan/secrets.h"
#include "record/events/redact.h"

namespace events {

base::Status Log::append(const domain::AgentId& agent, domain::events::Draft draft) {
    domain::Event event{.id = ids_.fresh<domain::EventId>(),
                        .created_at = now_,
                        .kind = std::move(draft.kind),
                        .data = std::move(draft.data)};
    redact_secrets(event.data);
    scan::remove_spelled_credentials(event.data);
    event.event_seq = TRY(tx_.append_event(agent, event));
    appended_.push_back({agent, std::move(event)});
    return {};
}

std::shared_ptr<void> Feed::subscribe(Listener listener) {
    auto token = std::make_shared<Listener>(std::move(listener));
    listeners_.push_back(token);
    return token;
}

void Feed::publish(const std::vector<Committed>& events) {
    for (const auto& event : events) {
        for (auto entry = listeners_.begin(); entry != listeners_.end();) {
            if (const auto listener = entry->lock()) {
                (*listener)(event);
                ++entry;
            } else {
                entry = listeners_.erase(entry);
            }
        }
    }
}

}  // namespace events
