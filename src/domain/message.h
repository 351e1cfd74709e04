// An input of an agent: one envelope for every kind of sender.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/typed.h"
#include "domain/ids.h"
#include "domain/labels.h"

namespace domain {

// Where a message came from. Only OperatorOrigin means the owner of the agent.
struct OperatorOrigin {
    static constexpr std::string_view kTagKey = "kind", kTag = "operator";
    std::optional<std::string> actor_id{};
    friend bool operator==(const OperatorOrigin&, const OperatorOrigin&) = default;
};
struct ChannelOrigin {
    static constexpr std::string_view kTagKey = "kind", kTag = "channel";
    std::string channel_id;
    std::optional<std::string> sender_id{};
    friend bool operator==(const ChannelOrigin&, const ChannelOrigin&) = default;
};
struct WebhookOrigin {
    static constexpr std::string_view kTagKey = "kind", kTag = "webhook";
    std::string source;
    std::optional<std::string> event_type{};
    friend bool operator==(const WebhookOrigin&, const WebhookOrigin&) = default;
};
struct CallbackOrigin {
    static constexpr std::string_view kTagKey = "kind", kTag = "callback";
    std::string descriptor_id;
    std::optional<std::string> source{};
    friend bool operator==(const CallbackOrigin&, const CallbackOrigin&) = default;
};
struct TimerOrigin {
    static constexpr std::string_view kTagKey = "kind", kTag = "timer";
    TimerId timer_id;
    friend bool operator==(const TimerOrigin&, const TimerOrigin&) = default;
};
struct SystemOrigin {
    static constexpr std::string_view kTagKey = "kind", kTag = "system";
    std::string subsystem;
    friend bool operator==(const SystemOrigin&, const SystemOrigin&) = default;
};
struct TaskOrigin {
    static constexpr std::string_view kTagKey = "kind", kTag = "task";
    TaskId task_id;
    friend bool operator==(const TaskOrigin&, const TaskOrigin&) = default;
};
BOOST_DESCRIBE_STRUCT(OperatorOrigin, (), (actor_id))
BOOST_DESCRIBE_STRUCT(ChannelOrigin, (), (channel_id, sender_id))
BOOST_DESCRIBE_STRUCT(WebhookOrigin, (), (source, event_type))
BOOST_DESCRIBE_STRUCT(CallbackOrigin, (), (descriptor_id, source))
BOOST_DESCRIBE_STRUCT(TimerOrigin, (), (timer_id))
BOOST_DESCRIBE_STRUCT(SystemOrigin, (), (subsystem))
BOOST_DESCRIBE_STRUCT(TaskOrigin, (), (task_id))

using Origin = std::variant<OperatorOrigin, ChannelOrigin, WebhookOrigin, CallbackOrigin,
                            TimerOrigin, SystemOrigin, TaskOrigin>;

struct BriefAttachment {
    std::optional<std::string> kind{};
    std::optional<std::string> name{};
    std::optional<std::string> uri{};
    std::optional<json::value> value{};
    friend bool operator==(const BriefAttachment&, const BriefAttachment&) = default;
};
BOOST_DESCRIBE_STRUCT(BriefAttachment, (), (kind, name, uri, value))

struct TextBody {
    static constexpr std::string_view kTagKey = "type", kTag = "text";
    std::string text;
    friend bool operator==(const TextBody&, const TextBody&) = default;
};
struct JsonBody {
    static constexpr std::string_view kTagKey = "type", kTag = "json";
    json::value value;
    friend bool operator==(const JsonBody&, const JsonBody&) = default;
};
struct BriefBody {
    static constexpr std::string_view kTagKey = "type", kTag = "brief";
    std::optional<std::string> title{};
    std::string text;
    std::optional<std::vector<BriefAttachment>> attachments{};
    friend bool operator==(const BriefBody&, const BriefBody&) = default;
};
BOOST_DESCRIBE_STRUCT(TextBody, (), (text))
BOOST_DESCRIBE_STRUCT(JsonBody, (), (value))
BOOST_DESCRIBE_STRUCT(BriefBody, (), (title, text, attachments))

using Body = std::variant<TextBody, JsonBody, BriefBody>;

// The body as a person would read it: text as it is, JSON pretty-printed.
std::string readable(const Body& body);

struct Message {
    MessageId id;
    AgentId agent_id;
    Time created_at{};
    MessageKind kind{MessageKind::OperatorPrompt};
    Origin origin{};
    TrustLevel trust{
        TrustLevel::TrustedOperator};  // Kept for older readers; authority_class decides.
    // Older records lack it. Unauthenticated input has none, whatever else the record says.
    AuthorityClass authority_class{AuthorityClass::ExternalEvidence};
    Priority priority{Priority::Normal};
    std::optional<TriggerKind> trigger_kind{};
    std::optional<WorkItemId> work_item_id{};
    std::optional<TaskId> task_id{};
    std::optional<std::map<std::string, std::string>> source_refs{};
    Body body{};
    std::optional<json::value> metadata{};
    std::optional<DeliverySurface> delivery_surface{};
    std::optional<AdmissionContext> admission_context{};
    std::optional<std::string> correlation_id{};
    std::optional<std::string> causation_id{};
    friend bool operator==(const Message&, const Message&) = default;
};
BOOST_DESCRIBE_STRUCT(Message, (),
                      (id, agent_id, created_at, kind, origin, trust, authority_class, priority,
                       trigger_kind, work_item_id, task_id, source_refs, body, metadata,
                       delivery_surface, admission_context, correlation_id, causation_id))
constexpr auto describe_fields(const Message*) {
    return std::to_array<base::FieldDoc>({{.field = "authority_class", .has_default = true},
                                          {.field = "metadata", .null_when_absent = true},
                                          {.field = "correlation_id", .null_when_absent = true},
                                          {.field = "causation_id", .null_when_absent = true}});
}

// The authority of a turn that this message opens: its authority class, or what its metadata names
// here when that is weaker. The runtime puts it there for what it passes on itself (the result of a
// task): the runtime sends such a message, but its authority is that of the input that caused it.
// It can only lower, so forging it gains nothing.
inline constexpr std::string_view kInstructedBy = "instructed_by";
AuthorityClass instructed_by(const Message& message);

// The same on the other scale, which is ordered from most to least trusted, too.
TrustLevel trust_of(AuthorityClass authority);

// Who sent it, for a message of an external sender: the origin's kind and the name that it came
// under. Nothing for what the operator and the runtime send.
std::optional<std::string> external_sender(const Message& message);

// Queued input is owned by its entry; a message row never changes.
enum class QueueStatus { Queued, Claimed, Processed, Interjected, Interrupted, Dropped };
BOOST_DESCRIBE_ENUM(QueueStatus, Queued, Claimed, Processed, Interjected, Interrupted, Dropped)

struct QueueEntry {
    MessageId message_id;
    AgentId agent_id;
    Priority priority{Priority::Normal};
    QueueStatus status{QueueStatus::Queued};
    std::int64_t tries{0};     // How many attempts have claimed it, counted across restarts.
    std::int64_t failures{0};  // How often no turn could be opened for it.
    std::optional<std::string> reason{};  // Why it was dropped or interrupted.
    Time created_at{};
    Time updated_at{};
    friend bool operator==(const QueueEntry&, const QueueEntry&) = default;
};
BOOST_DESCRIBE_STRUCT(QueueEntry, (),
                      (message_id, agent_id, priority, status, tries, failures, reason, created_at,
                       updated_at))

}  // namespace domain
