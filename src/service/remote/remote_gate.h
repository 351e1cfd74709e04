// The gate of a runtime in another process, over its control surface.
#pragma once

#include "service/gate.h"
#include "service/remote/client.h"

namespace service {

class RemoteGate final : public Gate {
public:
    explicit RemoteGate(Address address) : client_(std::move(address)) {}

    // The daemon reads `file`.
    base::Result<GateVerdict> check(const std::string& file) override;
    base::Result<Listed<domain::GateDocument>> list(std::optional<domain::GatePlace> place,
                                                    const ListQuery& query) override;
    base::Result<GateView> show(const std::string& document_id) override;
    base::Result<domain::GateDocument> release(const std::string& document_id,
                                               const std::string& reason) override;
    base::Result<std::vector<domain::GateDocument>> purge(const PurgeRequest& request) override;

private:
    base::Result<json::value> post(std::string path, const json::value& body) const;

    Client client_;
};

}  // namespace service
