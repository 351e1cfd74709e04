#include "flow/turn/decide/mutations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/workspace/workspace.h"
#include "store/sql/sqlite/sqlite_store.h"

namespace turn {
namespace {

class MutationsTest : public testing::Test {
protected:
    // Writes the mutation as a step of the agent "main" does.
    base::Status write(const tools::Mutation& mutation) {
        return store_->write(store::Durability::Process, [&](store::Tx& tx) -> base::Status {
            events::Log log(tx, clock_.now(), ids_);
            Written step{log, agent_, attempt_, message_};
            return rules_of(mutation).write(step, mutation);
        });
    }
    bool is_known(const std::string& workspace_id) {
        bool known = false;
        EXPECT_TRUE(store_->read([&](store::Tx& tx) -> base::Status {
            known = TRY(tx.workspace(workspace_id)).has_value();
            return {};
        }));
        return known;
    }

    base::SystemClock clock_;
    base::RandomIds ids_{clock_, 1};
    std::unique_ptr<store::Store> store_{
        sqlite::open({.file = ":memory:", .mode = sqlite::Mode::Inline}).value()};
    domain::Agent agent_{.agent_id = {"main"}};
    domain::Attempt attempt_{.run_id = {"r"}, .agent_id = {"main"}};
    domain::Message message_{.id = {"m"}, .agent_id = {"main"}};
};

TEST_F(MutationsTest, AProjectThatIsEnteredIsKnownToTheHostAndTheAgentsHomeIsNot) {
    const auto project = workspace::entry_of_folder("/p");
    ASSERT_TRUE(write(tools::WorkspaceUse{project}));
    EXPECT_TRUE(is_known(project.workspace_id));
    const auto home = workspace::agent_home({"main"}, "/h/agents/main");
    ASSERT_TRUE(write(tools::WorkspaceUse{home}));
    EXPECT_FALSE(is_known(home.workspace_id));
}

TEST_F(MutationsTest, AResultThatWasReadWithoutAMessageChangesNothing) {
    EXPECT_TRUE(write(tools::ResultRead{{"t"}}));
}

TEST(Mutations, ATypeThatNobodyKnowsIsABug) {
    struct Unknown {
        bool operator==(const Unknown&) const = default;
    };
    EXPECT_THROW(rules_of(Unknown{}), base::Bug);
}

TEST(Mutations, AreEqualWhenTypeAndValueAre) {
    const tools::Mutation follow_up = tools::FollowUp{"a"};
    EXPECT_EQ(follow_up, tools::Mutation(tools::FollowUp{"a"}));
    EXPECT_NE(follow_up, tools::Mutation(tools::FollowUp{"b"}));
    EXPECT_NE(follow_up, tools::Mutation(tools::ResultRead{{"a"}}));
    EXPECT_EQ(follow_up.as<tools::ResultRead>(), nullptr);
    EXPECT_FALSE(follow_up.needs_visible_result());
    EXPECT_TRUE(tools::Mutation(tools::ResultRead{{"a"}}).needs_visible_result());
}

}  // namespace
}  // namespace turn
