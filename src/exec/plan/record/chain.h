// The chain over a run's records: each line ends with a hash over itself and the line before it,
// whichever file that one is in, so that no line can be changed, dropped, added or moved unseen.
#pragma once

#include "domain/plan.h"

namespace plan {

// The link before the first record: run, plan and policy are part of every hash that follows.
std::string first_link(const domain::RunId& run, const std::string& plan_hash,
                       const std::string& policy_hash);

// Numbers, hashes and writes out one record, and moves the end of the chain to it.
domain::PlanRecord seal(std::int64_t& seq, std::string& last_hash, domain::PlanRecordKind kind,
                        json::object body);

// The hash at the end of a line, and what it should be when the line follows `last_hash`.
struct Link {
    std::string written;
    std::string computed;
};
// Nothing when the line has no hash.
std::optional<Link> link_of(const domain::PlanRecord& record, const std::string& last_hash);

std::string policy_hash(const domain::PolicySnapshot& policy);

// Over what a run was given besides plan and policy: its vault, context and parameters.
std::string inputs_hash(const domain::PlanRun& run);

// Over every member of run.json that never changes: when, by which program and for whom it was
// made.
std::string identity_hash(const domain::PlanRun& run);

}  // namespace plan
