#include "domain/message.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace domain
