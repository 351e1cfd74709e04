#include "flow/admission/decide.h"

#include <gtest/gtest.h>

namespace admission {
namespace {

using domain::AdmissionContext;
using domain::MessageKind;

domain::Message message(AdmissionContext context, MessageKind kind = MessageKind::OperatorPrompt) {
    return {.id = {"m"}, .agent_id = {"main"}, .kind = kind, .admission_context = context};
}

Facts facts(bool stopped, std::int64_t pending = 0) {
    return {.agent = {.agent_id = {"main"}, .stopped = stopped}, .pending = pending};
}

const Refuse kStopped{"agent_stopped", "agent main is stopped",
                      "resume it first: holon agent start main"};

// contract: STATE-31, STATE-32, STATE-33
TEST(Decide, AStoppedAgentRefusesEveryWayInFromOutside) {
    using Kind = MessageKind;
    using Entry = AdmissionContext;
    for (const auto& [entry, kind] : std::vector<std::pair<Entry, Kind>>{
             {Entry::LocalProcess, Kind::OperatorPrompt},
             {Entry::ControlAuthenticated, Kind::OperatorPrompt},
             {Entry::PublicUnauthenticated, Kind::ChannelEvent},
             {Entry::PublicUnauthenticated, Kind::WebhookEvent},
             {Entry::ExternalTriggerCapability, Kind::CallbackEvent},
             {Entry::ControlAuthenticated, Kind::ChannelEvent}}) {
        EXPECT_EQ(decide(facts(true), message(entry, kind)), Verdict(kStopped));
        EXPECT_EQ(decide(facts(false), message(entry, kind)), Verdict(Accept{}));
    }
}

TEST(Decide, ControlAndTheRuntimeItselfPassTheStoppedBoundary) {
    EXPECT_EQ(
        decide(facts(true), message(AdmissionContext::ControlAuthenticated, MessageKind::Control)),
        Verdict(Accept{}));
    EXPECT_EQ(decide(facts(true), message(AdmissionContext::RuntimeOwned, MessageKind::TaskResult)),
              Verdict(Accept{}));
}

TEST(Decide, AMessageWithoutADoorIsNotTheRuntimes) {
    domain::Message one = message(AdmissionContext::LocalProcess);
    one.admission_context.reset();
    EXPECT_EQ(decide(facts(true), one), Verdict(kStopped));
}

TEST(Decide, AFullQueueRefusesAllButTheRuntime) {
    const Refuse full{"queue_full",
                      fmt::format("agent main already has {} messages waiting", kPendingMax),
                      "wait until it has worked some of them off"};
    const auto prompt = message(AdmissionContext::LocalProcess);
    EXPECT_EQ(decide(facts(false, kPendingMax - 1), prompt), Verdict(Accept{}));
    EXPECT_EQ(decide(facts(false, kPendingMax), prompt), Verdict(full));
    EXPECT_EQ(decide(facts(false, kPendingMax),
                     message(AdmissionContext::RuntimeOwned, MessageKind::TaskResult)),
              Verdict(Accept{}));
}

TEST(Decide, AQueueFullOfExternalMessagesStillTakesTheOperatorsPrompt) {
    auto external = message(AdmissionContext::PublicUnauthenticated, MessageKind::WebhookEvent);
    external.origin = domain::WebhookOrigin{.source = "forge"};
    EXPECT_EQ(decide(facts(false, kExternalPendingMax - 1), external), Verdict(Accept{}));
    EXPECT_EQ(decide(facts(false, kExternalPendingMax), external),
              Verdict(Refuse{
                  "queue_full",
                  fmt::format("agent main already has {} messages waiting", kExternalPendingMax),
                  "wait until it has worked some of them off"}));
    for (const auto entry :
         {AdmissionContext::LocalProcess, AdmissionContext::ControlAuthenticated})
        EXPECT_EQ(decide(facts(false, kExternalPendingMax), message(entry)), Verdict(Accept{}));
}

TEST(Decide, OneExternalSenderCannotUseUpTheRoomOfTheOthers) {
    auto external = message(AdmissionContext::PublicUnauthenticated, MessageKind::WebhookEvent);
    external.origin = domain::WebhookOrigin{.source = "forge"};
    Facts flooded = facts(false, kSenderPendingMax);
    EXPECT_EQ(decide(flooded, external), Verdict(Accept{})) << "others sent these";
    flooded.pending_of_sender = kSenderPendingMax;
    EXPECT_TRUE(std::holds_alternative<Refuse>(decide(flooded, external)));
}

TEST(Decide, AnArchivedAgentTakesNothingFromOutside) {
    Facts archived = facts(false);
    archived.agent.identity.status = domain::IdentityStatus::Archived;
    const Refuse refused{"agent_archived", "agent main is archived", "send it to another agent"};
    for (const auto entry :
         {AdmissionContext::PublicUnauthenticated, AdmissionContext::ExternalTriggerCapability,
          AdmissionContext::ControlAuthenticated, AdmissionContext::LocalProcess})
        EXPECT_EQ(decide(archived, message(entry)), Verdict(refused));
    EXPECT_EQ(decide(archived, message(AdmissionContext::RuntimeOwned, MessageKind::TaskResult)),
              Verdict(Accept{}));
}

}  // namespace
}  // namespace admission
