// What operators read of agents. Nothing here starts an agent, makes one or writes anything; the
// operations are those that service.h promises.
#pragma once

#include <list>
#include <map>
#include <mutex>

#include "agent/homes/homes.h"
#include "agent/identity/views.h"
#include "flow/turn/runner.h"
#include "service/local/agents/capabilities.h"
#include "service/local/agents/transactions.h"
#include "service/service.h"

namespace service {

// The references are the service's and outlive this. Any thread may call.
class LocalReads {
public:
    struct Parts {
        Transactions& transactions;
        const turn::Parts& turn;  // Clock, ids, tools, and where agents live.
        const identity::ModelFacts& models;
        const Capabilities& capabilities;
        const homes::Homes& homes;
        const std::optional<std::int64_t>& agent_tokens_max;  // What each agent may spend.
    };
    explicit LocalReads(Parts parts);

    base::Result<json::object> status(const std::string& agent) const;
    base::Result<std::vector<std::string>> agents() const;
    base::Result<std::vector<json::object>> agent_list(const AgentsQuery& query) const;
    base::Result<json::object> state(const std::string& agent) const;
    base::Result<std::vector<domain::Task>> tasks(const std::string& agent,
                                                  std::int64_t limit) const;
    base::Result<Listed<domain::Timer>> timers(const std::string& agent,
                                               const ListQuery& query) const;
    base::Result<json::object> activity() const;
    base::Result<std::string> debug_prompt(const std::string& agent, const std::string& text,
                                           domain::TrustLevel trust) const;
    base::Result<json::object> model(const std::string& agent) const;
    base::Result<Listed<domain::TranscriptEntry>> transcript(const std::string& agent,
                                                             const ListQuery& query) const;
    base::Result<Listed<domain::Brief>> briefs(const std::string& agent,
                                               const ListQuery& query) const;
    base::Result<std::vector<domain::Event>> events(const std::string& agent,
                                                    std::int64_t after_seq,
                                                    std::int64_t limit) const;
    base::Result<std::vector<domain::Event>> event_page(const std::string& agent,
                                                        const EventsQuery& query) const;
    base::Result<std::int64_t> newest_event(const std::string& agent) const;
    std::shared_ptr<void> watch(const std::string& agent,
                                std::function<void(std::int64_t newest_seq)> changed);

private:
    struct Watcher;
    template <class T>
    using HistoryRead = base::Result<std::vector<store::Numbered<T>>> (store::HistoryRecords::*)(
        const domain::AgentId& agent, const store::Page& page);
    template <class T>
    base::Result<Listed<T>> history(const std::string& agent, const ListQuery& query,
                                    HistoryRead<T> read) const;
    void notify(const events::Committed& committed);
    // What is read from files: guidance and skills of the agent.
    void add_files(json::object& summary, const domain::Agent& agent) const;

    Parts parts_;
    std::mutex watchers_mutex_;
    std::map<std::string, std::list<std::weak_ptr<Watcher>>> watchers_;
    std::shared_ptr<void> subscription_;
};

}  // namespace service
