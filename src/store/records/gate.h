// Documents of the result gate. They belong to their folders and outlive the agent that asked.
#pragma once

#include "domain/gate.h"
#include "store/records/types.h"

namespace store {

class GateRecords {
public:
    virtual ~GateRecords() = default;

    // Inserts or replaces, by document id.
    virtual Status put_gate_document(const domain::GateDocument& document) = 0;
    virtual Result<std::optional<domain::GateDocument>> gate_document(
        const std::string& document_id) = 0;
    // Newest first; those of one place when it is given; those before `before` unless it is empty.
    // cursor_not_found (NotFound) when there is no such document.
    virtual Result<std::vector<domain::GateDocument>> gate_documents(
        std::optional<domain::GatePlace> place, std::int64_t limit, const std::string& before) = 0;
};

}  // namespace store
