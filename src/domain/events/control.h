// Events of what an operator ordered, and of documents at the result gate.
#pragma once

#include "domain/events/payload.h"
#include "domain/gate.h"

namespace domain::events {

struct ControlApplied {
    static constexpr std::string_view kKind = "control_applied";
    std::string kind{"control"};
    std::string action;
    AgentId agent_id;
    std::string admission_context;
    std::optional<std::string> actor_id{};
};
BOOST_DESCRIBE_STRUCT(ControlApplied, (), (kind, action, agent_id, admission_context, actor_id))

struct RunAbortRequested {
    static constexpr std::string_view kKind = "run_abort_requested";
    AgentId agent_id;
    RunId run_id;
    AdmissionContext admission_context{AdmissionContext::PublicUnauthenticated};
};
BOOST_DESCRIBE_STRUCT(RunAbortRequested, (), (agent_id, run_id, admission_context))

struct AgentCreated {
    static constexpr std::string_view kKind = "agent_created";
    AgentId target_agent_id;
    std::string admission_context;
    json::object boundary{};
};
BOOST_DESCRIBE_STRUCT(AgentCreated, (), (target_agent_id, admission_context, boundary))

struct SkillInstalled {
    static constexpr std::string_view kKind = "skill_installed";
    AgentId target_agent_id;
    std::string skill_name;
    std::string kind;  // builtin, named, local, remote
};
BOOST_DESCRIBE_STRUCT(SkillInstalled, (), (target_agent_id, skill_name, kind))

struct SkillUninstalled {
    static constexpr std::string_view kKind = "skill_uninstalled";
    AgentId target_agent_id;
    std::string skill_name;
};
BOOST_DESCRIBE_STRUCT(SkillUninstalled, (), (target_agent_id, skill_name))

struct ModelOverride {
    AgentId agent_id;
    std::string model;              // The one that the agent now uses.
    bool pending_next_turn{false};  // The open turn keeps its own.
};
BOOST_DESCRIBE_STRUCT(ModelOverride, (), (agent_id, model, pending_next_turn))

struct AgentModelOverrideSet : ModelOverride {
    static constexpr std::string_view kKind = "agent_model_override_set";
};
struct AgentModelOverrideCleared : ModelOverride {
    static constexpr std::string_view kKind = "agent_model_override_cleared";
};
BOOST_DESCRIBE_STRUCT(AgentModelOverrideSet, (ModelOverride), ())
BOOST_DESCRIBE_STRUCT(AgentModelOverrideCleared, (ModelOverride), ())

// A document at the gate. `reasons` are the first of `reason_count`, without excerpts.
struct GateVerdict {
    std::string document_id;
    std::string document_sha256;
    GatePlace place{GatePlace::Outbox};
    std::int64_t reason_count{0};
    std::vector<GateReason> reasons{};
};
BOOST_DESCRIBE_STRUCT(GateVerdict, (), (document_id, document_sha256, place, reason_count, reasons))

struct GateAccepted : GateVerdict {
    static constexpr std::string_view kKind = "gate_accepted";
};
struct GateRejected : GateVerdict {
    static constexpr std::string_view kKind = "gate_rejected";
};
struct GatePurged : GateVerdict {
    static constexpr std::string_view kKind = "gate_purged";
};
struct GateReleased : GateVerdict {
    static constexpr std::string_view kKind = "gate_released";
    std::string release_reason;
    bool agent_is_notified{false};
};
BOOST_DESCRIBE_STRUCT(GateAccepted, (GateVerdict), ())
BOOST_DESCRIBE_STRUCT(GateRejected, (GateVerdict), ())
BOOST_DESCRIBE_STRUCT(GatePurged, (GateVerdict), ())
BOOST_DESCRIBE_STRUCT(GateReleased, (GateVerdict), (release_reason, agent_is_notified))

}  // namespace domain::events
