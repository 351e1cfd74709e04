// What happened, for everyone: the append-only history of each agent, and its live feed.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "base/ids.h"
#include "domain/events/payload.h"
#include "domain/operators/notifications.h"
#include "store/store.h"

namespace events {

struct Committed {
    domain::AgentId agent_id;
    domain::Event event;
};

// Appends within one transaction and remembers what it appended, so that it can be published once
// the transaction is safe. Lives as long as that transaction.
class Log {
public:
    Log(store::Tx& tx, base::Time now, base::Ids& ids, domain::BriefChannels channels = {})
        : tx_(tx), now_(now), ids_(ids), channels_(channels) {}
    // Appends the event to the history of `agent`, without secrets and credentials. Takes the
    // payload of any kind: append(agent, domain::events::TurnStarted{...}). Fails as the
    // transaction does; then nothing is appended.
    base::Status append(const domain::AgentId& agent, domain::events::Draft draft);
    // What was appended so far, in order; afterwards the log holds none of it.
    std::vector<Committed> take() { return std::move(appended_); }

    store::Tx& tx() { return tx_; }
    base::Time now() const { return now_; }
    base::Ids& ids() { return ids_; }
    // By which channels briefs leave; see briefs::publish.
    domain::BriefChannels brief_channels() const { return channels_; }

private:
    store::Tx& tx_;
    base::Time now_;
    base::Ids& ids_;
    domain::BriefChannels channels_;
    std::vector<Committed> appended_;
};

// Committed events as they come, in order. One thread (the loop's).
class Feed {
public:
    using Listener = std::function<void(const Committed&)>;
    // The subscription ends when the token is dropped. A listener may drop its own.
    [[nodiscard]] std::shared_ptr<void> subscribe(Listener listener);
    void publish(const std::vector<Committed>& events);

private:
    std::list<std::weak_ptr<Listener>> listeners_;
};

}  // namespace events
