#include "domain/events/kinds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "domain/events/golden.h"
#include "domain/events/messages.h"
#include "domain/events/scheduler.h"
#include "domain/events/tasks.h"
#include "domain/events/tools.h"
#include "domain/events/turn.h"
#include "domain/events/waiting.h"

namespace domain::events {
namespace {

bool is_stored_before(std::string_view kind) {
    return std::ranges::any_of(kGolden, [&](const Golden& one) { return one.kind == kind; });
}

// contract: EVENT-21
TEST(Kinds, EachIsReadAndWrittenToTheByteAsItIsStored) {
    for (const auto& golden : kGolden) {
        const auto* kind = find_kind(golden.kind);
        ASSERT_TRUE(kind) << golden.kind;
        const json::value stored = json::parse(json::string_view(golden.data));
        const auto again = kind->rewrite(stored);
        ASSERT_TRUE(again) << golden.kind << ": " << again.error().message;
        EXPECT_EQ(base::json_text(*again), golden.data) << golden.kind;
    }
    for (const auto& kind : kinds()) EXPECT_TRUE(is_stored_before(kind.name)) << kind.name;
}

TEST(Kinds, AreNamedOnceAndInOrder) {
    std::set<std::string_view> names;
    for (const auto& kind : kinds()) EXPECT_TRUE(names.insert(kind.name).second) << kind.name;
    EXPECT_TRUE(std::ranges::is_sorted(kinds(), {}, &Kind::name));
    EXPECT_EQ(find_kind("turn_started")->category, Category::Message);
    EXPECT_EQ(find_kind("a_kind_of_tomorrow"), nullptr);
    EXPECT_EQ(find_kind(""), nullptr);
}

// contract: EVENT-21
TEST(Kinds, EachHasASchemaThatNamesItsMembers) {
    for (const auto& golden : kGolden) {
        const auto schema = find_kind(golden.kind)->schema();
        const auto& properties = schema.at("properties").as_object();
        const bool is_open = schema.at("additionalProperties").as_bool();
        const json::value stored = json::parse(json::string_view(golden.data));
        for (const auto& member : stored.as_object())
            EXPECT_TRUE(is_open || properties.contains(member.key()))
                << golden.kind << " " << member.key();
        if (const auto* required = base::find(schema, "required"))
            for (const auto& name : required->as_array())
                EXPECT_TRUE(stored.as_object().contains(name.as_string()))
                    << golden.kind << " " << name;
    }
}

// Does it name a message, or hold a whole one?
bool names_a_message(const Kind& kind) {
    return kind.name.starts_with("message_") ||
           kind.schema().at("properties").as_object().contains("message_id");
}

// Kinds that name a message and are about something else. The labels are on record under the same
// id, in the same log.
struct OnlyNames {
    std::string_view kind;
    std::string_view about;
};
constexpr auto kOnlyName = std::to_array<OnlyNames>({
    {AttemptResumed::kKind, "a turn: turn_started has the labels"},
    {TurnContextBuilt::kKind, "a turn: turn_started, in the same commit, has the labels"},
    {TurnParked::kKind, "a turn: turn_started has the labels"},
    {ProcessExecutionRequested::kKind, "a call of a turn; has the trust that allowed it"},
    {ContinuationTriggerReceived::kKind,
     "what the agent waited for; message_processing_started, in the same commit, is the message"},
    {ContinuationResolved::kKind,
     "what the agent waited for; message_processing_started, in the same commit, is the message"},
    {SystemTickEmitted::kKind, "a wake-up; message_admitted of its tick is in the same commit"},
    {TimerFired::kKind, "a timer; message_admitted of its tick is in the same commit"},
    {WaitReconciliationRequested::kKind, "a wait; message_admitted has the labels"},
    {WaitConditionResolved::kKind, "a wait; message_admitted has the labels"},
});

// Stored events of these may lack the labels: older versions wrote none.
bool is_labelled_later(const Kind& kind) {
    return kind.name == TurnStarted::kKind || kind.name == SchedulerDecision::kKind;
}

bool only_names(const Kind& kind) {
    return std::ranges::find(kOnlyName, kind.name, &OnlyNames::kind) != kOnlyName.end();
}

// contract: AUDIT-05, AUDIT-06, AUDIT-07, AUDIT-08
TEST(Kinds, ThatAreAboutAMessageAllKeepItsIdAndLabels) {
    std::size_t exceptions = 0;
    for (const auto& kind : kinds()) {
        if (!names_a_message(kind)) continue;
        const auto schema = kind.schema();
        const auto& members = schema.at("properties").as_object();
        const auto& required = schema.at("required").as_array();
        const auto has = [&](std::string_view name) {
            return std::ranges::find(required, json::value(name)) != required.end() ||
                   (is_labelled_later(kind) && members.contains(name));
        };
        const auto labels = std::to_array<std::string_view>({"origin", "trust", "priority"});
        if (only_names(kind)) {
            ++exceptions;
            EXPECT_FALSE(std::ranges::all_of(labels, has)) << kind.name << " is no exception";
            continue;
        }
        EXPECT_TRUE(has("message_id") || has("id")) << kind.name;
        for (const auto label : labels) EXPECT_TRUE(has(label)) << kind.name << " " << label;
    }
    EXPECT_EQ(exceptions, kOnlyName.size());
}

Event event(std::string_view kind, json::value data) {
    return {.kind = std::string(kind), .data = std::move(data)};
}

TEST(Payloads, OfAnotherVersionAreReadAsFarAsTheyCanBe) {
    const auto read_back =
        read<TurnStarted>(event(TurnStarted::kKind, {{"run_id", "r-1"},
                                                     {"turn_index", "not a number"},
                                                     {"message_kind", "a kind of tomorrow"},
                                                     {"member_of_tomorrow", 1}}));
    ASSERT_TRUE(read_back);
    EXPECT_EQ(read_back->run_id, RunId{"r-1"});
    EXPECT_EQ(read_back->turn_index, 0);
    EXPECT_EQ(read_back->message_id, MessageId{});
    EXPECT_TRUE(read<TurnStarted>(event(TurnStarted::kKind, nullptr)));
    EXPECT_FALSE(read<TurnStarted>(event(TurnTerminal::kKind, json::object{})));
    EXPECT_EQ(
        read<BriefCreated>(event(BriefCreated::kKind, {{"visibility", "tomorrow"}}))->visibility,
        std::nullopt);
}

TEST(Payloads, BecomeDraftsOfTheirKind) {
    const Draft draft = TurnWaitOver{.agent_id = {"main"}, .run_id = {"r"}, .round = 2};
    EXPECT_EQ(draft.kind, "turn_wait_over");
    EXPECT_EQ(base::json_text(draft.data), R"({"agent_id":"main","run_id":"r","round":2})");
}

TEST(Payloads, KeepTheMembersOfAnOpenOne) {
    const Draft draft = AgentStateChanged{.state = {{"id", "main"}, {"status", "asleep"}},
                                          .previous_status = AgentStatus::AwakeRunning};
    EXPECT_EQ(base::json_text(draft.data),
              R"({"id":"main","status":"asleep","previous_status":"awake_running"})");
    const auto back = read<AgentStateChanged>(event(draft.kind, draft.data));
    EXPECT_EQ(back->state, (json::object{{"id", "main"}, {"status", "asleep"}}));
    EXPECT_EQ(back->previous_status, AgentStatus::AwakeRunning);
}

TEST(Payloads, TakeTheLabelsOfTheirMessage) {
    const Message message{.id = {"m"},
                          .origin = ChannelOrigin{"c"},
                          .trust = TrustLevel::UntrustedExternal,
                          .authority_class = AuthorityClass::ExternalEvidence,
                          .priority = Priority::Next,
                          .delivery_surface = DeliverySurface::HttpWebhook,
                          .admission_context = AdmissionContext::PublicUnauthenticated};
    const auto labels = labelled(MessageQuarantined{.message_id = message.id}, message);
    EXPECT_EQ(labels.origin, message.origin);
    EXPECT_EQ(labels.trust, message.trust);
    EXPECT_EQ(labels.authority_class, message.authority_class);
    EXPECT_EQ(labels.priority, message.priority);
    EXPECT_EQ(labels.delivery_surface, message.delivery_surface);
    EXPECT_EQ(labels.admission_context, message.admission_context);
}

TEST(Payloads, OfTasksNameTheirIdTwice) {
    const Draft draft = TaskCreated(Task{.id = {"t"}, .agent_id = {"main"}});
    EXPECT_EQ(base::string_at(draft.data, "id"), "t");
    EXPECT_EQ(base::string_at(draft.data, "task_id"), "t");
}

}  // namespace
}  // namespace domain::events
