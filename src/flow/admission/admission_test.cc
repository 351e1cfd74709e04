#include "flow/admission/admission.h"

#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/sql/sqlite/sqlite_store.h"
#include "store/sql/sqlite/temp_database.h"

namespace admission {
namespace {

using domain::AdmissionContext;
using domain::MessageKind;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr base::Time kNow = base::Time(std::chrono::microseconds(1'925'000'000'000'000));

domain::Message message(const std::string& id,
                        AdmissionContext context = AdmissionContext::LocalProcess) {
    return {.id = {id},
            .agent_id = {"main"},
            .created_at = kNow,
            .authority_class = domain::AuthorityClass::OperatorInstruction,
            .priority = domain::Priority::Next,
            .trigger_kind = domain::TriggerKind::OperatorInput,
            .body = domain::TextBody{"hello"},
            .delivery_surface = domain::DeliverySurface::CliPrompt,
            .admission_context = context};
}

class AdmissionTest : public testing::Test {
protected:
    sqlite::TempDatabase files_;
    base::SystemClock clock_;
    base::RandomIds ids_{clock_, 1};
    std::unique_ptr<store::Store> store_{sqlite::open({.file = files_.file()}).value()};

    void SetUp() override { put({.agent_id = {"main"}}); }
    void put(const domain::Agent& agent) {
        ASSERT_TRUE(store_->write(store::Durability::Disk,
                                  [&](store::Tx& tx) { return tx.put_agent(agent); }));
    }
    base::Result<Outcome> admit(const domain::Message& one,
                                const std::optional<std::string>& key = {}) {
        base::Result<Outcome> outcome;
        const auto status =
            store_->write(store::Durability::Disk, [&](store::Tx& tx) -> base::Status {
                events::Log log(tx, kNow, ids_);
                outcome = TRY(admission::admit(log, one, key));
                return {};
            });
        if (!status) return std::unexpected(status.error());
        return outcome;
    }
    std::int64_t pending() {
        std::int64_t count = -1;
        EXPECT_TRUE(store_->read([&](store::Tx& tx) -> base::Status {
            count = TRY(tx.pending_count({"main"}));
            return {};
        }));
        return count;
    }
    std::vector<domain::Event> events() {
        std::vector<domain::Event> list;
        EXPECT_TRUE(store_->read([&](store::Tx& tx) -> base::Status {
            list = TRY(tx.events({"main"}, {}));
            return {};
        }));
        return list;
    }
    std::size_t messages() {
        std::size_t count = 0;
        EXPECT_TRUE(store_->read([&](store::Tx& tx) -> base::Status {
            count = TRY(tx.messages({"main"}, {})).size();
            return {};
        }));
        return count;
    }
};

TEST_F(AdmissionTest, AnAdmittedMessageIsQueuedAndRecordedInOneCommit) {
    const auto outcome = admit(message("m"));
    ASSERT_TRUE(outcome) << outcome.error().message;
    EXPECT_EQ(std::get<Admitted>(*outcome).message_id, domain::MessageId{"m"});
    EXPECT_EQ(pending(), 1);
    std::vector<std::string> kinds;
    for (const auto& event : events()) kinds.push_back(event.kind);
    EXPECT_THAT(kinds, ElementsAre("message_admitted", "message_enqueued"));
}

// contract: AUDIT-05
TEST_F(AdmissionTest, TheRecordKeepsIdOriginTrustPriorityAndEveryLabel) {
    domain::Message one = message("m");
    one.origin = domain::OperatorOrigin{"ann"};
    one.correlation_id = "c";
    ASSERT_TRUE(admit(one));
    const auto recorded = events();
    ASSERT_EQ(recorded.size(), 2U);
    EXPECT_EQ(recorded[0].data,
              (json::object{{"message_id", "m"},
                            {"agent_id", "main"},
                            {"kind", "operator_prompt"},
                            {"origin", {{"kind", "operator"}, {"actor_id", "ann"}}},
                            {"trust", "trusted_operator"},
                            {"authority_class", "operator_instruction"},
                            {"priority", "next"},
                            {"delivery_surface", "cli_prompt"},
                            {"admission_context", "local_process"},
                            {"trigger_kind", "operator_input"},
                            {"work_item_id", nullptr},
                            {"task_id", nullptr},
                            {"source_refs", nullptr},
                            {"correlation_id", "c"},
                            {"causation_id", nullptr}}));
    EXPECT_EQ(recorded[1].data, base::to_json(one));
}

// contract: STATE-29, STATE-30
TEST_F(AdmissionTest, AStoppedAgentTakesNoPromptAndSaysHowToResume) {
    put({.agent_id = {"main"}, .stopped = true});
    const auto outcome = admit(message("m"), "key");
    ASSERT_TRUE(outcome);
    const auto& refused = std::get<Refuse>(*outcome);
    EXPECT_EQ(refused.code, "agent_stopped");
    EXPECT_THAT(refused.hint, HasSubstr("resume"));
    EXPECT_EQ(pending(), 0);
    EXPECT_EQ(messages(), 0U);
    EXPECT_THAT(events(), IsEmpty());
    put({.agent_id = {"main"}});
    EXPECT_TRUE(std::holds_alternative<Admitted>(*admit(message("m2"), "key")))
        << "a refused message must not use up its key";
}

TEST_F(AdmissionTest, WhatWaitsOfOneExternalSenderIsCountedForThatSender) {
    const auto count = [&](const std::string& sender) {
        std::int64_t pending = 0;
        EXPECT_TRUE(store_->read([&](store::Tx& tx) -> base::Status {
            pending = TRY(tx.pending_count_of({"main"}, sender));
            return {};
        }));
        return pending;
    };
    for (const auto* source : {"forge", "forge", "chat"}) {
        auto one = message(fmt::format("m-{}-{}", source, count(std::string("webhook:") + source)));
        one.kind = domain::MessageKind::WebhookEvent;
        one.origin = domain::WebhookOrigin{.source = source};
        one.admission_context = domain::AdmissionContext::PublicUnauthenticated;
        ASSERT_TRUE(std::holds_alternative<Admitted>(*admit(one)));
    }
    ASSERT_TRUE(admit(message("by the operator")));
    EXPECT_EQ(count("webhook:forge"), 2);
    EXPECT_EQ(count("webhook:chat"), 1);
    EXPECT_EQ(pending(), 4);
}

TEST_F(AdmissionTest, AnAgentThatIsNotThereIsNotFound) {
    domain::Message one = message("m");
    one.agent_id = {"nobody"};
    const auto outcome = admit(one);
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().code, base::ErrorCode::NotFound);
    EXPECT_EQ(messages(), 0U);
}

TEST_F(AdmissionTest, TheSameKeyAgainNamesTheFirstMessageAndLeavesNothing) {
    ASSERT_TRUE(admit(message("m1"), "key"));
    const auto before = events();
    const auto outcome = admit(message("m2"), "key");
    ASSERT_TRUE(outcome);
    EXPECT_EQ(std::get<AlreadyHave>(*outcome).message_id, domain::MessageId{"m1"});
    EXPECT_EQ(pending(), 1);
    EXPECT_EQ(events(), before);
}

TEST_F(AdmissionTest, OneOfManyRacingSendersOfAKeyWinsAndAllLearnItsId) {
    constexpr int kSenders = 8;
    std::vector<domain::MessageId> ids(kSenders);
    std::atomic<int> admitted = 0;
    {
        std::vector<std::jthread> senders;
        for (int i = 0; i < kSenders; ++i)
            senders.emplace_back([&, i] {
                const auto outcome = admit(message(fmt::format("m{}", i)), "key");
                ASSERT_TRUE(outcome) << outcome.error().message;
                if (const auto* mine = std::get_if<Admitted>(&*outcome)) {
                    ids[i] = mine->message_id;
                    ++admitted;
                } else {
                    ids[i] = std::get<AlreadyHave>(*outcome).message_id;
                }
            });
    }
    EXPECT_EQ(admitted, 1);
    for (const auto& id : ids) EXPECT_EQ(id, ids[0]);
    EXPECT_EQ(pending(), 1);
    EXPECT_EQ(events().size(), 2U);
}

TEST_F(AdmissionTest, ARepeatedKeyIsAnsweredWithTheFirstMessageEvenAtTheStoppedBoundary) {
    ASSERT_TRUE(admit(message("m1"), "key"));
    put({.agent_id = {"main"}, .stopped = true});
    const auto again = admit(message("m2"), "key");
    ASSERT_TRUE(again && std::holds_alternative<AlreadyHave>(*again));
    EXPECT_EQ(std::get<AlreadyHave>(*again).message_id, domain::MessageId{"m1"});
    EXPECT_TRUE(std::holds_alternative<Refuse>(*admit(message("m3"), "other")));
}

}  // namespace
}  // namespace admission
