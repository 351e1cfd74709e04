#include "service/views/envelope.h"

#include <gtest/gtest.h>

namespace views {
namespace {

domain::Event event(std::string kind, json::value data) {
    return {.id = {"event-1"},
            .event_seq = 7,
            .created_at = base::from_micros(1'925'000'000'000'000),
            .kind = std::move(kind),
            .data = std::move(data)};
}

// contract: EVENT-14, EVENT-15
TEST(Envelope, HasThePositionOfAnEventWithAnEmptyPayload) {
    EXPECT_EQ(
        base::to_json(envelope({"main"}, event("tick", json::object{}))),
        (json::value{
            {"id", "event-1"},
            {"event_seq", 7},
            {"ts", base::to_text(base::from_micros(1'925'000'000'000'000))},
            {"agent_id", "main"},
            {"type", "tick"},
            {"projection",
             {{"name", "operator"}, {"raw_payload_included", true}, {"redactions", json::array{}}}},
            {"provenance", json::object{}},
            {"payload", json::object{}}}));
}

// contract: EVENT-16
TEST(Envelope, CopiesTheOriginFromThePayload) {
    const json::value payload{{"origin", {{"kind", "webhook"}}},
                              {"trust", "trusted_integration"},
                              {"authority_class", "integration_signal"},
                              {"delivery_surface", "http_webhook"},
                              {"admission_context", "public_unauthenticated"},
                              {"transport", "chat"},
                              {"source", "hook"},
                              {"reply_route", "route-1"},
                              {"message_id", "m"},
                              {"task_id", "t"},
                              {"work_item_id", "w"},
                              {"correlation_id", "c1"},
                              {"causation_id", "c2"}};
    const auto provenance =
        base::to_json(envelope({"main"}, event("task_progress", payload)).provenance);
    EXPECT_EQ(provenance, payload);
}

TEST(Envelope, FindsTheIdsOfWholeRecords) {
    EXPECT_EQ(envelope({"main"}, event("message_enqueued", {{"id", "m-1"}, {"task_id", nullptr}}))
                  .provenance,
              (Provenance{.message_id = json::value("m-1")}));
    EXPECT_EQ(envelope({"main"},
                       event("task_created",
                             {{"id", "t-1"}, {"parent_message_id", "m-1"}, {"recovery", nullptr}}))
                  .provenance,
              (Provenance{.message_id = json::value("m-1"), .task_id = json::value("t-1")}));
}

// contract: EVENT-20
TEST(Envelope, HandsThePayloadOverAsItIsStoredInBothProjections) {
    const auto stored = event("tool_executed", {{"deep", {{"list", {1, 2, 3}}}}, {"text", "a\nb"}});
    EXPECT_EQ(envelope({"main"}, stored).payload, stored.data);
    EXPECT_EQ(envelope({"main"}, stored).projection.name, ProjectionName::Operator);
    EXPECT_EQ(envelope({"main"}, stored, ProjectionName::LocalDebug).payload, stored.data);
}

TEST(Envelope, ListsWhatWasLeftOutAtTheSource) {
    const auto out = envelope({"main"}, event("bound", {{"auth", {{"bearer_token", "[redacted]"}}},
                                                        {"list", {"x", "cb_[redacted]"}}}));
    EXPECT_EQ(out.projection.redactions,
              (std::vector<std::string>{"/auth/bearer_token", "/list/1"}));
}

}  // namespace
}  // namespace views
