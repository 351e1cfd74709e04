#include "flow/admission/rejoin.h"

#include <gmock/gmock.h>

#include "store/sql/sqlite/sqlite_store.h"

namespace admission {
namespace {

constexpr base::Time kNow = base::Time(std::chrono::microseconds(1'925'000'000'000'000));

class RejoinTest : public testing::Test {
protected:
    base::SystemClock clock_;
    base::RandomIds ids_{clock_, 1};
    std::unique_ptr<store::Store> store_{sqlite::open_inline({.file = ":memory:"}).value()};

    void put(const domain::Agent& agent) {
        ASSERT_TRUE(store_->write(store::Durability::Disk,
                                  [&](store::Tx& tx) { return tx.put_agent(agent); }));
    }
    base::Status rejoin(domain::Message message) {
        return store_->write(store::Durability::Disk, [&](store::Tx& tx) -> base::Status {
            events::Log log(tx, kNow, ids_);
            return admission::rejoin(log, message);
        });
    }
    std::vector<store::QueuedMessage> queued() {
        std::vector<store::QueuedMessage> list;
        EXPECT_TRUE(store_->read([&](store::Tx& tx) -> base::Status {
            for (auto& entry : TRY(tx.messages({"main"}, {.limit = 10})))
                list.push_back(std::move(entry.record));
            return {};
        }));
        return list;
    }
    static domain::Message result(const std::string& id) {
        return {.id = {id},
                .agent_id = {"main"},
                .kind = domain::MessageKind::TaskResult,
                .origin = domain::TaskOrigin{{"t1"}},
                .priority = domain::Priority::Next,
                .task_id = domain::TaskId{"t1"},
                .body = domain::TextBody{"over"}};
    }
};

// contract: TASK-41, TASK-42, TASK-43
TEST_F(RejoinTest, AResultEntersWithTheLabelsOfItsWayAndItsOwnId) {
    put({.agent_id = {"main"}});
    auto claims_more = result("m1");
    claims_more.authority_class = domain::AuthorityClass::OperatorInstruction;
    claims_more.trust = domain::TrustLevel::TrustedOperator;
    ASSERT_TRUE(rejoin(claims_more));
    ASSERT_EQ(queued().size(), 1U);
    const auto message = queued()[0].message;
    EXPECT_EQ(message.id.value, "m1");
    EXPECT_EQ(message.task_id, domain::TaskId{"t1"});
    EXPECT_EQ(message.trust, domain::TrustLevel::TrustedSystem);
    EXPECT_EQ(message.authority_class, domain::AuthorityClass::RuntimeInstruction);
    EXPECT_EQ(message.delivery_surface, domain::DeliverySurface::TaskRejoin);
    EXPECT_EQ(message.admission_context, domain::AdmissionContext::RuntimeOwned);
}

// contract: MSG-21
TEST_F(RejoinTest, AResultBelongsToTheWorkflowOfTheMessageThatStartedItsTask) {
    put({.agent_id = {"main"}});
    ASSERT_TRUE(store_->write(store::Durability::Disk, [](store::Tx& tx) -> base::Status {
        TRY(tx.append_message(
            {.id = {"prompt"}, .agent_id = {"main"}, .correlation_id = "workflow-7"},
            std::nullopt));
        return {};
    }));
    auto over = result("m1");
    over.causation_id = "prompt";
    ASSERT_TRUE(rejoin(over));
    EXPECT_EQ(queued().back().message.correlation_id, "workflow-7");
    EXPECT_EQ(queued().back().message.causation_id, "prompt");
    // Where the caller set none, none is made up.
    auto unrelated = result("m2");
    unrelated.origin = domain::TaskOrigin{{"t2"}};
    unrelated.task_id = domain::TaskId{"t2"};
    ASSERT_TRUE(rejoin(unrelated));
    EXPECT_EQ(queued().back().message.correlation_id, std::nullopt);
}

TEST_F(RejoinTest, ATaskIsToldOnce) {
    put({.agent_id = {"main"}});
    ASSERT_TRUE(rejoin(result("m1")));
    ASSERT_TRUE(rejoin(result("m2")));
    ASSERT_EQ(queued().size(), 1U);
    EXPECT_EQ(queued()[0].message.id.value, "m1");
}

TEST_F(RejoinTest, AStoppedAgentKeepsItForLater) {
    put({.agent_id = {"main"}, .stopped = true});
    ASSERT_TRUE(rejoin(result("m1")));
    EXPECT_EQ(queued()[0].entry.status, domain::QueueStatus::Queued);
}

TEST_F(RejoinTest, OnlyATaskSpeaksForATask) {
    put({.agent_id = {"main"}});
    auto forged = result("m1");
    forged.origin = domain::OperatorOrigin{};
    EXPECT_FALSE(rejoin(forged));
    EXPECT_EQ(rejoin([] {
                  auto lost = result("m1");
                  lost.agent_id = {"gone"};
                  return lost;
              }())
                  .error()
                  .code,
              base::ErrorCode::NotFound);
    EXPECT_TRUE(queued().empty());
}

}  // namespace
}  // namespace admission
