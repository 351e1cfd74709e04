// Messages of every sort through the whole flow: their labels, their order, what they wake.
#include <gmock/gmock.h>

#include <set>

#include "agent/identity/views.h"
#include "flow/scheduler/lifecycle.h"
#include "tests/flow/fixture.h"

namespace scheduler {
namespace {

using domain::AdmissionContext;
using domain::MessageKind;
using testing::HasSubstr;

constexpr std::string_view kAnswer = R"({"rounds":[{"text":"seen"}]})";
constexpr std::string_view kRest =
    R"({"rounds":[{"tool_calls":[{"name":"Sleep","input":{}}]}],"loop":true})";

struct Sort {
    MessageKind kind;
    domain::Origin origin;
    AdmissionContext admission;
};

const std::vector<Sort>& sorts() {
    static const std::vector<Sort> list{
        {MessageKind::OperatorPrompt, domain::OperatorOrigin{"me"}, AdmissionContext::LocalProcess},
        {MessageKind::TaskResult, domain::TaskOrigin{{"t1"}}, AdmissionContext::RuntimeOwned},
        {MessageKind::InternalFollowup, domain::SystemOrigin{"tool_enqueue"},
         AdmissionContext::RuntimeOwned},
        {MessageKind::CallbackEvent, domain::CallbackOrigin{"trigger-1"},
         AdmissionContext::ExternalTriggerCapability},
        {MessageKind::WebhookEvent, domain::WebhookOrigin{"ci"},
         AdmissionContext::PublicUnauthenticated},
        {MessageKind::ChannelEvent, domain::ChannelOrigin{"chat"},
         AdmissionContext::PublicUnauthenticated},
        {MessageKind::TimerTick, domain::TimerOrigin{{"timer-1"}}, AdmissionContext::RuntimeOwned},
    };
    return list;
}

class MessagesTest : public FlowTest {
protected:
    void send_sort(const Sort& sort, const std::string& text = "the same text") {
        send(text, sort.origin, sort.kind, sort.admission);
    }
    std::vector<store::QueuedMessage> stored() {
        return read<std::vector<store::QueuedMessage>>(
            [&](store::Tx& tx) -> base::Result<std::vector<store::QueuedMessage>> {
                std::vector<store::QueuedMessage> list;
                for (auto& entry : TRY(tx.messages(agent_, {})))
                    list.push_back(std::move(entry.record));
                return list;
            });
    }
    std::vector<domain::Event> events(std::string_view kind) {
        std::vector<domain::Event> list;
        for (auto& event : read<std::vector<domain::Event>>(
                 [&](store::Tx& tx) { return tx.events(agent_, {.limit = 1000}); }))
            if (event.kind == kind) list.push_back(std::move(event));
        return list;
    }
};

// Four labels of a record, as one comparable string.
std::string labels_of(const json::value& record) {
    std::string labels;
    for (const char* field :
         {"origin", "delivery_surface", "admission_context", "authority_class", "kind"}) {
        const auto* value = base::find(record, field);
        labels += (value ? base::canonical_json(*value) : "missing") + " ";
    }
    return labels;
}

// contract: CORE-10, MSG-25
TEST_F(MessagesTest, EverySortOfInputIsStoredAsItsKindWithItsFieldsFilledBeforeItRuns) {
    for (const auto& sort : sorts()) send_sort(sort);
    const auto messages = stored();
    ASSERT_EQ(messages.size(), sorts().size());
    for (std::size_t i = 0; i < messages.size(); ++i) {
        EXPECT_EQ(messages[i].message.kind, sorts()[i].kind);
        EXPECT_TRUE(messages[i].message.trigger_kind);
        EXPECT_EQ(messages[i].entry.status, domain::QueueStatus::Queued);
    }
    EXPECT_EQ(messages[1].message.task_id, domain::TaskId{"t1"});
    EXPECT_EQ(messages[3].message.source_refs->at("external_trigger_id"), "trigger-1");
    EXPECT_EQ(messages[6].message.source_refs->at("timer_id"), "timer-1");
}

// contract: MSG-29, TRUST-23, AUDIT-03, CONT-13, CORE-09
TEST_F(MessagesTest, IdenticalTextsOfEverySortAreToldApartByTheirLabelsEverywhere) {
    start(kAnswer);
    for (const auto& sort : sorts()) send_sort(sort);
    run();
    ASSERT_EQ(model_->requests.size(), sorts().size());
    std::set<std::string> in_prompt, in_transcript, in_audit, in_log;
    for (std::size_t i = 0; i < model_->requests.size(); ++i) {
        const std::string text = opening(i);
        const std::size_t input = text.find("## current_input");
        in_prompt.insert(text.substr(input, text.find('\n', input + 20) - input));
    }
    for (const auto& event : events("message_admitted")) in_audit.insert(labels_of(event.data));
    for (const auto& event : events("message_processing_started"))
        in_log.insert(labels_of(event.data));
    for (const auto& entry : read<std::vector<store::Numbered<domain::TranscriptEntry>>>(
             [&](store::Tx& tx) { return tx.transcript(agent_, {}); }))
        if (entry.record.kind == domain::TranscriptKind::IncomingMessage)
            in_transcript.insert(labels_of(entry.record.data));
    EXPECT_EQ(in_prompt.size(), sorts().size());
    EXPECT_EQ(in_audit.size(), sorts().size());
    EXPECT_EQ(in_transcript, in_audit);
    EXPECT_EQ(in_log, in_audit);
    for (const auto& label : in_audit) EXPECT_THAT(label, testing::Not(HasSubstr("missing")));
    EXPECT_THAT(in_prompt, testing::Contains(testing::AllOf(
                               HasSubstr("[webhook:ci]"), HasSubstr("[run_once]"),
                               HasSubstr("[public_unauthenticated]"),
                               HasSubstr("[integration_signal]"), HasSubstr("[webhook_event]"))));
    // No turn begins without a message of its own.
    std::set<std::string> unanswered;
    for (const auto& one : stored()) unanswered.insert(one.message.id.value);
    for (const auto& event : events("turn_started"))
        EXPECT_EQ(unanswered.erase(base::string_at(event.data, "message_id")), 1U);
    EXPECT_TRUE(unanswered.empty());
    // What a capability brings in stays a signal, wherever it is read.
    EXPECT_THAT(in_prompt, testing::Contains(testing::AllOf(HasSubstr("callback:trigger-1"),
                                                            HasSubstr("integration_signal"))));
}

// contract: SLEEP-04, SLEEP-05
TEST_F(MessagesTest, EverySortOfInputWakesASleepingAgent) {
    for (const auto& sort : sorts()) {
        start(kRest);
        send("rest");
        run();
        ASSERT_TRUE(agent().sleep);
        const std::size_t before = model_->requests.size();
        send_sort(sort);
        run();
        EXPECT_EQ(statistics().last_wake_reason, base::enum_name(sort.kind));
        EXPECT_EQ(model_->requests.size(), before + 1) << base::enum_name(sort.kind);
    }
}

// contract: SLEEP-08
TEST_F(MessagesTest, ATaskStatusWakesButStartsNoTurn) {
    start(kRest);
    send("rest");
    run();
    send_sort(
        {MessageKind::TaskStatus, domain::TaskOrigin{{"t1"}}, AdmissionContext::RuntimeOwned});
    run();
    EXPECT_EQ(statistics().last_wake_reason, "task_status");
    EXPECT_EQ(model_->requests.size(), 1U);
    EXPECT_FALSE(statistics().last_continuation->model_visible);
    EXPECT_EQ(stored().back().message.trigger_kind, domain::TriggerKind::TaskStatus);
    EXPECT_EQ(stored().back().entry.status, domain::QueueStatus::Processed);
}

TEST_F(MessagesTest, ATaskResultComesBackThroughTheQueueAndStartsTheTurn) {
    start(kAnswer);
    send("later");
    send_sort({MessageKind::TaskResult, domain::TaskOrigin{{"t1"}}, AdmissionContext::RuntimeOwned},
              "exit 1");
    run();
    ASSERT_EQ(model_->requests.size(), 2U);
    EXPECT_THAT(opening(1), HasSubstr("[task:t1]"));
    EXPECT_EQ(events("turn_started").size(), 2U);
}

// contract: MSG-22, MSG-44
TEST_F(MessagesTest, AFollowUpNamesTheMessageThatLedToItAndHasNoMoreAuthority) {
    start(
        R"({"rounds":[{"tool_calls":[{"name":"Enqueue","input":{"text":"again"}}]},{"text":"ok"}]})");
    send("go", domain::ChannelOrigin{"chat"}, MessageKind::ChannelEvent,
         AdmissionContext::PublicUnauthenticated);
    scheduler_->wake(agent_);
    loop_.run_until([&] { return stored().size() == 2; });
    const auto messages = stored();
    EXPECT_EQ(messages[1].message.kind, MessageKind::InternalFollowup);
    EXPECT_EQ(messages[1].message.causation_id, messages[0].message.id.value);
    EXPECT_EQ(messages[1].message.authority_class, domain::AuthorityClass::ExternalEvidence);
}

// contract: TICK-08, TICK-09
TEST_F(MessagesTest, AModelCannotMakeATickOfItsOwn) {
    start(
        R"({"rounds":[{"tool_calls":[{"name":"SystemTick","input":{}}]},{"text":"no such thing"}]})");
    send("stay awake");
    run();
    EXPECT_EQ(stored().size(), 1U);
    EXPECT_TRUE(events("system_tick_emitted").empty());
    for (const auto& tool : model_->requests[0].tools) EXPECT_NE(tool.name, "SystemTick");
    EXPECT_EQ(base::string_at(events("tool_execution_failed").at(0).data, "error_kind"),
              "tool_not_exposed_for_round");
}

// contract: STATE-01
TEST_F(MessagesTest, WhatOneAgentDoesLeavesAnotherAsItWas) {
    const domain::AgentId other{"other"};
    const auto all_of_other = [&] {
        return read<json::value>([&](store::Tx& tx) -> base::Result<json::value> {
            json::array messages;
            for (const auto& one : TRY(tx.messages(other, {})))
                messages.push_back(
                    {base::to_json(one.record.message), base::to_json(one.record.entry)});
            return json::value{base::to_json(TRY(tx.agent(other))),
                               messages,
                               base::to_json(TRY(tx.open_waits(other))),
                               base::to_json(TRY(tx.active_tasks(other))),
                               base::to_json(TRY(tx.active_timers(other, 9))),
                               TRY(tx.last_event_seq(other))};
        });
    };
    const auto task_of = [](const domain::AgentId& owner) {
        return domain::Task{.id = {"task of " + owner.value},
                            .agent_id = owner,
                            .status = domain::TaskStatus::Running};
    };
    ASSERT_TRUE(store_->write(store::Durability::Disk, [&](store::Tx& tx) -> base::Status {
        TRY(tx.put_agent({.agent_id = other, .identity = {.agent_id = other}}));
        domain::Message queued{.id = {"for the other"}, .agent_id = other};
        TRY(tx.append_message(queued, std::nullopt));
        TRY(tx.put_wait({.id = {"w"}, .agent_id = other, .kind = domain::WaitKind::External}));
        return tx.put_task(task_of(other));
    }));
    const auto before = all_of_other();
    start(kRest);
    send("rest");
    run();
    send("one more");
    ASSERT_TRUE(store_->write(store::Durability::Disk, [&](store::Tx& tx) -> base::Status {
        TRY(tx.put_task(task_of(agent_)));
        events::Log log(tx, loop_.now(), ids_);
        TRY(apply_control(log, agent_, Control::Pause, {"control_authenticated"}));
        return {};
    }));
    run();
    EXPECT_TRUE(agent().paused);
    EXPECT_EQ(base::canonical_json(all_of_other()), base::canonical_json(before));
}

// contract: STATE-20
TEST_F(MessagesTest, EveryMessageIsCountedOnce) {
    start(kAnswer);
    for (int i = 0; i < 3; ++i) send("one");
    run();
    EXPECT_EQ(statistics().total_message_count, 3);
}

// contract: PROV-73
TEST_F(MessagesTest, TheUsageOfAnAgentDoesNotDependOnHowMuchOfItsTranscriptIsRead) {
    constexpr int kTurns = 60;  // More than any reader shows.
    start(
        R"({"rounds":[{"text":"ok","usage":{"input_tokens":10,"output_tokens":5}}],"loop":true})");
    for (int i = 0; i < kTurns; ++i) {
        send("one");
        run();
    }
    const auto shown = read<std::vector<store::Numbered<domain::TranscriptEntry>>>(
        [&](store::Tx& tx) { return tx.transcript(agent_, {.limit = 50, .newest_first = true}); });
    EXPECT_EQ(shown.size(), 50U);
    const auto facts =
        read<identity::AgentFacts>([&](store::Tx& tx) { return identity::load_facts(tx, agent_); });
    const auto usage = identity::agent_summary(facts, {"scripted/test"}).at("token_usage");
    EXPECT_EQ(base::int_at(usage.at("total"), "input_tokens"), 10 * kTurns);
    EXPECT_EQ(base::int_at(usage, "total_model_rounds"), kTurns);
}

// contract: FRAME-08, FRAME-10
TEST_F(MessagesTest, OrdinaryTurnsKeepTheCacheKeyWhileTheFingerprintChanges) {
    start(kAnswer);
    for (const char* text : {"one", "two", "three"}) {
        send(text);
        run();
    }
    std::set<std::string> keys, fingerprints;
    for (const auto& request : model_->requests)
        keys.insert(request.frame.cache.value().prompt_cache_key);
    for (const auto& event : events("provider_round_completed"))
        fingerprints.insert(base::string_at(event.data, "context_fingerprint"));
    EXPECT_EQ(model_->requests.size(), 3U);
    EXPECT_EQ(keys.size(), 1U);
    EXPECT_EQ(fingerprints.size(), 3U);
    EXPECT_FALSE(fingerprints.contains(*keys.begin()));
}

// contract: FRAME-12, FRAME-13, FRAME-14
TEST_F(MessagesTest, EveryRoundHasTheSameFrameAndTheWholeConversation) {
    start(R"({"rounds":[{"tool_calls":[{"name":"NoSuchTool","input":{}}]},
                        {"tool_calls":[{"name":"NoSuchTool","input":{}}]},{"text":"done"}]})");
    send("go");
    run();
    ASSERT_EQ(model_->requests.size(), 3U);
    const auto& first = model_->requests[0];
    std::set<std::string> offered;
    for (const auto& tool : first.tools) offered.insert(tool.name);
    EXPECT_EQ(offered, (std::set<std::string>{"Enqueue", "Sleep"})) << "the registry of this test";
    for (std::size_t round = 0; round < 3; ++round) {
        const auto& request = model_->requests[round];
        EXPECT_EQ(request.frame, first.frame);
        EXPECT_EQ(request.tools, first.tools);
        EXPECT_FALSE(request.frame.system_blocks.empty());
        EXPECT_FALSE(request.frame.context_blocks.empty());
        EXPECT_TRUE(std::ranges::any_of(request.frame.system_blocks,
                                        &provider::PromptBlock::cache_breakpoint));
        EXPECT_EQ(request.conversation.size(), 2 * round);
    }
}

}  // namespace
}  // namespace scheduler
