#include "flow/queue/waits.h"

#include <gtest/gtest.h>

namespace queue {
namespace {

using domain::MessageKind;
using domain::WaitKind;

domain::Message message(MessageKind kind, domain::Origin origin = domain::OperatorOrigin{}) {
    domain::Message one{.id = {"m"}, .agent_id = {"a"}, .kind = kind, .origin = std::move(origin)};
    if (const auto* task = std::get_if<domain::TaskOrigin>(&one.origin))
        one.task_id = task->task_id;
    return one;
}

// Every kind of wait against every kind of message.
TEST(Waits, AreEndedByWhatTheyWaitForAndByNothingElse) {
    const std::vector<std::pair<MessageKind, domain::Message>> messages{
        {MessageKind::OperatorPrompt, message(MessageKind::OperatorPrompt)},
        {MessageKind::ChannelEvent, message(MessageKind::ChannelEvent, domain::ChannelOrigin{"c"})},
        {MessageKind::WebhookEvent, message(MessageKind::WebhookEvent, domain::WebhookOrigin{"w"})},
        {MessageKind::CallbackEvent,
         message(MessageKind::CallbackEvent, domain::CallbackOrigin{"d"})},
        {MessageKind::TimerTick, message(MessageKind::TimerTick, domain::TimerOrigin{{"s"}})},
        {MessageKind::SystemTick, message(MessageKind::SystemTick, domain::SystemOrigin{"x"})},
        {MessageKind::TaskResult, message(MessageKind::TaskResult, domain::TaskOrigin{{"s"}})},
        {MessageKind::TaskStatus, message(MessageKind::TaskStatus, domain::TaskOrigin{{"s"}})},
        {MessageKind::Control, message(MessageKind::Control)},
        {MessageKind::BriefAck, message(MessageKind::BriefAck, domain::SystemOrigin{"x"})},
        {MessageKind::BriefResult, message(MessageKind::BriefResult, domain::SystemOrigin{"x"})},
        {MessageKind::InternalFollowup,
         message(MessageKind::InternalFollowup, domain::SystemOrigin{"x"})}};
    const std::map<WaitKind, std::set<MessageKind>> ended_by{
        {WaitKind::Task, {MessageKind::TaskResult}},
        {WaitKind::Timer, {MessageKind::TimerTick}},
        {WaitKind::Operator, {MessageKind::OperatorPrompt}},
        {WaitKind::External,
         {MessageKind::ChannelEvent, MessageKind::WebhookEvent, MessageKind::CallbackEvent}},
        {WaitKind::System, {MessageKind::InternalFollowup}}};
    for (const auto& [kind, expected] : ended_by)
        for (const auto& [sort, one] : messages) {
            domain::Wait wait{.id = {"w"}, .agent_id = {"a"}, .kind = kind};
            if (kind == WaitKind::Task || kind == WaitKind::Timer) wait.subject_ref = "s";
            EXPECT_EQ(triggers(one, wait), expected.contains(sort))
                << base::enum_name(kind) << " by " << base::enum_name(sort);
        }
}

TEST(Waits, NameWhichTaskTimerOrSourceTheyAreFor) {
    domain::Wait wait{.kind = WaitKind::Task, .subject_ref = "other"};
    EXPECT_FALSE(triggers(message(MessageKind::TaskResult, domain::TaskOrigin{{"s"}}), wait));
    wait.kind = WaitKind::Timer;
    EXPECT_FALSE(triggers(message(MessageKind::TimerTick, domain::TimerOrigin{{"s"}}), wait));
    wait.kind = WaitKind::External;
    auto event = message(MessageKind::WebhookEvent, domain::WebhookOrigin{"forge"});
    EXPECT_FALSE(triggers(event, wait));
    event.source_refs = std::map<std::string, std::string>{{"resource", "other"}};
    EXPECT_TRUE(triggers(event, wait));
}

}  // namespace
}  // namespace queue
