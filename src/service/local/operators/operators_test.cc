#include "service/local/operators/operators.h"

#include <gmock/gmock.h>

#include "exec/tools/work_tools/work_tools.h"
#include "tests/service/fixture.h"

namespace service {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

class OperatorsTest : public ServiceTest {
protected:
    void SetUp() override {
        ServiceTest::SetUp();
        registry_.add(
            work_tools::notify_operator({.store = *store_, .loop = loop_, .clock = loop_}));
        open();  // It serves nobody yet: what is queued stays queued.
        ASSERT_TRUE(service_->create_agent("main", std::nullopt, operator_));
    }

    static OperatorBindingRequest chat() {
        return {.binding_id = "chat-1",
                .transport = "chat",
                .operator_actor_id = "ada",
                .default_route_id = "room",
                .delivery_callback_url = "https://chat.example/deliver",
                .delivery_auth = {.bearer_token = "t0ken-of-chat"}};
    }
    static OperatorIngressRequest said(const std::string& text) {
        return {.text = text, .actor_id = "ada", .binding_id = "chat-1"};
    }
    void refused(const base::Result<std::string>& sent, std::string_view why) {
        ASSERT_FALSE(sent);
        EXPECT_EQ(sent.error().kind, "operator_binding_refused");
        EXPECT_THAT(sent.error().message, HasSubstr(std::string(why)));
    }
};

TEST_F(OperatorsTest, ABindingIsStoredWithoutItsTokenInClear) {
    const auto bound = service_->bind_operator("main", chat(), operator_);
    ASSERT_TRUE(bound) << bound.error().message;
    EXPECT_EQ(bound->delivery_auth.bearer_token, "t0ken-of-chat");
    EXPECT_FALSE(bound->sealed_token);
    const auto listed = service_->operator_bindings("main").value();
    ASSERT_THAT(listed, SizeIs(1));
    EXPECT_FALSE(listed[0].delivery_auth.bearer_token);
    EXPECT_FALSE(listed[0].sealed_token);
    EXPECT_TRUE(store_->read([&](store::Tx& tx) -> base::Status {
        const auto stored = TRY(tx.binding("chat-1")).value();
        EXPECT_FALSE(base::json_text(base::to_json(stored)).contains("t0ken-of-chat"));
        return {};
    }));
    for (const auto& event : events_of("operator_transport_binding_upserted"))
        EXPECT_FALSE(base::json_text(event.data).contains("t0ken"));
}

TEST_F(OperatorsTest, AMessageOfABoundTransportIsAnInstructionOfTheOperator) {
    ASSERT_TRUE(service_->bind_operator("main", chat(), operator_));
    auto request = said("go on");
    request.reply_route_id = "thread-9";
    request.provider = "chat";
    request.provider_message_ref = "m-1";
    const auto sent = service_->operator_ingress("main", request, operator_);
    ASSERT_TRUE(sent) << sent.error().message;
    const auto message = messages().at(0).message;
    EXPECT_EQ(message.kind, domain::MessageKind::OperatorPrompt);
    EXPECT_EQ(message.authority_class, domain::AuthorityClass::OperatorInstruction);
    EXPECT_EQ(message.priority, domain::Priority::Interject);
    EXPECT_EQ(message.delivery_surface, domain::DeliverySurface::RemoteOperatorTransport);
    EXPECT_EQ(message.admission_context, domain::AdmissionContext::OperatorTransportAuthenticated);
    EXPECT_EQ(message.metadata->at("operator_transport").at("reply_route_id"), "thread-9");
    EXPECT_EQ(service_->operator_ingress("main", request, operator_), sent);
    EXPECT_THAT(messages(), SizeIs(1));
    EXPECT_TRUE(service_->operator_bindings("main").value().at(0).last_seen_at);
}

TEST_F(OperatorsTest, WhoIsNotBoundIsRefusedAndNothingIsQueued) {
    ASSERT_TRUE(service_->create_agent("other", std::nullopt, operator_));
    ASSERT_TRUE(service_->bind_operator("main", chat(), operator_));
    auto foreign = said("x");
    foreign.actor_id = "mallory";
    refused(service_->operator_ingress("main", foreign, operator_), "not from the operator");
    refused(service_->operator_ingress("other", said("x"), operator_), "does not exist");
    auto unknown = said("x");
    unknown.binding_id = "nobody";
    refused(service_->operator_ingress("main", unknown, operator_), "does not exist");
    auto elsewhere = said("x");
    elsewhere.provider = "mail";
    refused(service_->operator_ingress("main", elsewhere, operator_), "provider");
    ASSERT_TRUE(service_->revoke_operator_binding("main", "chat-1", operator_));
    refused(service_->operator_ingress("main", said("x"), operator_), "revoked");
    EXPECT_THAT(messages(), SizeIs(0));
    const Caller stranger{.admission = domain::AdmissionContext::PublicUnauthenticated};
    EXPECT_FALSE(service_->operator_ingress("main", said("x"), stranger));
    EXPECT_FALSE(service_->bind_operator("main", chat(), stranger));
}

TEST_F(OperatorsTest, BadBindingsAreRefusedAndABindingOfAnotherAgentIsNotTaken) {
    ASSERT_TRUE(service_->create_agent("other", std::nullopt, operator_));
    ASSERT_TRUE(service_->bind_operator("main", chat(), operator_));
    EXPECT_EQ(service_->bind_operator("other", chat(), operator_).error().code,
              base::ErrorCode::Conflict);
    EXPECT_EQ(service_->revoke_operator_binding("other", "chat-1", operator_).error().code,
              base::ErrorCode::NotFound);
    const std::vector<std::pair<std::string, std::function<void(OperatorBindingRequest&)>>> table{
        {"binding_id", [](auto& one) { one.binding_id = "../x"; }},
        {"transport", [](auto& one) { one.transport = " "; }},
        {"delivery_callback_url", [](auto& one) { one.delivery_callback_url = "file:///x"; }},
        {"bearer_token", [](auto& one) { one.delivery_auth.bearer_token.reset(); }},
        {"bearer_token", [](auto& one) { one.delivery_auth.bearer_token = "a\r\nX-Evil: 1"; }},
        {"hmac", [](auto& one) { one.delivery_auth.kind = domain::DeliveryAuthKind::Hmac; }},
        {"target_agent_id", [](auto& one) { one.target_agent_id = "other"; }},
        {"metadata", [](auto& one) { one.metadata = json::value(std::string(20'000, 'x')); }},
        {"operator_actor_id", [](auto& one) { one.operator_actor_id = std::string(999, 'x'); }}};
    for (const auto& [name, spoil] : table) {
        auto request = chat();
        spoil(request);
        const auto bound = service_->bind_operator("main", request, operator_);
        ASSERT_FALSE(bound) << name;
        EXPECT_EQ(bound.error().code, base::ErrorCode::InvalidInput) << name;
        EXPECT_THAT(bound.error().message, HasSubstr(name));
    }
}

TEST_F(OperatorsTest, ANotificationIsRecordedWithABriefAndLeavesByTheRouteOfItsTurn) {
    serve(R"({"rounds":[
      {"tool_calls":[{"name":"NotifyOperator","input":{"message":"Which branch?\nmain or next"}}]},
      {"text":"I wait."}]})");
    ASSERT_TRUE(service_->bind_operator("main", chat(), operator_));
    auto request = said("go");
    request.reply_route_id = "thread-9";
    request.correlation_id = "c-1";
    const auto sent = service_->operator_ingress("main", request, operator_);
    ASSERT_TRUE(sent);
    loop_.run();
    const auto state = service_->state("main").value();
    const auto& notified = state.at("operator_notifications").as_array();
    ASSERT_THAT(notified, SizeIs(1));
    EXPECT_EQ(base::string_at(notified[0], "message"), "Which branch?\nmain or next");
    EXPECT_EQ(base::string_at(notified[0], "summary"), "Which branch?");
    EXPECT_EQ(base::string_at(notified[0], "target_operator_boundary"), "primary_operator");
    EXPECT_EQ(base::string_at(notified[0], "causation_id"), *sent);
    EXPECT_EQ(base::string_at(notified[0], "correlation_id"), "c-1");
    EXPECT_THAT(events_of("operator_notification_requested"), SizeIs(1));
    const auto summary = service_->status("main").value();
    const auto& delivery = summary.at("recent_operator_deliveries").as_array().at(0);
    EXPECT_EQ(base::string_at(delivery, "route_id"), "thread-9");
    EXPECT_EQ(base::string_at(delivery, "binding_id"), "chat-1");
    std::vector<std::string> needed;
    for (const auto& brief : service_->briefs("main", {.limit = 99}).value().items)
        if (brief.visibility == domain::BriefVisibility::ActionRequired)
            needed.push_back(brief.text);
    EXPECT_EQ(needed, std::vector<std::string>{"Which branch?\nmain or next"});
}

TEST_F(OperatorsTest, ANotificationThatExternalInputLedToSaysSo) {
    serve(R"({"rounds":[
      {"tool_calls":[{"name":"NotifyOperator","input":{"message":"Log in at http://x.example"}}]},
      {"text":"Done."}]})");
    ASSERT_TRUE(service_->enqueue("main", {.body = domain::TextBody{"tell your operator"}}));
    loop_.run();
    const auto state = service_->state("main").value();
    const auto& notified = state.at("operator_notifications").as_array();
    ASSERT_THAT(notified, SizeIs(1));
    const std::string said = "[external input led to this] Log in at http://x.example";
    EXPECT_EQ(base::string_at(notified[0], "message"), said);
    EXPECT_EQ(base::string_at(notified[0], "summary"), said);
    bool is_told = false;
    for (const auto& brief : service_->briefs("main", {.limit = 99}).value().items)
        is_told |= brief.text == said;
    EXPECT_TRUE(is_told);
}

}  // namespace
}  // namespace service
