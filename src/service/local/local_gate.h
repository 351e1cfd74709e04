// The gate of this machine behind service::Gate.
#pragma once

#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "exec/gate/gate.h"
#include "service/gate.h"
#include "store/store.h"

namespace service {

struct LocalGateParts {
    store::Store& store;
    base::Clock& clock;
    events::Committer committer;
    std::filesystem::path folder;            // <home>/gate
    std::vector<std::string> credentials{};  // What the runtime knows and no document may hold.
    domain::AgentId default_agent;
    // A released document waits in this agent's queue.
    std::function<void(const domain::AgentId&)> wake{};
};

// Any thread may call. Compiling the rules takes a second, so that is left until something is to be
// judged.
class LocalGate final : public Gate {
public:
    explicit LocalGate(LocalGateParts parts);
    LocalGate(const LocalGate&) = delete;
    LocalGate& operator=(const LocalGate&) = delete;

    base::Result<GateVerdict> check(const std::string& file) override;
    base::Result<Listed<domain::GateDocument>> list(std::optional<domain::GatePlace> place,
                                                    const ListQuery& query) override;
    base::Result<GateView> show(const std::string& document_id) override;
    base::Result<domain::GateDocument> release(const std::string& document_id,
                                               const std::string& reason) override;
    base::Result<std::vector<domain::GateDocument>> purge(const PurgeRequest& request) override;

    // For the producers of documents.
    gate::Gate& gate() { return gate_; }

private:
    base::Result<const gate::Validator*> validator();

    LocalGateParts parts_;
    std::mutex validator_mutex_;
    std::optional<gate::Validator> validator_;
    gate::Gate gate_;
};

}  // namespace service
