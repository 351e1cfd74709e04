// External senders wake an agent: capabilities and what a delivery does and does not do.
#include <gmock/gmock.h>

#include "base/hash.h"
#include "tests/service/fixture.h"

namespace service {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::UnorderedElementsAre;

class TriggersTest : public ServiceTest {
protected:
    json::object trigger(bool rotate = false) {
        return service_->external_trigger("main", rotate, operator_).value();
    }
    std::string token() {
        const std::string url = base::string_at(trigger(), "trigger_url");
        return url.substr(url.rfind('/') + 1);
    }
    base::Result<json::object> post(const std::string& token, std::string mode = "wake") {
        return service_->callback({.token = token,
                                   .mode = std::move(mode),
                                   .body = domain::JsonBody{json::object{{"build", "red"}}},
                                   .content_type = "application/json",
                                   .correlation_id = "c-1",
                                   .causation_id = "k-1"});
    }
    std::vector<std::string> keys(const json::value& object) {
        std::vector<std::string> list;
        for (const auto& member : object.as_object()) list.emplace_back(member.key());
        return list;
    }
};

// contract: TRIG-03, TRIG-08, TRIG-09, TRIG-10, TRIG-15, TRIG-16
TEST_F(TriggersTest, AnAgentHasOneCapabilityAlsoInTheNextProcess) {
    serve_main();
    const auto first = trigger();
    EXPECT_THAT(keys(first), UnorderedElementsAre("external_trigger_id", "trigger_url",
                                                  "target_agent_id", "delivery_mode", "status"));
    EXPECT_EQ(base::string_at(first, "delivery_mode"), "wake_hint");
    EXPECT_EQ(base::string_at(first, "status"), "active");
    EXPECT_THAT(base::string_at(first, "trigger_url"),
                testing::MatchesRegex("http://127.0.0.1:7878/callbacks/wake/cb_[0-9a-f]+"));
    EXPECT_EQ(base::string_at(first, "trigger_url").size(),
              std::string("http://127.0.0.1:7878/callbacks/wake/cb_").size() + 32);
    for (int n = 0; n < 10; ++n) EXPECT_EQ(trigger(), first);
    serve();
    EXPECT_EQ(trigger(), first);
}

// contract: TRIG-13
TEST_F(TriggersTest, OnlyADigestOfTheTokenIsKeptAndEachAgentHasItsOwn) {
    auto& service = serve_main();
    const std::string secret = token();
    ASSERT_TRUE(service.create_agent("other", std::nullopt, operator_));
    EXPECT_NE(
        base::string_at(service.external_trigger("other", false, operator_).value(), "trigger_url"),
        base::string_at(trigger(), "trigger_url"));
    ASSERT_TRUE(service.prompt("main", "hi", operator_));
    ASSERT_TRUE(post(secret));
    loop_.run();
    const auto bytes = dynamic_cast<sqlite::InlineStore&>(*store_).snapshot().value();
    EXPECT_EQ(bytes.find(secret), std::string::npos);
    EXPECT_NE(bytes.find(base::sha256_hex(secret)), std::string::npos);
    EXPECT_THAT(opening(0), HasSubstr(secret));  // Yet the model is shown it.
}

// contract: TRIG-11, TRIG-12, TRIG-17, TRIG-18
TEST_F(TriggersTest, ThePromptShowsTheUrlAsASecretWithoutAnyCallOfTheModel) {
    auto& service = serve_main();
    ASSERT_TRUE(service.prompt("main", "hi", operator_));
    loop_.run();
    // Asked for only now: it was there for the first prompt.
    const std::string url = base::string_at(trigger(), "trigger_url");
    for (const std::string& prompt :
         {opening(0),
          service.debug_prompt("main", "hi", domain::TrustLevel::TrustedOperator).value()}) {
        EXPECT_THAT(prompt, HasSubstr("trigger_url (capability secret): " + url));
        EXPECT_THAT(prompt, HasSubstr("Do not repeat, store or forward it, unless your present "
                                      "task is explicitly to configure an outside system"));
        EXPECT_THAT(prompt, HasSubstr("external_trigger_id: "));
    }
    EXPECT_THAT(events_of("tool_executed"), IsEmpty());
}

TEST_F(TriggersTest, TextFromElsewhereCannotHaveTheUrlOfAnotherAgentShown) {
    auto& service = serve_main();
    ASSERT_TRUE(service.create_agent("other", std::nullopt, operator_));
    const auto other = service.external_trigger("other", false, operator_).value();
    const std::string placeholder =
        "{{external-trigger:" + base::string_at(other, "external_trigger_id") + "}}";
    ASSERT_TRUE(service.enqueue("main", {.body = domain::TextBody{placeholder}}));
    loop_.run();
    EXPECT_THAT(opening(0), HasSubstr(placeholder));
    EXPECT_THAT(opening(0), Not(HasSubstr(base::string_at(other, "trigger_url"))));
}

// contract: TRIG-04, TRIG-14, TRIG-25, TRIG-27, TRIG-28, TRIG-32, TRIG-44
// contract: TICK-04, TICK-15, TRUST-16
TEST_F(TriggersTest, WhoHasTheUrlWakesTheAgentAndNobodyElse) {
    serve_main();
    const std::string secret = token();
    std::string wrong = secret;
    wrong.back() = wrong.back() == '0' ? '1' : '0';
    for (const auto& bad : {wrong, std::string("cb_"), std::string()}) {
        const auto refused = post(bad);
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().code, base::ErrorCode::Refused);
        EXPECT_EQ(refused.error().kind, "capability_refused");
    }
    EXPECT_FALSE(post(secret, "other"));
    EXPECT_THAT(messages(), IsEmpty());
    EXPECT_THAT(events_of("callback_delivered"), IsEmpty());

    const auto answer = post(secret).value();
    EXPECT_EQ(base::string_at(answer, "disposition"), "triggered");
    EXPECT_EQ(base::string_at(answer, "agent_id"), "main");
    EXPECT_EQ(base::string_at(answer, "scope"), "agent");
    EXPECT_TRUE(model_->requests.empty());  // The answer did not wait for a turn.
    ASSERT_EQ(messages().size(), 1U);
    EXPECT_EQ(messages()[0].message.kind, domain::MessageKind::SystemTick);
    EXPECT_EQ(messages()[0].message.trust, domain::TrustLevel::TrustedIntegration);
    EXPECT_THAT(domain::readable(messages()[0].message.body), Not(HasSubstr("red")));
    loop_.run();
    EXPECT_EQ(model_->requests.size(), 1U);
    EXPECT_THAT(opening(0), HasSubstr("\"build\": \"red\""));
}

// contract: TRIG-30, TRIG-36
TEST_F(TriggersTest, DeliveriesAreCountedAndTheCapabilityStays) {
    auto& service = serve_main();
    ASSERT_TRUE(post(token()));
    loop_.after(std::chrono::seconds(3), [] {});
    loop_.run();
    const auto first = service.state("main").value().at("external_triggers").at(0);
    ASSERT_TRUE(post(token()));
    const auto second = service.state("main").value().at("external_triggers").at(0);
    EXPECT_EQ(base::int_at(first, "delivery_count"), 1);
    EXPECT_EQ(base::int_at(second, "delivery_count"), 2);
    EXPECT_LT(base::string_at(first, "last_delivered_at"),
              base::string_at(second, "last_delivered_at"));
}

// contract: TRIG-31
TEST_F(TriggersTest, ADeliveryIsOnRecordWithWhereItCameFrom) {
    auto& service = serve_main();
    ASSERT_TRUE(post(token()));
    const auto plain = events_of("callback_delivered").at(0).data;
    EXPECT_THAT(
        keys(plain),
        UnorderedElementsAre("agent_id", "waiting_intent_id", "work_item_id", "external_trigger_id",
                             "scope", "delivery_mode", "descriptor_delivery_mode",
                             "deprecated_enqueue_message_mapped_to_wake_hint", "source", "resource",
                             "trigger_count", "origin", "delivery_surface", "disposition",
                             "admission_context", "authority_class"));
    EXPECT_EQ(base::string_at(plain, "external_trigger_id"),
              base::string_at(trigger(), "external_trigger_id"));
    EXPECT_EQ(base::string_at(plain, "agent_id"), "main");
    EXPECT_EQ(base::string_at(plain, "delivery_mode"), "wake_hint");
    EXPECT_EQ(base::string_at(plain, "descriptor_delivery_mode"), "wake_hint");
    EXPECT_FALSE(base::bool_at(plain, "deprecated_enqueue_message_mapped_to_wake_hint"));
    EXPECT_EQ(base::string_at(plain, "authority_class"), "integration_signal");
    EXPECT_EQ(base::string_at(plain, "delivery_surface"), "http_callback_wake");
    for (const auto* absent : {"source", "resource", "waiting_intent_id", "work_item_id"})
        EXPECT_TRUE(plain.at(absent).is_null()) << absent;

    // What the delivery and a wait that it is about have to say.
    ASSERT_TRUE(store_->write(store::Durability::Disk, [&](store::Tx& tx) -> base::Status {
        TRY(tx.put_wait({.id = {"other"},
                         .agent_id = {"main"},
                         .kind = domain::WaitKind::External,
                         .subject_ref = "c-2",
                         .work_item_id = domain::WorkItemId{"work_other"}}));
        return tx.put_wait({.id = {"review"},
                            .agent_id = {"main"},
                            .kind = domain::WaitKind::External,
                            .subject_ref = "c-1",
                            .work_item_id = domain::WorkItemId{"work_review"}});
    }));
    ASSERT_TRUE(service.callback({.token = token(),
                                  .mode = "enqueue",
                                  .body = domain::JsonBody{json::object{
                                      {"source", "ci"}, {"resource", std::string(1000, 'r')}}},
                                  .correlation_id = "c-1"}));
    const auto legacy = events_of("callback_delivered").at(1).data;
    EXPECT_EQ(keys(legacy), keys(plain));
    EXPECT_EQ(base::string_at(legacy, "source"), "ci");
    EXPECT_THAT(base::string_at(legacy, "resource"), testing::StartsWith("rrr"));
    EXPECT_LT(base::string_at(legacy, "resource").size(), 1000U);
    EXPECT_EQ(base::string_at(legacy, "waiting_intent_id"), "review");
    EXPECT_EQ(base::string_at(legacy, "work_item_id"), "work_review");
    EXPECT_EQ(base::string_at(legacy, "delivery_surface"), "http_callback_enqueue");
    EXPECT_TRUE(base::bool_at(legacy, "deprecated_enqueue_message_mapped_to_wake_hint"));
    EXPECT_EQ(base::int_at(legacy, "trigger_count"), 2);
}

// contract: STATE-34
TEST_F(TriggersTest, AnAgentThatCannotRunHasNothingStoredForIt) {
    auto& service = serve_main();
    const std::string secret = token();
    ASSERT_TRUE(store_->write(store::Durability::Disk, [&](store::Tx& tx) -> base::Status {
        auto agent = *TRY(tx.agent({"main"}));
        agent.identity.status = domain::IdentityStatus::Archived;
        return tx.put_agent(agent);
    }));
    for (const char* mode : {"wake", "enqueue"})
        EXPECT_EQ(post(secret, mode).error().kind, "capability_refused") << mode;
    EXPECT_EQ(service.enqueue("main", {.body = domain::TextBody{"hi"}}).error().code,
              base::ErrorCode::NotFound);
    ASSERT_TRUE(store_->read([](store::Tx& tx) -> base::Status {
        EXPECT_THAT(TRY(tx.messages({"main"}, {.limit = 100})), IsEmpty());
        EXPECT_EQ(TRY(tx.wake_hint({"main"})), std::nullopt);
        for (const auto& event : TRY(tx.events({"main"}, {.limit = 1000})))
            EXPECT_NE(event.kind, "callback_delivered");
        return {};
    }));
}

// Ruling 5 replaces HINT-06: the old URL is answered as a hint.
// contract: TRIG-29, HINT-05, HINT-06
TEST_F(TriggersTest, AnOldEnqueueCapabilityIsAHintAndMarkedAsOld) {
    auto& service = serve_main();
    ASSERT_TRUE(service.revoke_trigger("main", operator_));
    ASSERT_TRUE(store_->write(store::Durability::Disk, [&](store::Tx& tx) {
        return tx.put_trigger({.external_trigger_id = {"old"},
                               .target_agent_id = {"main"},
                               .delivery_mode = domain::DeliveryMode::EnqueueMessage,
                               .token_hash = base::sha256_hex("cb_old")});
    }));
    ASSERT_TRUE(post("cb_old", "enqueue"));
    ASSERT_EQ(messages().size(), 1U);
    EXPECT_EQ(messages()[0].message.kind, domain::MessageKind::SystemTick);
    const auto event = events_of("callback_delivered").at(0).data;
    EXPECT_EQ(base::string_at(event, "delivery_mode"), "wake_hint");
    EXPECT_EQ(base::string_at(event, "descriptor_delivery_mode"), "enqueue_message");
    EXPECT_TRUE(base::bool_at(event, "deprecated_enqueue_message_mapped_to_wake_hint"));
    EXPECT_EQ(base::string_at(event, "external_trigger_id"), "old");
}

// contract: HINT-01, HINT-04, HINT-09, HINT-13
TEST_F(TriggersTest, AHintThatWaitsKeepsWhatCameWithIt) {
    auto& service = serve_main(kSlowAnswer);
    ASSERT_TRUE(service.prompt("main", "work", operator_));
    loop_.run_until([&] { return model_->requests.size() == 1; });
    EXPECT_EQ(base::string_at(post(token()).value(), "disposition"), "coalesced");
    const auto hint = service.status("main").value().at("agent").at("pending_wake_hint");
    const std::string id = base::string_at(trigger(), "external_trigger_id");
    EXPECT_EQ(base::string_at(hint, "external_trigger_id"), id);
    EXPECT_EQ(base::string_at(hint, "target_agent_id"), "main");
    EXPECT_EQ(base::string_at(hint, "delivery_mode"), "wake_hint");
    EXPECT_EQ(base::string_at(hint, "source"), "callback");
    EXPECT_EQ(base::string_at(hint, "content_type"), "application/json");
    EXPECT_EQ(base::string_at(hint, "correlation_id"), "c-1");
    EXPECT_EQ(base::string_at(hint, "causation_id"), "k-1");
    EXPECT_EQ(hint.at("body").at("value").at("build"), "red");
    EXPECT_EQ(messages().size(), 1U);  // The prompt; the hint is no message.
    loop_.run();
    const auto tick = messages().at(1).message;
    EXPECT_EQ(tick.kind, domain::MessageKind::SystemTick);
    for (const auto* key : {"external_trigger_id", "target_agent_id", "delivery_mode", "source",
                            "content_type", "body", "correlation_id", "causation_id"})
        EXPECT_EQ(tick.metadata->at("wake_hint").at(key), hint.at(key)) << key;
    EXPECT_EQ(tick.source_refs->at("external_trigger_id"), id);
    EXPECT_EQ(tick.correlation_id, "c-1");
}

// contract: TRIG-26, TRIG-40, TRIG-41
TEST_F(TriggersTest, ARevokedUrlFailsAndItsRecordsStay) {
    auto& service = serve_main();
    const std::string secret = token();
    const auto before = trigger();
    ASSERT_TRUE(post(secret));
    ASSERT_TRUE(service.revoke_trigger("main", operator_));
    EXPECT_EQ(post(secret).error().kind, "capability_refused");
    EXPECT_EQ(events_of("callback_delivered").size(), 1U);
    const auto shown = service.state("main").value().at("external_triggers").at(0);
    EXPECT_EQ(base::string_at(shown, "status"), "revoked");
    EXPECT_EQ(base::int_at(shown, "delivery_count"), 1);
    // Opening a turn gives no new one: it was revoked on purpose.
    loop_.run();
    EXPECT_THAT(service.status("main").value().at("active_external_triggers").as_array(),
                testing::SizeIs(0));
    EXPECT_EQ(service.external_trigger("main", false, operator_).error().code,
              base::ErrorCode::Conflict)
        << "it stays revoked when it is only looked at";
    const auto after = trigger(true);
    EXPECT_NE(base::string_at(after, "trigger_url"), base::string_at(before, "trigger_url"));
    EXPECT_TRUE(post(token()));
}

TEST_F(TriggersTest, RotatingReplacesTheUrl) {
    serve_main();
    const std::string old = token();
    trigger(true);
    EXPECT_EQ(post(old).error().kind, "capability_refused");
    EXPECT_TRUE(post(token()));
}

// contract: TRIG-34
TEST_F(TriggersTest, ADeliveryEndsNoWait) {
    auto& service = serve_main();
    ASSERT_TRUE(store_->write(store::Durability::Disk, [&](store::Tx& tx) {
        return tx.put_wait({.id = {"w"},
                            .agent_id = {"main"},
                            .kind = domain::WaitKind::External,
                            .waiting_for = "the review"});
    }));
    const auto waits = [&] {
        return service.status("main").value().at("active_wait_conditions").as_array();
    };
    ASSERT_TRUE(post(token()));
    loop_.run();
    ASSERT_EQ(waits().size(), 1U);
    EXPECT_EQ(base::string_at(waits().at(0), "status"), "active");
}

// contract: TRIG-01, TRIG-05, TRIG-07
TEST_F(TriggersTest, WhoeverDeliversWhateverIsTheSameHintByTheSameCapability) {
    open();
    ASSERT_TRUE(service_->create_agent("main", std::nullopt, operator_));
    ASSERT_TRUE(service_->set_lifecycle("main", LifecycleAction::Pause, operator_));
    const std::string secret = token();
    const std::vector<std::optional<domain::Body>> bodies{
        std::nullopt, domain::TextBody{"plain"},
        domain::JsonBody{json::object{{"source", "github"}, {"action", "opened"}}},
        domain::JsonBody{json::object{{"source", "gitlab"}, {"object_kind", "push"}}},
        domain::JsonBody{json::object{{"anything", json::array{1, 2}}}}};
    std::set<std::string> capabilities;
    for (const auto& body : bodies) {
        const auto answer = service_->callback({.token = secret, .mode = "wake", .body = body});
        ASSERT_TRUE(answer) << answer.error().message;
        capabilities.insert(base::string_at(*answer, "external_trigger_id"));
        EXPECT_EQ(base::string_at(*answer, "delivery_mode"), "wake_hint");
    }
    EXPECT_THAT(capabilities, testing::SizeIs(1));
    // Nothing but ticks and the one hint is stored of them.
    for (const auto& queued : messages())
        EXPECT_EQ(queued.message.kind, domain::MessageKind::SystemTick);
    const auto hint =
        service_->status("main").value().at("agent").as_object().at("pending_wake_hint");
    EXPECT_TRUE(hint.is_object() || !messages().empty());
    EXPECT_THAT(events_of("callback_delivered"), testing::SizeIs(bodies.size()));
}

// contract: TRIG-19
TEST_F(TriggersTest, AServiceThatWasGivenTheUrlWakesTheAgentWhenSomethingChanges) {
    auto& service = serve_main();
    ASSERT_TRUE(service.prompt("main", "watch the build", operator_));
    loop_.run();
    // The service keeps what the prompt showed, and knows nothing else of this runtime.
    const std::string prompt = opening(0);
    const std::string mark = "trigger_url (capability secret): ";
    const auto at = prompt.find(mark) + mark.size();
    const std::string watched = prompt.substr(at, prompt.find_first_of(" \n", at) - at);
    const auto asked = model_->requests.size();
    loop_.after(std::chrono::hours(3), [] {});
    loop_.run();
    EXPECT_EQ(model_->requests.size(), asked);  // Nothing polls.
    ASSERT_TRUE(post(watched.substr(watched.rfind('/') + 1)));
    loop_.run();
    EXPECT_EQ(model_->requests.size(), asked + 1);
    EXPECT_THAT(opening(asked), HasSubstr("\"build\": \"red\""));
}

}  // namespace
}  // namespace service
