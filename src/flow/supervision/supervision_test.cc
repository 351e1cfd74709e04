#include "flow/supervision/supervision.h"

#include <gmock/gmock.h>

#include "agent/workspace/workspace.h"
#include "store/sql/sqlite/sqlite_store.h"
#include "tests/support/fake_loop.h"

namespace supervision {
namespace {

using domain::TaskStatus;
using domain::TrustLevel;
using testing::IsEmpty;
using testing::SizeIs;

// `main` supervises the child `child` by the task `t`.
class SupervisionTest : public testing::Test {
protected:
    SupervisionTest() {
        commit([&](events::Log& log) { return log.tx().put_agent(main_); });
    }

    void commit(const std::function<base::Status(events::Log&)>& work) {
        const auto done = store_->write(store::Durability::Process, [&](store::Tx& tx) {
            events::Log log(tx, loop_.now(), ids_);
            return work(log);
        });
        ASSERT_TRUE(done) << done.error().message;
    }
    template <class T>
    T read(const std::function<base::Result<T>(store::Tx&)>& work) {
        T value{};
        EXPECT_TRUE(store_->read([&](store::Tx& tx) -> base::Status {
            value = TRY(work(tx));
            return {};
        }));
        return value;
    }

    Asking asking(TrustLevel trust) const { return {main_, attempt_, message_, trust}; }
    void spawn_child(TrustLevel trust, std::int64_t tree_alive_max = 9) {
        tools::SpawnChild wanted{
            .task_id = {"t"},
            .child = {.agent_id = {"child"},
                      .identity = {.agent_id = {"child"},
                                   .ownership = domain::Ownership::ParentSupervised,
                                   .parent_agent_id = main_.agent_id,
                                   .delegated_from_task_id = domain::TaskId{"t"}}},
            .initial_message = "Count the lines",
            .top = main_.agent_id,
            .tree_alive_max = tree_alive_max};
        wanted.child.active_workspace_entry = main_.active_workspace_entry;
        commit([&](events::Log& log) { return spawn(log, asking(trust), wanted); });
    }
    void give(TrustLevel trust) {
        commit([&](events::Log& log) {
            return follow_up(log, asking(trust), {.task_id = {"t"}, .text = "and the words"});
        });
    }
    // The child has nothing left to spend, so it is over.
    void end_child() {
        commit([&](events::Log& log) -> base::Status {
            const auto facts = TRY(identity::load_facts(log.tx(), {"child"}));
            EXPECT_TRUE(TRY(settle(log, facts, "its budget is spent")));
            return {};
        });
    }

    std::optional<domain::Agent> agent(const std::string& id) {
        return read<std::optional<domain::Agent>>([&](store::Tx& tx) { return tx.agent({id}); });
    }
    domain::Task task() {
        return read<std::optional<domain::Task>>([](store::Tx& tx) { return tx.task({"t"}); })
            .value();
    }
    std::vector<domain::Message> messages(const std::string& to) {
        std::vector<domain::Message> list;
        for (auto& one : read<std::vector<store::Numbered<store::QueuedMessage>>>(
                 [&](store::Tx& tx) { return tx.messages({to}, {}); }))
            list.push_back(std::move(one.record.message));
        return list;
    }

    test_support::FakeLoop loop_;
    base::RandomIds ids_{loop_, 1};
    std::unique_ptr<store::Store> store_ = sqlite::open_inline({.file = ":memory:"}).value();
    const domain::Agent main_{.agent_id = {"main"},
                              .identity = {.agent_id = {"main"}},
                              .active_workspace_entry = workspace::agent_home({"main"}, "/tmp")};
    const domain::Message message_{.id = {"m"}, .agent_id = {"main"}};
    const domain::Attempt attempt_{.message_id = {"m"}};
};

TEST_F(SupervisionTest, AChildItsTaskAndItsFirstMessageAreMadeTogether) {
    spawn_child(TrustLevel::UntrustedExternal);
    EXPECT_EQ(task().status, TaskStatus::Running);
    EXPECT_EQ(task().agent_id, main_.agent_id);
    ASSERT_TRUE(agent("child"));
    EXPECT_EQ(agent("child")->identity.parent_agent_id, main_.agent_id);
    ASSERT_THAT(messages("child"), SizeIs(1));
    EXPECT_EQ(messages("child")[0].trust, TrustLevel::UntrustedExternal);
    EXPECT_EQ(domain::readable(messages("child")[0].body), "Count the lines");
    EXPECT_THAT(messages("main"), IsEmpty());
}

TEST_F(SupervisionTest, ATreeThatIsFullGetsNoChildAndItsParentIsInformed) {
    spawn_child(TrustLevel::TrustedOperator, 0);
    EXPECT_EQ(task().status, TaskStatus::Failed);
    EXPECT_FALSE(agent("child"));
    ASSERT_THAT(messages("main"), SizeIs(1));
    EXPECT_EQ(messages("main")[0].kind, domain::MessageKind::TaskResult);
}

TEST_F(SupervisionTest, TheEndOfAChildAndItsReportAreOneCommitMadeOnce) {
    spawn_child(TrustLevel::TrustedOperator);
    end_child();
    EXPECT_EQ(task().status, TaskStatus::Failed);
    EXPECT_EQ(agent("child")->identity.status, domain::IdentityStatus::Archived);
    EXPECT_THAT(messages("main"), SizeIs(1));
    commit([](events::Log& log) -> base::Status {
        const auto facts = TRY(identity::load_facts(log.tx(), {"child"}));
        EXPECT_FALSE(TRY(settle(log, facts, "its budget is spent")));
        return {};
    });
    EXPECT_THAT(messages("main"), SizeIs(1));
}

TEST_F(SupervisionTest, AReportOfAChildWithTrustedInputAloneIsNoEvidence) {
    spawn_child(TrustLevel::TrustedOperator);
    end_child();
    EXPECT_NE(domain::instructed_by(messages("main").at(0)),
              domain::AuthorityClass::ExternalEvidence);
}

TEST_F(SupervisionTest, AReportHasNoMoreAuthorityThanTheWeakestInputOfTheChild) {
    spawn_child(TrustLevel::TrustedOperator);
    give(TrustLevel::UntrustedExternal);
    end_child();
    EXPECT_EQ(domain::instructed_by(messages("main").at(0)),
              domain::AuthorityClass::ExternalEvidence);
}

TEST_F(SupervisionTest, InputReachesTheChildOfAnOpenTaskOfTheSameAgentAndNoOther) {
    spawn_child(TrustLevel::TrustedOperator);
    give(TrustLevel::UntrustedExternal);
    ASSERT_THAT(messages("child"), SizeIs(2));
    EXPECT_EQ(messages("child")[1].trust, TrustLevel::UntrustedExternal);
    commit([&](events::Log& log) {
        const domain::Agent other{.agent_id = {"other"}};
        return follow_up(log, {other, attempt_, message_, TrustLevel::TrustedOperator},
                         {.task_id = {"t"}, .text = "stop that"});
    });
    EXPECT_THAT(messages("child"), SizeIs(2));
    end_child();
    give(TrustLevel::TrustedOperator);
    EXPECT_THAT(messages("child"), SizeIs(2));
}

TEST_F(SupervisionTest, AStoppedTaskStopsItsChildWhichIsThenSettled) {
    spawn_child(TrustLevel::TrustedOperator);
    commit([&](events::Log& log) -> base::Status {
        EXPECT_TRUE(TRY(stop(log, TRY(log.tx().task({"t"})).value())));
        return {};
    });
    EXPECT_TRUE(agent("child")->stopped);
    EXPECT_EQ(task().status, TaskStatus::Running) << "it ends when nothing of the child runs";
    end_child();
    EXPECT_EQ(task().status, TaskStatus::Cancelled);
}

TEST_F(SupervisionTest, AStoppedTaskWhoseChildIsGoneEndsAtOnce) {
    commit([&](events::Log& log) {
        return log.tx().put_task(tasks::child_task(
            {.id = {"t"}, .parent = main_.agent_id, .child = {"gone"}}, log.now()));
    });
    commit([&](events::Log& log) -> base::Status {
        EXPECT_FALSE(TRY(stop(log, TRY(log.tx().task({"t"})).value())));
        return {};
    });
    EXPECT_EQ(task().status, TaskStatus::Cancelled);
    EXPECT_THAT(messages("main"), SizeIs(1));
}

TEST_F(SupervisionTest, WhatAChildSpendsIsPaidByEveryoneAboveIt) {
    spawn_child(TrustLevel::TrustedOperator);
    const domain::Agent below{.agent_id = {"below"},
                              .identity = {.agent_id = {"below"},
                                           .ownership = domain::Ownership::ParentSupervised,
                                           .parent_agent_id = domain::AgentId{"child"},
                                           .delegated_from_task_id = domain::TaskId{"t2"}}};
    domain::AgentStatistics before{.agent_id = {"below"}};
    auto after = before;
    before.total_input_tokens = 1;
    after.total_input_tokens = 8;
    after.total_output_tokens = 3;
    after.total_model_rounds = 2;
    commit([&](events::Log& log) { return charge(log.tx(), below, before, after); });
    for (const char* id : {"child", "main"}) {
        const auto paid =
            read<domain::AgentStatistics>([&](store::Tx& tx) { return tx.statistics({id}); });
        EXPECT_EQ(paid.delegated_tokens, 10) << id;
        EXPECT_EQ(paid.delegated_model_rounds, 2) << id;
        EXPECT_EQ(paid.total_input_tokens, 0) << id;
    }
}

}  // namespace
}  // namespace supervision
