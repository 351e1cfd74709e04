#include "domain/message.h"

#include <gtest/gtest.h>

#include "domain/agent.h"
#include "domain/labels.h"
#include "domain/record.h"
#include "domain/tool.h"
#include "domain/turn.h"
#include "domain/waiting.h"

namespace domain {
namespace {

json::value parsed(std::string_view text) {
    return base::parse_json(text).value();
}

// The JSON, sorted, so that a difference can be read.
template <class T>
std::string text_of(const T& record) {
    return base::canonical_json(base::to_json(record));
}

Message minimal() {
    return {.id = {"m-1"},
            .agent_id = {"main"},
            .created_at = base::from_micros(1'925'000'000'000'001),
            .authority_class = AuthorityClass::OperatorInstruction,
            .body = TextBody{"hello"}};
}

Message full() {
    Message message = minimal();
    message.kind = MessageKind::TaskResult;
    message.origin = TaskOrigin{{"t-1"}};
    message.trust = TrustLevel::TrustedSystem;
    message.authority_class = AuthorityClass::RuntimeInstruction;
    message.priority = Priority::Next;
    message.trigger_kind = TriggerKind::TaskResult;
    message.work_item_id = WorkItemId{"work_1"};
    message.task_id = TaskId{"t-1"};
    message.source_refs = std::map<std::string, std::string>{{"task_id", "t-1"}};
    message.body = JsonBody{{{"exit_status", 0}}};
    message.metadata = json::value{{"note", json::array{1, nullptr}}};
    message.delivery_surface = DeliverySurface::TaskRejoin;
    message.admission_context = AdmissionContext::RuntimeOwned;
    message.correlation_id = "c-1";
    message.causation_id = "m-0";
    return message;
}

// contract: MSG-02, MSG-04, MSG-05
TEST(Message, HasTheNamesTypesAndOptionalityOfTheEnvelope) {
    EXPECT_EQ(text_of(minimal()), base::canonical_json(parsed(R"({
        "id": "m-1", "agent_id": "main", "created_at": "2031-01-01T02:13:20.000001Z",
        "kind": "operator_prompt", "origin": {"kind": "operator"}, "trust": "trusted_operator",
        "authority_class": "operator_instruction", "priority": "normal",
        "body": {"type": "text", "text": "hello"},
        "metadata": null, "correlation_id": null, "causation_id": null})")));
    EXPECT_EQ(text_of(full()), base::canonical_json(parsed(R"({
        "id": "m-1", "agent_id": "main", "created_at": "2031-01-01T02:13:20.000001Z",
        "kind": "task_result", "origin": {"kind": "task", "task_id": "t-1"},
        "trust": "trusted_system", "authority_class": "runtime_instruction", "priority": "next",
        "trigger_kind": "task_result", "work_item_id": "work_1", "task_id": "t-1",
        "source_refs": {"task_id": "t-1"}, "body": {"type": "json", "value": {"exit_status": 0}},
        "metadata": {"note": [1, null]}, "delivery_surface": "task_rejoin",
        "admission_context": "runtime_owned", "correlation_id": "c-1", "causation_id": "m-0"})")));
}

TEST(Message, ReadsBackAsItWasWritten) {
    for (const auto& message : {minimal(), full()}) {
        const auto read = base::from_json<Message>(base::to_json(message));
        ASSERT_TRUE(read) << read.error().message;
        EXPECT_EQ(*read, message) << text_of(*read);
    }
}

TEST(Message, NeedsEachOfItsMandatoryMembers) {
    const json::object whole = base::to_json(full()).as_object();
    for (const auto* name :
         {"id", "agent_id", "created_at", "kind", "origin", "trust", "priority", "body"}) {
        json::object part = whole;
        part.erase(name);
        const auto read = base::from_json<Message>(part);
        ASSERT_FALSE(read) << name;
        EXPECT_EQ(read.error().message, fmt::format("/{}: is missing", name));
    }
}

// contract: TRUST-08
TEST(Message, ThatHasOnlyATrustLevelLoadsWithoutAnyAuthority) {
    json::object older = base::to_json(minimal()).as_object();
    older.erase("authority_class");
    older["trust"] = "untrusted_external";
    const auto read = base::from_json<Message>(older);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->trust, TrustLevel::UntrustedExternal);
    EXPECT_EQ(read->authority_class, AuthorityClass::ExternalEvidence);
}

struct Shape {
    std::string_view json;
    std::string_view mandatory;  // Empty: the form has no mandatory member.
};

// contract: MSG-46
TEST(Message, EachOriginReadsBackAndNeedsItsMandatoryMember) {
    constexpr std::array<Shape, 13> kOrigins{
        {{R"({"kind":"operator"})", ""},
         {R"({"kind":"operator","actor_id":"ann"})", ""},
         {R"({"kind":"channel","channel_id":"c"})", "channel_id"},
         {R"({"kind":"channel","channel_id":"c","sender_id":"bob"})", "channel_id"},
         {R"({"kind":"webhook","source":"ci"})", "source"},
         {R"({"kind":"webhook","source":"ci","event_type":"push"})", "source"},
         {R"({"kind":"callback","descriptor_id":"d"})", "descriptor_id"},
         {R"({"kind":"callback","descriptor_id":"d","source":"ci"})", "descriptor_id"},
         {R"({"kind":"timer","timer_id":"t"})", "timer_id"},
         {R"({"kind":"system","subsystem":"wake_hint"})", "subsystem"},
         {R"({"kind":"task","task_id":"t"})", "task_id"},
         {R"({"kind":"system","subsystem":""})", "subsystem"},
         {R"({"kind":"task","task_id":""})", "task_id"}}};
    for (const auto& [text, mandatory] : kOrigins) {
        const auto read = base::from_json<Origin>(parsed(text));
        ASSERT_TRUE(read) << text << ": " << read.error().message;
        EXPECT_EQ(base::to_json(*read), parsed(text));
        if (mandatory.empty()) continue;
        json::object part = parsed(text).as_object();
        part.erase(json::string_view(mandatory.data(), mandatory.size()));
        const auto refused = base::from_json<Origin>(part);
        ASSERT_FALSE(refused) << text;
        EXPECT_EQ(refused.error().message, fmt::format("/{}: is missing", mandatory));
    }
    EXPECT_FALSE(base::from_json<Origin>(parsed(R"({"kind":"carrier_pigeon"})")));
    EXPECT_FALSE(base::from_json<Origin>(parsed(R"({"actor_id":"ann"})")));
}

// contract: TRUST-33
TEST(Message, EachBodyReadsBackAndNeedsItsMandatoryMember) {
    constexpr std::array<Shape, 5> kBodies{
        {{R"({"type":"text","text":"hello"})", "text"},
         {R"({"type":"json","value":[1,{"a":null}]})", "value"},
         {R"({"type":"brief","text":"done"})", "text"},
         {R"({"type":"brief","title":"T","text":"done","attachments":[]})", "text"},
         {R"({"type":"brief","text":"done","attachments":[{"uri":"file:///a"}]})", "text"}}};
    for (const auto& [text, mandatory] : kBodies) {
        const auto read = base::from_json<Body>(parsed(text));
        ASSERT_TRUE(read) << text << ": " << read.error().message;
        EXPECT_EQ(base::to_json(*read), parsed(text));
        json::object part = parsed(text).as_object();
        part.erase(json::string_view(mandatory.data(), mandatory.size()));
        EXPECT_FALSE(base::from_json<Body>(part)) << text;
    }
    EXPECT_FALSE(base::from_json<Body>(parsed(R"({"type":"sound","text":"la"})")));
    EXPECT_FALSE(base::from_json<Body>(parsed(R"("hello")")));
}

// contract: TRUST-34
TEST(Message, AnAttachmentHasAUriOrAValue) {
    for (const auto* text : {R"({"uri":"file:///a"})", R"({"value":{"rows":[1,2]}})",
                             R"({"kind":"table","name":"n","uri":"u","value":7})", R"({})"}) {
        const auto read = base::from_json<BriefAttachment>(parsed(text));
        ASSERT_TRUE(read) << text << ": " << read.error().message;
        EXPECT_EQ(base::to_json(*read), parsed(text));
    }
}

TEST(Message, HasItsOwnAuthorityWhateverItsMetadataClaims) {
    using enum AuthorityClass;
    const auto acts_on = [](AuthorityClass own, std::string_view named) {
        return instructed_by(
            {.authority_class = own, .metadata = json::object{{"instructed_by", named}}});
    };
    EXPECT_EQ(instructed_by({.authority_class = RuntimeInstruction}), RuntimeInstruction);
    EXPECT_EQ(acts_on(RuntimeInstruction, "external_evidence"), ExternalEvidence);
    EXPECT_EQ(acts_on(RuntimeInstruction, "integration_signal"), IntegrationSignal);
    EXPECT_EQ(acts_on(ExternalEvidence, "operator_instruction"), ExternalEvidence);
    EXPECT_EQ(acts_on(IntegrationSignal, "runtime_instruction"), IntegrationSignal);
    EXPECT_EQ(acts_on(RuntimeInstruction, "nonsense"), RuntimeInstruction);
}

TEST(Message, IsReadableAsAPersonWouldReadIt) {
    EXPECT_EQ(readable(TextBody{"as it is\n"}), "as it is\n");
    EXPECT_EQ(readable(JsonBody{{{"b", 1}, {"a", true}}}), "{\n  \"a\": true,\n  \"b\": 1\n}");
    EXPECT_EQ(readable(BriefBody{.text = "done"}), "done");
    EXPECT_EQ(readable(BriefBody{.title = "Report", .text = "done"}), "Report\n\ndone");
}

// The enum has exactly these wire names, each reads back, and no other word is taken.
template <class E>
void expect_exactly(const std::vector<std::string>& names) {
    const auto known = base::typed::type_of<E>().names;
    EXPECT_EQ(std::vector<std::string>(known.begin(), known.end()), names);
    for (const auto& name : names) {
        const auto read = base::from_json<E>(json::value(name));
        ASSERT_TRUE(read) << name << ": " << read.error().message;
        EXPECT_EQ(base::to_json(*read), json::value(name));
    }
    for (const auto* word : {"something_else", "", "OperatorPrompt"}) {
        const auto read = base::from_json<E>(json::value(word));
        ASSERT_FALSE(read) << word;
        EXPECT_EQ(read.error().code, base::ErrorCode::InvalidInput);
    }
}

// Ruling 27: the transport of an operator adds one name to each of the two.
// contract: MSG-30
TEST(Labels, DeliverySurfaceHasElevenNamesAndNoTwelfth) {
    expect_exactly<DeliverySurface>({"cli_prompt", "run_once", "http_public_enqueue",
                                     "http_webhook", "http_callback_enqueue", "http_callback_wake",
                                     "http_control_prompt", "remote_operator_transport",
                                     "timer_scheduler", "runtime_system", "task_rejoin"});
}

// contract: MSG-31
TEST(Labels, AdmissionContextHasSixNames) {
    expect_exactly<AdmissionContext>(
        {"public_unauthenticated", "control_authenticated", "operator_transport_authenticated",
         "external_trigger_capability", "local_process", "runtime_owned"});
}

// contract: MSG-32
TEST(Labels, MessageKindHasTwelveNames) {
    expect_exactly<MessageKind>({"operator_prompt", "channel_event", "webhook_event",
                                 "callback_event", "timer_tick", "system_tick", "task_result",
                                 "task_status", "control", "brief_ack", "brief_result",
                                 "internal_followup"});
}

// contract: TRUST-01
TEST(Labels, AuthorityClassHasFourNames) {
    expect_exactly<AuthorityClass>(
        {"operator_instruction", "runtime_instruction", "integration_signal", "external_evidence"});
}

// contract: TRUST-11
TEST(Labels, TrustLevelHasFourNames) {
    expect_exactly<TrustLevel>(
        {"trusted_operator", "trusted_system", "trusted_integration", "untrusted_external"});
}

// contract: TRUST-25
TEST(Labels, PriorityHasFourNamesFromFirstToLast) {
    expect_exactly<Priority>({"interject", "next", "normal", "background"});
}

// contract: STATE-04
TEST(Labels, AgentStatusHasSevenNames) {
    expect_exactly<AgentStatus>(
        {"booting", "awake_idle", "awake_running", "awaiting_task", "asleep", "paused", "stopped"});
}

TEST(Labels, TriggerAndContinuationNamesAreThoseOfTheWire) {
    expect_exactly<TriggerKind>({"operator_input", "task_result", "external_event", "timer_fire",
                                 "internal_followup", "system_tick", "task_status", "control",
                                 "brief_delivery"});
    expect_exactly<ContinuationClass>(
        {"resume_expected_wait", "resume_override", "local_continuation", "liveness_only"});
}

TEST(Labels, ClosureNamesAreThoseOfTheWire) {
    expect_exactly<ClosureOutcome>({"completed", "continuable", "failed", "waiting"});
    expect_exactly<WaitingReason>({"awaiting_operator_input", "awaiting_external_change",
                                   "awaiting_task_result", "awaiting_timer"});
    expect_exactly<RuntimePosture>({"awake", "sleeping"});
    expect_exactly<ReactivationMode>({"continue_active", "activate_queued"});
    expect_exactly<WorkSignalStatus>({"active", "queued"});
    expect_exactly<TerminalKind>({"completed", "aborted", "baseline_over_budget"});
}

TEST(Labels, RecordNamesAreThoseOfTheWire) {
    expect_exactly<QueueStatus>(
        {"queued", "claimed", "processed", "interjected", "interrupted", "dropped"});
    expect_exactly<BriefKind>({"ack", "result", "failure"});
    expect_exactly<TranscriptKind>({"incoming_message", "assistant_round", "tool_results",
                                    "runtime_failure", "continuation_prompt"});
    expect_exactly<TaskKind>({"command_task", "child_agent_task", "sleep_job", "subagent_task",
                              "worktree_subagent_task", "plan_task"});
    expect_exactly<TaskStatus>(
        {"queued", "running", "cancelling", "completed", "failed", "cancelled", "interrupted"});
    expect_exactly<TimerStatus>({"active", "completed", "cancelled"});
    expect_exactly<WaitStatus>({"active", "triggered", "resolved", "cancelled", "expired"});
    expect_exactly<WaitKind>({"task", "external", "operator", "timer", "system"});
    expect_exactly<ResultStatus>({"ok", "error", "timeout", "cancelled", "skipped"});
    expect_exactly<CallState>({"pending", "started", "finished"});
    expect_exactly<ProjectionKind>({"canonical_root", "git_worktree_root"});
    expect_exactly<AccessMode>({"shared_read", "exclusive_write"});
    expect_exactly<FailureCategory>({"transport", "protocol", "runtime", "task", "unknown"});
}

}  // namespace
}  // namespace domain
