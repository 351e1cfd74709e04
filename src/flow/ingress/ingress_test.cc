#include "flow/ingress/ingress.h"

#include <gtest/gtest.h>

namespace ingress {
namespace {

using domain::AdmissionContext;
using domain::AuthorityClass;
using domain::DeliverySurface;
using domain::MessageKind;
using domain::Origin;
using domain::TriggerKind;
using domain::TrustLevel;

constexpr base::Time kNow = base::Time(std::chrono::microseconds(1'925'000'000'000'000));

class CountingIds final : public base::Ids {
public:
    std::string hex32() override { return fmt::format("{:032x}", ++count_); }
    std::string uuid() override { return fmt::format("id-{}", ++count_); }
    std::uint64_t below(std::uint64_t) override { return 0; }

private:
    int count_{0};
};

base::Result<domain::Message> receive(Raw raw) {
    CountingIds ids;
    return ingress::receive(std::move(raw), kNow, ids);
}

// One way in for each origin, as the surface that owns it would build it.
Raw from(const Origin& origin) {
    struct Entry {
        MessageKind kind;
        DeliverySurface surface;
        AdmissionContext admission;
    };
    struct Visitor {
        Entry operator()(const domain::OperatorOrigin&) const {
            return {MessageKind::OperatorPrompt, DeliverySurface::CliPrompt,
                    AdmissionContext::LocalProcess};
        }
        Entry operator()(const domain::ChannelOrigin&) const {
            return {MessageKind::ChannelEvent, DeliverySurface::HttpPublicEnqueue,
                    AdmissionContext::PublicUnauthenticated};
        }
        Entry operator()(const domain::WebhookOrigin&) const {
            return {MessageKind::WebhookEvent, DeliverySurface::HttpWebhook,
                    AdmissionContext::PublicUnauthenticated};
        }
        Entry operator()(const domain::CallbackOrigin&) const {
            return {MessageKind::CallbackEvent, DeliverySurface::HttpCallbackEnqueue,
                    AdmissionContext::ExternalTriggerCapability};
        }
        Entry operator()(const domain::TimerOrigin&) const {
            return {MessageKind::TimerTick, DeliverySurface::TimerScheduler,
                    AdmissionContext::RuntimeOwned};
        }
        Entry operator()(const domain::SystemOrigin&) const {
            return {MessageKind::SystemTick, DeliverySurface::RuntimeSystem,
                    AdmissionContext::RuntimeOwned};
        }
        Entry operator()(const domain::TaskOrigin&) const {
            return {MessageKind::TaskResult, DeliverySurface::TaskRejoin,
                    AdmissionContext::RuntimeOwned};
        }
    };
    const Entry entry = std::visit(Visitor{}, origin);
    return {.agent_id = {"main"},
            .kind = entry.kind,
            .origin = origin,
            .body = domain::TextBody{"the same text"},
            .surface = entry.surface,
            .admission = entry.admission};
}

const std::vector<Origin>& origins() {
    static const std::vector<Origin> all{
        domain::OperatorOrigin{},    domain::ChannelOrigin{"c"}, domain::WebhookOrigin{"ci"},
        domain::CallbackOrigin{"d"}, domain::TimerOrigin{{"t"}}, domain::SystemOrigin{"wake_hint"},
        domain::TaskOrigin{{"k"}}};
    return all;
}

// contract: TRUST-12, TRUST-13, TRUST-14, TRUST-15, TRUST-17, TRUST-18, MSG-08
TEST(Ingress, GivesEachOriginItsTrust) {
    using T = TrustLevel;
    const std::vector<T> expected{
        T::TrustedOperator, T::UntrustedExternal, T::TrustedIntegration, T::TrustedIntegration,
        T::TrustedSystem,   T::TrustedSystem,     T::TrustedSystem};
    ASSERT_EQ(origins().size(), expected.size());
    for (std::size_t i = 0; i < origins().size(); ++i) {
        const auto message = receive(from(origins()[i]));
        ASSERT_TRUE(message) << i << ": " << message.error().message;
        EXPECT_EQ(message->trust, expected[i]) << i;
        EXPECT_EQ(message->origin, origins()[i]) << i;
    }
}

// contract: TRUST-04, TRUST-05, TRUST-06, TRUST-07, MSG-09, MSG-47, MSG-48
TEST(Ingress, GivesOnlyTheOperatorTheOperatorsAuthority) {
    using A = AuthorityClass;
    const std::vector<A> expected{
        A::OperatorInstruction, A::ExternalEvidence,   A::IntegrationSignal, A::IntegrationSignal,
        A::RuntimeInstruction,  A::RuntimeInstruction, A::RuntimeInstruction};
    ASSERT_EQ(origins().size(), expected.size());
    for (std::size_t i = 0; i < origins().size(); ++i)
        EXPECT_EQ(receive(from(origins()[i]))->authority_class, expected[i]) << i;
}

// contract: TRUST-09, TRUST-21
TEST(Ingress, LetsACallerLowerItsTrustAndNeverRaiseIt) {
    for (const auto& origin : origins()) {
        const TrustLevel own = default_trust(origin);
        for (const TrustLevel asked :
             {TrustLevel::TrustedOperator, TrustLevel::TrustedSystem,
              TrustLevel::TrustedIntegration, TrustLevel::UntrustedExternal}) {
            Raw raw = from(origin);
            raw.trust = asked;
            const auto message = receive(raw);
            ASSERT_TRUE(message);
            const TrustLevel expected = std::max(own, asked);
            EXPECT_EQ(message->trust, expected);
            EXPECT_EQ(message->authority_class, authority_of(expected));
        }
    }
    Raw raw = from(domain::ChannelOrigin{"c"});
    raw.surface = DeliverySurface::HttpControlPrompt;
    raw.admission = AdmissionContext::ControlAuthenticated;
    EXPECT_EQ(receive(raw)->trust, TrustLevel::UntrustedExternal);
}

TEST(Ingress, TakesAnOriginOnlyFromADoorThatCanVouchForIt) {
    const std::vector<AdmissionContext> doors{
        AdmissionContext::PublicUnauthenticated, AdmissionContext::ControlAuthenticated,
        AdmissionContext::ExternalTriggerCapability, AdmissionContext::LocalProcess,
        AdmissionContext::RuntimeOwned};
    // Rows: origins() in order. Columns: doors in order.
    const std::vector<std::string_view> table{".x.x.", "xx.x.", "xx.x.", "..x..",
                                              "....x", "....x", "....x"};
    for (std::size_t i = 0; i < origins().size(); ++i)
        for (std::size_t j = 0; j < doors.size(); ++j) {
            Raw raw = from(origins()[i]);
            raw.admission = doors[j];
            const auto message = receive(raw);
            EXPECT_EQ(message.has_value(), table[i][j] == 'x') << i << " " << j;
            if (!message) EXPECT_EQ(message.error().code, base::ErrorCode::Refused);
        }
}

// contract: CORE-11, MSG-33, MSG-34, MSG-35, MSG-36, MSG-37, MSG-38, MSG-39, MSG-44
TEST(Ingress, TakesEachKindFromItsOwnOriginsOnly) {
    using K = MessageKind;
    // Columns: operator, channel, webhook, callback, timer, system, task.
    const std::vector<std::pair<K, std::string_view>> table{
        {K::OperatorPrompt, "x......"}, {K::ChannelEvent, ".x....."},
        {K::WebhookEvent, "..x...."},   {K::CallbackEvent, "...x..."},
        {K::TimerTick, "....x.."},      {K::SystemTick, ".....x."},
        {K::TaskResult, "......x"},     {K::TaskStatus, "......x"},
        {K::Control, "x....x."},        {K::BriefAck, ".....x."},
        {K::BriefResult, ".....x."},    {K::InternalFollowup, ".....xx"}};
    ASSERT_EQ(table.size(), base::typed::type_of<K>().names.size());
    for (const auto& [kind, row] : table)
        for (std::size_t i = 0; i < origins().size(); ++i) {
            Raw raw = from(origins()[i]);
            raw.kind = kind;
            const auto message = receive(raw);
            EXPECT_EQ(message.has_value(), row[i] == 'x') << base::enum_name(kind) << " " << i;
            if (message)
                EXPECT_EQ(message->kind, kind);
            else
                EXPECT_EQ(message.error().code, base::ErrorCode::InvalidInput);
        }
}

// contract: MSG-11
TEST(Ingress, DerivesTheTriggerFromTheKind) {
    using K = MessageKind;
    using T = TriggerKind;
    const std::vector<std::pair<K, T>> table{{K::OperatorPrompt, T::OperatorInput},
                                             {K::ChannelEvent, T::ExternalEvent},
                                             {K::WebhookEvent, T::ExternalEvent},
                                             {K::CallbackEvent, T::ExternalEvent},
                                             {K::TimerTick, T::TimerFire},
                                             {K::SystemTick, T::SystemTick},
                                             {K::TaskResult, T::TaskResult},
                                             {K::TaskStatus, T::TaskStatus},
                                             {K::Control, T::Control},
                                             {K::BriefAck, T::BriefDelivery},
                                             {K::BriefResult, T::BriefDelivery},
                                             {K::InternalFollowup, T::InternalFollowup}};
    ASSERT_EQ(table.size(), base::typed::type_of<K>().names.size());
    for (const auto& [kind, trigger] : table) {
        EXPECT_EQ(trigger_of(kind), trigger) << base::enum_name(kind);
        for (const auto& origin : origins()) {
            if (!is_allowed(kind, origin)) continue;
            Raw raw = from(origin);
            raw.kind = kind;
            raw.metadata = json::value{{"trigger_kind", "operator_input"}};
            EXPECT_EQ(receive(raw)->trigger_kind, trigger) << base::enum_name(kind);
        }
    }
}

// contract: TRUST-24, TRUST-30, MSG-10
TEST(Ingress, TakesPriorityAsAHintOnly) {
    Raw raw = from(domain::WebhookOrigin{"ci"});
    const auto usual = receive(raw);
    EXPECT_EQ(usual->priority, domain::Priority::Normal);
    raw.priority = domain::Priority::Interject;
    auto urgent = receive(raw);
    EXPECT_EQ(urgent->priority, domain::Priority::Interject);
    urgent->priority = domain::Priority::Normal;
    EXPECT_EQ(*urgent, *usual);
}

// contract: MSG-01, MSG-16, MSG-19, MSG-20, MSG-45
TEST(Ingress, MakesTheWholeEnvelope) {
    Raw raw = from(domain::WebhookOrigin{"ci", "push"});
    raw.body = domain::JsonBody{{{"ref", "main"}}};
    raw.metadata = json::value{{"resource", "repo/1"}};
    raw.correlation_id = "c";
    raw.causation_id = "m-0";
    raw.dedupe_key = "d";
    const auto message = receive(raw);
    ASSERT_TRUE(message) << message.error().message;
    EXPECT_EQ(base::canonical_json(base::to_json(*message)),
              base::canonical_json(base::parse_json(R"({
        "id": "id-1", "agent_id": "main", "created_at": "2031-01-01T02:13:20.000000Z",
        "kind": "webhook_event",
        "origin": {"kind": "webhook", "source": "ci", "event_type": "push"},
        "trust": "trusted_integration", "authority_class": "integration_signal",
        "priority": "normal", "trigger_kind": "external_event",
        "source_refs": {"resource": "repo/1"},
        "body": {"type": "json", "value": {"ref": "main"}}, "metadata": {"resource": "repo/1"},
        "delivery_surface": "http_webhook", "admission_context": "public_unauthenticated",
        "correlation_id": "c", "causation_id": "m-0"})")
                                       .value()));
}

// contract: MSG-49, TRUST-32
TEST(Ingress, LeavesAJsonBodyJson) {
    const json::value sent = base::parse_json(R"({"n":[1,2.5,{"deep":null}],"s":"<b>"})").value();
    Raw raw = from(domain::WebhookOrigin{"ci"});
    raw.body = domain::JsonBody{sent};
    EXPECT_EQ(receive(raw)->body, domain::Body(domain::JsonBody{sent}));
}

// contract: MSG-50
TEST(Ingress, AMessageOfACapabilityNamesItsDescriptor) {
    const auto message = receive(from(domain::CallbackOrigin{"trigger-7"})).value();
    EXPECT_EQ(message.origin, Origin(domain::CallbackOrigin{"trigger-7"}));
    EXPECT_EQ(message.admission_context, AdmissionContext::ExternalTriggerCapability);
    EXPECT_EQ(message.source_refs->at("external_trigger_id"), "trigger-7");
    EXPECT_EQ(base::string_at(base::to_json(message).at("origin"), "descriptor_id"), "trigger-7");
    // Nobody else may say that they are one.
    Raw raw = from(domain::CallbackOrigin{"trigger-7"});
    raw.admission = AdmissionContext::PublicUnauthenticated;
    EXPECT_EQ(receive(raw).error().code, base::ErrorCode::Refused);
}

TEST(Ingress, OnlyABoundTransportNamesTheRouteOfAnAnswer) {
    Raw raw = from(domain::OperatorOrigin{"ada"});
    raw.metadata =
        json::object{{kOperatorTransport, {{"binding_id", "b"}, {"reply_route_id", "thread-9"}}}};
    EXPECT_EQ(operator_route(receive(raw).value()), std::nullopt);
    raw.admission = AdmissionContext::OperatorTransportAuthenticated;
    EXPECT_EQ(operator_route(receive(raw).value()), (domain::OperatorRoute{"b", "thread-9"}));
    for (const auto& origin : origins()) {
        if (std::holds_alternative<domain::OperatorOrigin>(origin)) continue;
        EXPECT_FALSE(vouches_for(AdmissionContext::OperatorTransportAuthenticated, origin));
    }
}

}  // namespace
}  // namespace ingress
