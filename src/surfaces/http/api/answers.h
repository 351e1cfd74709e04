// Response bodies as types, for handlers that make them and for the OpenAPI document. Domain
// records are used as they are. Answers may get new members: clients ignore members they do not
// know.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/typed.h"
#include "domain/operators/notifications.h"
#include "service/settings.h"
#include "service/views/envelope.h"

namespace http_surface {

struct Done {
    bool ok{true};
    std::string agent_id;
};
BOOST_DESCRIBE_STRUCT(Done, (), (ok, agent_id))

struct Delivered {
    bool ok{true};
    std::string agent_id;
    std::string message_id;
};
BOOST_DESCRIBE_STRUCT(Delivered, (), (ok, agent_id, message_id))

struct Bound {
    bool ok{true};
    std::string agent_id;
    domain::OperatorBinding binding;
};
BOOST_DESCRIBE_STRUCT(Bound, (), (ok, agent_id, binding))

struct Ok {
    bool ok{true};
};
BOOST_DESCRIBE_STRUCT(Ok, (), (ok))

struct InstalledSkills {
    bool ok{true};
    std::string agent_id;
    std::vector<json::object> skills{};
};
BOOST_DESCRIBE_STRUCT(InstalledSkills, (), (ok, agent_id, skills))

struct SkillChanged {
    bool ok{true};
    std::string agent_id;
    std::string skill_name;
};
BOOST_DESCRIBE_STRUCT(SkillChanged, (), (ok, agent_id, skill_name))

struct Root {
    bool ok{true};
    std::string default_agent;
};
BOOST_DESCRIBE_STRUCT(Root, (), (ok, default_agent))

struct Models {
    std::vector<json::object> available_models;
    std::vector<service::ModelAvailability> model_availability;
};
BOOST_DESCRIBE_STRUCT(Models, (), (available_models, model_availability))

enum class EventOrder { Asc, Desc };
BOOST_DESCRIBE_ENUM(EventOrder, Asc, Desc)

struct EventPage {
    std::vector<views::EventEnvelope> events;
    std::optional<std::int64_t> oldest_seq{};
    std::optional<std::int64_t> newest_seq{};
    bool has_older{false};
    bool has_newer{false};
    EventOrder order{EventOrder::Desc};
    std::int64_t limit{0};
};
BOOST_DESCRIBE_STRUCT(EventPage, (),
                      (events, oldest_seq, newest_seq, has_older, has_newer, order, limit))
constexpr auto describe_fields(const EventPage*) {
    return std::to_array<base::FieldDoc>({{.field = "oldest_seq", .null_when_absent = true},
                                          {.field = "newest_seq", .null_when_absent = true}});
}

struct Woken {
    bool ok{true};
    std::string agent_id;
    std::string disposition;
};
BOOST_DESCRIBE_STRUCT(Woken, (), (ok, agent_id, disposition))
constexpr auto describe_fields(const Woken*) {
    return std::to_array<base::FieldDoc>(
        {{.field = "disposition", .keywords = R"("enum":["triggered","coalesced","ignored"])"}});
}

struct CalledBack {
    bool ok{true};
    std::string agent_id;
    std::optional<std::string> waiting_intent_id{};
    std::string external_trigger_id;
    std::string scope;
    std::string delivery_mode;
    std::string disposition;
};
BOOST_DESCRIBE_STRUCT(CalledBack, (),
                      (ok, agent_id, waiting_intent_id, external_trigger_id, scope, delivery_mode,
                       disposition))
constexpr auto describe_fields(const CalledBack*) {
    return std::to_array<base::FieldDoc>(
        {{.field = "waiting_intent_id", .null_when_absent = true}});
}

struct ConversationCompacted {
    bool ok{true};
    bool compacted{false};
    std::string agent_id;
    std::int64_t compacted_rounds{0};
    std::int64_t shortened_results{0};
    std::int64_t previous_estimated_tokens{0};  // Of the conversation.
    std::int64_t projected_estimated_tokens{0};
    std::optional<std::string> reason{};  // Why nothing was compacted.
};
BOOST_DESCRIBE_STRUCT(ConversationCompacted, (),
                      (ok, compacted, agent_id, compacted_rounds, shortened_results,
                       previous_estimated_tokens, projected_estimated_tokens, reason))

struct Aborted {
    bool ok{true};
    bool aborted{true};
    std::string agent_id;
    std::optional<std::string> run_id{};
    std::string mode;
    std::string admission_context;
    std::optional<std::string> provided_trust{};
};
BOOST_DESCRIBE_STRUCT(Aborted, (),
                      (ok, aborted, agent_id, run_id, mode, admission_context, provided_trust))
constexpr auto describe_fields(const Aborted*) {
    return std::to_array<base::FieldDoc>({{.field = "provided_trust", .null_when_absent = true}});
}

struct ModelChanged {
    bool ok{true};
    std::string agent_id;
    json::object model;
};
BOOST_DESCRIBE_STRUCT(ModelChanged, (), (ok, agent_id, model))

struct PromptDump {
    bool ok{true};
    std::string agent_id;
    std::string dump;
};
BOOST_DESCRIBE_STRUCT(PromptDump, (), (ok, agent_id, dump))

struct Attached {
    bool ok{true};
    std::string agent_id;
    std::string workspace_id;
    std::string workspace_anchor;
};
BOOST_DESCRIBE_STRUCT(Attached, (), (ok, agent_id, workspace_id, workspace_anchor))

struct Detached {
    bool ok{true};
    std::string agent_id;
    std::string workspace_id;
};
BOOST_DESCRIBE_STRUCT(Detached, (), (ok, agent_id, workspace_id))

// The service makes these; the members named here are stable for clients (GET
// /agents/{agent_id}/status is the reference).
struct AgentSummary {
    json::object identity;
    json::object agent;
    json::object scheduling_posture;
    std::int64_t active_task_count{0};
    json::object lifecycle;
    json::object model;
    json::object token_usage;
    json::object closure;
};
BOOST_DESCRIBE_STRUCT(AgentSummary, (),
                      (identity, agent, scheduling_posture, active_task_count, lifecycle, model,
                       token_usage, closure))

struct AgentListEntry {
    json::object identity;
    std::string status;
    json::value scheduling_posture;
    json::object lifecycle;
    std::int64_t pending{0};
    json::object model;
    std::optional<base::Time> last_brief_at{};
    std::optional<std::string> last_brief{};  // Its beginning, on one line.
};
BOOST_DESCRIBE_STRUCT(AgentListEntry, (),
                      (identity, status, scheduling_posture, lifecycle, pending, model,
                       last_brief_at, last_brief))

struct AgentStateSnapshot {
    AgentSummary agent;
    std::int64_t event_seq{0};
};
BOOST_DESCRIBE_STRUCT(AgentStateSnapshot, (), (agent, event_seq))
constexpr auto describe_fields(const AgentStateSnapshot*) {
    return std::to_array<base::FieldDoc>(
        {{.field = "event_seq",
          .text = "Follow /events/stream?after_seq= from here: nothing between is missed."}});
}

struct Protocol {
    std::string name{"holon-control"};
    std::int64_t version{1};
};
BOOST_DESCRIBE_STRUCT(Protocol, (), (name, version))

struct AuthNeeded {
    std::string mode;
    bool required{false};
};
BOOST_DESCRIBE_STRUCT(AuthNeeded, (), (mode, required))

struct RuntimeAddress {
    std::string default_agent;
    std::string workspace_dir;
    std::string home_dir;
    std::string listen;
    std::optional<std::string> advertise_url{};
};
BOOST_DESCRIBE_STRUCT(RuntimeAddress, (),
                      (default_agent, workspace_dir, home_dir, listen, advertise_url))
constexpr auto describe_fields(const RuntimeAddress*) {
    return std::to_array<base::FieldDoc>({{.field = "advertise_url", .null_when_absent = true}});
}

struct Handshake {
    bool ok{true};
    Protocol protocol{};
    AuthNeeded auth{};
    std::vector<std::string> capabilities{"agents.list", "agents.state", "agents.events",
                                          "agents.control", "tui.remote"};
    RuntimeAddress runtime{};
};
BOOST_DESCRIBE_STRUCT(Handshake, (), (ok, protocol, auth, capabilities, runtime))

struct RuntimeStatus {
    bool ok{true};
    bool healthy{true};
    std::int64_t pid{0};
    std::string home_dir;
    std::optional<std::string> socket_path{};
    std::string http_addr;
    base::Time started_at{};
    std::string config_fingerprint;
    std::optional<json::object> activity{};
    std::optional<json::object> startup_surface{};
    std::optional<json::object> runtime_surface{};
    std::optional<json::value> last_failure{};
};
BOOST_DESCRIBE_STRUCT(RuntimeStatus, (),
                      (ok, healthy, pid, home_dir, socket_path, http_addr, started_at,
                       config_fingerprint, activity, startup_surface, runtime_surface,
                       last_failure))
constexpr auto describe_fields(const RuntimeStatus*) {
    return std::to_array<base::FieldDoc>({{.field = "socket_path", .null_when_absent = true}});
}

struct ShutdownRequested {
    bool ok{true};
    std::int64_t pid{0};
    std::string home_dir;
    bool shutdown_requested{true};
};
BOOST_DESCRIBE_STRUCT(ShutdownRequested, (), (ok, pid, home_dir, shutdown_requested))

// Every answer of 400 and above.
struct Failure {
    bool ok{false};
    std::string error;
    std::string code;
};
BOOST_DESCRIBE_STRUCT(Failure, (), (ok, error, code))

}  // namespace http_surface
