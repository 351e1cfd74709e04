// The way of a result through the gate: outbox, verdict, inbound or quarantine.
//
// Folders below <home>/gate hold one folder a document; a row in the store says where each belongs.
// A verdict is committed first and the folder moved after it, by one rename, so a document is in
// exactly one place at any moment. Whatever a crash left between the two, settle() finishes: it
// goes by the row where there is one, and judges where there is none.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/os/lifetime.h"
#include "base/result.h"
#include "domain/gate.h"
#include "exec/gate/document/write.h"
#include "exec/gate/validator.h"
#include "record/events/committer.h"
#include "store/store.h"

namespace gate {

// Documents that one call of settle() checks in each folder; further ones wait for the next.
inline constexpr std::size_t kSettledMax = 10'000;
// Characters of its streams that the agent is shown of a released document.
inline constexpr std::size_t kReleasedCharsMax = 8000;
// Reasons that an event lists; the row has all of them.
inline constexpr std::size_t kEventReasonsMax = 5;

struct GateParts {
    store::Store& store;
    base::Clock& clock;
    events::Committer committer;
    // Asked for when something is to be judged; it outlives the gate.
    std::function<base::Result<const Validator*>()> validator;
    std::filesystem::path folder;   // <home>/gate
    domain::AgentId default_agent;  // For documents that came without a request of ours.
    // Sends the text about a released document to its agent, as evidence, in the transaction that
    // releases it. False when the agent does not exist.
    std::function<base::Result<bool>(events::Log&, const domain::GateDocument&, std::string text)>
        tell{};
};

// Blocks for commits and files, also while another process holds the store's lock. Any thread may
// call, and several processes may work on one folder: the first committed verdict is the one that
// counts.
class Gate {
public:
    explicit Gate(GateParts parts) : parts_(std::move(parts)) {}

    // Puts the result of a request of `agent` into the outbox and returns its id. It is judged by
    // the next settle().
    base::Result<std::string> deposit(const domain::AgentId& agent, const FinishedRequest& request);

    // Judges what is in the outbox and finishes moves that a crash cut off. Returns what it judged.
    base::Result<std::vector<domain::GateDocument>> settle();

    // The verdict on one deposited document; it is where it belongs on return.
    base::Result<domain::GateDocument> settle(const std::string& document_id);

    // The verdict on a document file, with its artifacts in the folder next to it. Changes nothing.
    base::Result<Verdict> check(const std::filesystem::path& file) const;

    // The text of a document that may be read by the core: it is inbound, and as it was judged.
    // Refused when it has changed since.
    base::Result<std::string> read_inbound(const std::string& document_id) const;

    // Releases a rejected document for the operator's reason, and sends a message to its agent.
    base::Result<domain::GateDocument> release(const std::string& document_id,
                                               const std::string& reason);
    // Deletes a rejected document. Its row is kept.
    base::Result<domain::GateDocument> purge(const std::string& document_id);

    std::filesystem::path place(domain::GatePlace place, const std::string& document_id) const;

private:
    std::filesystem::path folder_of(domain::GatePlace place) const;
    // Anew: although there is a verdict, because the document has changed since.
    enum class Verdicts { First, Anew };
    base::Result<domain::GateDocument> judge(const std::string& name,
                                             Verdicts verdicts = Verdicts::First);
    base::Result<std::optional<domain::GateDocument>> row_of(const std::string& name) const;
    base::Result<Verdict> verdict_of(const std::string& name,
                                     const std::filesystem::path& folder) const;
    base::Result<Verdict> verdict_on(const std::string& name, const std::string& text,
                                     const std::filesystem::path& folder) const;
    base::Status settle_outbox(std::vector<domain::GateDocument>& judged);
    base::Status settle_quarantine();
    // Removes what a crash left unwritten: half a folder, or a row without one.
    base::Status settle_abandoned();
    // Brings the folder of a document from `from` to where its row says it is.
    base::Status advance(const domain::GateDocument& document, domain::GatePlace from);
    base::Status put(const domain::GateDocument& document);
    base::Result<domain::GateDocument> quarantined(const std::string& document_id) const;
    // Commits that a document leaves the quarantine. Conflict when another one let it go before.
    base::Status commit_way_out(const domain::GateDocument& document,
                                const std::function<base::Status(events::Log&)>& record);
    // The row after the verdict, or after another verdict that was committed first.
    base::Result<domain::GateDocument> commit_verdict(const domain::GateDocument& document,
                                                      Verdicts verdicts);

    GateParts parts_;
    base::Lifetime lifetime_;
};

}  // namespace gate
