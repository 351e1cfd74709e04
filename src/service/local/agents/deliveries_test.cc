// Messages that enter from each entry point.
#include <gmock/gmock.h>

#include <map>
#include <set>

#include "tests/service/fixture.h"

namespace service {
namespace {

// contract: MSG-03, MSG-06, MSG-07
TEST_F(ServiceTest, EachWayInGivesItsMessagesTheirKindTheirOriginAndAnIdOfTheirOwn) {
    auto& service = serve_main();
    ASSERT_TRUE(service.wake("main", {.reason = "x"}, operator_));
    constexpr int kEach = 350;
    for (int n = 0; n < kEach; ++n) {
        ASSERT_TRUE(service.prompt("main", "hi", operator_));
        ASSERT_TRUE(service.enqueue("main", {.kind = domain::MessageKind::ChannelEvent,
                                             .origin = domain::ChannelOrigin{"c"},
                                             .body = domain::TextBody{"x"}}));
        ASSERT_TRUE(service.enqueue("main", {.body = domain::TextBody{"x"},
                                             .surface = domain::DeliverySurface::HttpWebhook}));
    }
    std::set<std::string> ids;
    std::map<std::pair<std::string, std::string>, int> labels;
    for (const auto& one : messages()) {
        EXPECT_TRUE(ids.insert(one.message.id.value).second) << one.message.id.value;
        ++labels[{std::string(base::enum_name(one.message.kind)),
                  base::string_at(base::to_json(one.message.origin), "kind")}];
    }
    EXPECT_EQ(labels, (std::map<std::pair<std::string, std::string>, int>{
                          {{"operator_prompt", "operator"}, kEach},
                          {{"channel_event", "channel"}, kEach},
                          {{"webhook_event", "webhook"}, kEach},
                          {{"system_tick", "system"}, 1}}));
}

// contract: AUDIT-05, AUDIT-06, AUDIT-07, AUDIT-08
TEST_F(ServiceTest, TheEventsOfAMessageHaveItsIdAndItsLabels) {
    auto& service = serve_main();
    ASSERT_TRUE(service.prompt("main", "hi", operator_));
    ASSERT_TRUE(service.enqueue(
        "main", {.priority = domain::Priority::Background, .body = domain::TextBody{"x"}}));
    loop_.run();
    std::map<std::string, json::value> stored;
    for (const auto& one : messages())
        stored.emplace(one.message.id.value, base::to_json(one.message));
    ASSERT_EQ(stored.size(), 2U);
    const std::map<std::string, std::string> id_of{{"message_admitted", "message_id"},
                                                   {"message_enqueued", "id"},
                                                   {"message_processing_started", "id"},
                                                   {"turn_started", "message_id"}};
    for (const auto& [kind, id] : id_of) {
        const auto events = events_of(kind);
        EXPECT_EQ(events.size(), stored.size()) << kind;
        for (const auto& event : events) {
            const auto& message = stored.at(base::string_at(event.data, id));
            for (const auto* label : {"origin", "trust", "authority_class", "priority",
                                      "delivery_surface", "admission_context"})
                EXPECT_EQ(event.data.at(label), message.at(label)) << kind << " " << label;
        }
    }
}

TEST_F(ServiceTest, TheSameKeyTwiceIsOneMessage) {
    auto& service = serve_main();
    const EnqueueRequest request{.body = domain::TextBody{"x"}, .dedupe_key = "delivery-1"};
    const auto first = service.enqueue("main", request).value();
    EXPECT_EQ(service.enqueue("main", request).value(), first);
    EXPECT_EQ(messages().size(), 1U);
}

// contract: MSG-27
TEST_F(ServiceTest, WhatAnExternalSenderEnqueuesClaimsNothing) {
    auto& service = serve_main();
    EXPECT_EQ(service.enqueue("main", {.priority = domain::Priority::Interject}).error().code,
              base::ErrorCode::Refused);
    EXPECT_EQ(service
                  .enqueue("main", {.kind = domain::MessageKind::OperatorPrompt,
                                    .origin = domain::OperatorOrigin{}})
                  .error()
                  .code,
              base::ErrorCode::Refused);
    ASSERT_TRUE(service.enqueue(
        "main", {.body = domain::TextBody{"x"},
                 .metadata = json::object{{"work_item_id", "work_1"}, {"task_id", "t"}}}));
    const auto message = messages().at(0).message;
    EXPECT_FALSE(message.work_item_id || message.task_id);
    EXPECT_EQ(message.authority_class, domain::AuthorityClass::IntegrationSignal);
}

}  // namespace
}  // namespace service
