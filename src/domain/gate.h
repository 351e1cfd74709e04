// Result documents on their way through the gate.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/typed.h"
#include "domain/ids.h"

namespace domain {

// One reason for a rejection. It never holds a secret.
struct GateReason {
    std::string rule;     // Stable, for machines: "missing_field", or the id of a content rule.
    std::string message;  // One sentence.
    // Where: a field of the front matter, a place in a section, or an offset in an artifact.
    std::optional<std::string> field{};
    std::optional<std::string> section{};
    std::optional<std::int64_t> line{};  // In the document, from 1.
    std::optional<std::int64_t> column{};
    std::optional<std::string> artifact{};
    std::optional<std::int64_t> offset{};
    std::optional<std::string> excerpt{};  // With secrets removed.
    friend bool operator==(const GateReason&, const GateReason&) = default;
};
BOOST_DESCRIBE_STRUCT(GateReason, (),
                      (rule, message, field, section, line, column, artifact, offset, excerpt))

// The folder that a document is in, or is to be moved to after the commit that says so.
enum class GatePlace { Outbox, Inbound, Quarantine, Purged };
BOOST_DESCRIBE_ENUM(GatePlace, Outbox, Inbound, Quarantine, Purged)

enum class GateOutcome { Accept, Reject };
BOOST_DESCRIBE_ENUM(GateOutcome, Accept, Reject)

// What the gate does with results before they reach a model. Report: they are judged and are passed
// on; Enforce: only accepted results are passed on.
enum class GatePolicy { Off, Report, Enforce };
BOOST_DESCRIBE_ENUM(GatePolicy, Off, Report, Enforce)

// The gate's verdict on the result of one call, as it is kept with the result. A result that could
// not be judged is rejected, and `fault` says why.
struct GateMark {
    GatePolicy policy{GatePolicy::Report};
    GateOutcome outcome{GateOutcome::Reject};
    std::vector<std::string> document_ids{};
    std::vector<std::string> rules{};  // Those that rejected it, each once.
    std::optional<std::string> fault{};
    friend bool operator==(const GateMark&, const GateMark&) = default;
};
BOOST_DESCRIBE_STRUCT(GateMark, (), (policy, outcome, document_ids, rules, fault))

struct GateDocument {
    std::string document_id;  // The name of its folder; the result_id of every accepted one.
    AgentId agent_id;         // The verdict is recorded in the history of this agent.
    GatePlace place{GatePlace::Outbox};
    std::optional<GateOutcome> outcome{};  // None while it has not been judged.
    std::vector<GateReason> reasons{};
    std::string document_sha256{};  // As it was judged.
    Time created_at{};
    std::optional<Time> decided_at{};
    std::optional<Time> released_at{};  // An operator released it after its rejection.
    std::optional<std::string> release_reason{};
    std::optional<Time> purged_at{};
    friend bool operator==(const GateDocument&, const GateDocument&) = default;
};
BOOST_DESCRIBE_STRUCT(GateDocument, (),
                      (document_id, agent_id, place, outcome, reasons, document_sha256, created_at,
                       decided_at, released_at, release_reason, purged_at))

}  // namespace domain
