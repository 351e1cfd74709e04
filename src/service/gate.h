// The gate as operators see it: what waits, what was let in or kept out and why, and the two things
// that only a person decides.
//
// No secret crosses this interface: reasons have secrets taken out, and texts of documents stay in
// their folders.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "domain/gate.h"
#include "service/list.h"

namespace service {

struct GateVerdict {
    domain::GateOutcome outcome{domain::GateOutcome::Reject};
    std::string document_sha256;
    std::vector<domain::GateReason> reasons{};
};
BOOST_DESCRIBE_STRUCT(GateVerdict, (), (outcome, document_sha256, reasons))

struct GateView {
    domain::GateDocument document;
    std::optional<std::string> folder{};  // None when there is nothing on disk any more.
};
BOOST_DESCRIBE_STRUCT(GateView, (), (document, folder))

// Which rejected documents to delete: one, or all that were judged so many days ago.
struct PurgeRequest {
    std::optional<std::string> document_id{};
    std::optional<std::int64_t> older_than_days{};
};
BOOST_DESCRIBE_STRUCT(PurgeRequest, (), (document_id, older_than_days))

class Gate {
public:
    virtual ~Gate() = default;

    // What the gate would say of a document file, with its artifacts in `artifacts/` beside it.
    // Nothing is moved or recorded.
    virtual base::Result<GateVerdict> check(const std::string& file) = 0;

    // Newest first; those of one place when it is given. What waits in the outbox is judged first.
    // cursor_not_found for a `before` that names none.
    virtual base::Result<Listed<domain::GateDocument>> list(std::optional<domain::GatePlace> place,
                                                            const ListQuery& query) = 0;
    virtual base::Result<GateView> show(const std::string& document_id) = 0;

    // Lets a rejected document in. The reason is recorded and must not be blank.
    virtual base::Result<domain::GateDocument> release(const std::string& document_id,
                                                       const std::string& reason) = 0;
    // Deletes rejected documents for good; what is known of them stays.
    virtual base::Result<std::vector<domain::GateDocument>> purge(const PurgeRequest& request) = 0;
};

}  // namespace service
