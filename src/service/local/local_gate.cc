#include "service/local/local_gate.h"

#include "flow/admission/admission.h"
#include "flow/ingress/ingress.h"

namespace service {

using base::ErrorCode;
using domain::GateDocument;
using domain::GatePlace;
namespace fs = std::filesystem;

namespace {

constexpr std::int64_t kPurgedMax = 10'000;  // By one call.

// A released document has no more authority than before: it is untrusted input.
base::Result<bool> tell(events::Log& log, const GateDocument& document, std::string text) {
    const auto message =
        TRY(ingress::receive({.agent_id = document.agent_id,
                              .kind = domain::MessageKind::InternalFollowup,
                              .origin = domain::SystemOrigin{"gate"},
                              .body = domain::TextBody{std::move(text)},
                              .surface = domain::DeliverySurface::RuntimeSystem,
                              .admission = domain::AdmissionContext::RuntimeOwned,
                              .priority = domain::Priority::Next,
                              .trust = domain::TrustLevel::UntrustedExternal,
                              .metadata = json::object{{"gate_document_id", document.document_id},
                                                       {"output_is_evidence", true}}},
                             log.now(), log.ids()));
    const auto outcome = admission::admit(log, message, "gate_release:" + document.document_id);
    if (!outcome && outcome.error().code == ErrorCode::NotFound) return false;
    if (!outcome) return std::unexpected(outcome.error());
    return !std::holds_alternative<admission::Refuse>(*outcome);
}

}  // namespace

LocalGate::LocalGate(LocalGateParts parts)
    : parts_(std::move(parts)),
      gate_({.store = parts_.store,
             .clock = parts_.clock,
             .committer = parts_.committer,
             .validator = [this] { return validator(); },
             .folder = parts_.folder,
             .default_agent = parts_.default_agent,
             .tell = tell}) {}

base::Result<const gate::Validator*> LocalGate::validator() {
    const std::scoped_lock one(validator_mutex_);
    if (!validator_)
        validator_.emplace(TRY(gate::Validator::make({.credentials = parts_.credentials})));
    return &*validator_;
}

base::Result<GateVerdict> LocalGate::check(const std::string& file) {
    auto verdict = TRY(gate_.check(file));
    return GateVerdict{verdict.outcome, std::move(verdict.document_sha256),
                       std::move(verdict.reasons)};
}

base::Result<Listed<GateDocument>> LocalGate::list(std::optional<GatePlace> place,
                                                   const ListQuery& query) {
    TRY(gate_.settle());
    std::vector<GateDocument> documents;
    TRY(parts_.store.read([&](store::Tx& tx) -> base::Status {
        documents = TRY(tx.gate_documents(place, rows_for(query), query.before));
        return {};
    }));
    return listed(std::move(documents), query,
                  [](const GateDocument& document) { return document.document_id; });
}

base::Result<GateView> LocalGate::show(const std::string& document_id) {
    TRY(gate_.settle());
    std::optional<GateDocument> document;
    TRY(parts_.store.read([&](store::Tx& tx) -> base::Status {
        document = TRY(tx.gate_document(document_id));
        return {};
    }));
    if (!document)
        return base::fail(ErrorCode::NotFound, "there is no document {}; see holon gate list",
                          document_id);
    GateView view{.document = std::move(*document)};
    const fs::path folder = gate_.place(view.document.place, view.document.document_id);
    if (std::error_code ignored; fs::exists(fs::symlink_status(folder, ignored)))
        view.folder = folder.string();
    return view;
}

base::Result<GateDocument> LocalGate::release(const std::string& document_id,
                                              const std::string& reason) {
    TRY(gate_.settle());
    auto released = TRY(gate_.release(document_id, reason));
    if (parts_.wake) parts_.wake(released.agent_id);
    return released;
}

base::Result<std::vector<GateDocument>> LocalGate::purge(const PurgeRequest& request) {
    TRY(gate_.settle());
    std::vector<GateDocument> purged;
    if (request.document_id) {
        purged.push_back(TRY(gate_.purge(*request.document_id)));
        return purged;
    }
    if (!request.older_than_days)
        return base::fail(ErrorCode::InvalidInput, "say which document, or how old they are");
    const base::Time limit = parts_.clock.now() - std::chrono::hours(24 * *request.older_than_days);
    const auto quarantined = TRY(list(GatePlace::Quarantine, {.limit = kPurgedMax}));
    for (const auto& document : quarantined.items)
        if (document.decided_at.value_or(document.created_at) <= limit)
            purged.push_back(TRY(gate_.purge(document.document_id)));
    return purged;
}

}  // namespace service
