// Workspaces of agents, attached, left and taken away.
#include <gmock/gmock.h>

#include "agent/workspace/choose.h"
#include "agent/workspace/workspace.h"
#include "tests/service/fixture.h"

namespace service {
namespace {

using testing::HasSubstr;
using testing::Not;

// contract: STATE-12, STATE-13, EXEC-06
TEST_F(ServiceTest, WorkspacesAreAttachedLeftAndDetached) {
    auto& service = serve_main();
    std::filesystem::create_directories(home_ / "one");
    std::filesystem::create_directories(home_ / "two");
    const auto state = [&] { return service.status("main").value().at("agent").as_object(); };
    EXPECT_EQ(base::string_at(state(), "active_workspace_id"), "agent_home:main");
    EXPECT_EQ(base::string_at(service.status("main").value().at("execution"), "execution_root"),
              (home_ / "main").string());
    const auto one = service.attach_workspace("main", (home_ / "one").string(), operator_).value();
    const auto two = service.attach_workspace("main", (home_ / "two").string(), operator_).value();
    EXPECT_EQ(state().at("attached_workspaces"),
              (json::value{json::value(one.workspace_id), json::value(two.workspace_id)}));
    EXPECT_EQ(base::string_at(state(), "active_workspace_id"), "agent_home:main");
    ASSERT_TRUE(store_->write(store::Durability::Disk, [&](store::Tx& tx) -> base::Status {
        auto agent = *TRY(tx.agent({"main"}));
        agent.active_workspace_entry = one;
        return tx.put_agent(agent);
    }));
    EXPECT_EQ(base::string_at(state(), "active_workspace_id"), one.workspace_id);
    EXPECT_EQ(service.detach_workspace("main", one.workspace_id, operator_).error().code,
              base::ErrorCode::Conflict);
    ASSERT_TRUE(service.exit_workspace("main", operator_));
    EXPECT_EQ(base::string_at(state(), "active_workspace_id"), "agent_home:main");
    ASSERT_TRUE(service.detach_workspace("main", one.workspace_id, operator_));
    EXPECT_EQ(state().at("attached_workspaces"), (json::array{json::value(two.workspace_id)}));
    EXPECT_EQ(service.detach_workspace("main", one.workspace_id, operator_).error().code,
              base::ErrorCode::NotFound);
    EXPECT_EQ(service.attach_workspace("main", "/no/such/folder", operator_).error().code,
              base::ErrorCode::NotFound);
}

// contract: WT-21, WT-24, WT-26, WT-27, WT-28, WT-29
TEST_F(ServiceTest, AWorkspaceIsTakenFromOneAgentAndFromNothingElse) {
    auto& service = serve_main();
    ASSERT_TRUE(service.create_agent("other", std::nullopt, operator_));
    std::filesystem::create_directories(home_ / "one");
    const auto one = service.attach_workspace("main", (home_ / "one").string(), operator_).value();
    ASSERT_TRUE(service.attach_workspace("other", (home_ / "one").string(), operator_));
    const auto attached = [&](const char* agent) {
        return service.status(agent).value().at("agent").at("attached_workspaces");
    };
    const auto set_active = [&](const domain::WorkspaceEntry& entry) {
        return store_->write(store::Durability::Disk, [&](store::Tx& tx) -> base::Status {
            auto agent = *TRY(tx.agent({"main"}));
            agent.active_workspace_entry = entry;
            return tx.put_agent(agent);
        });
    };
    ASSERT_TRUE(set_active(one));
    const auto active = service.detach_workspace("main", one.workspace_id, operator_).error();
    EXPECT_EQ(active.code, base::ErrorCode::Conflict);
    EXPECT_THAT(active.message, HasSubstr("switch"));
    EXPECT_THAT(active.message, HasSubstr("AgentHome"));
    EXPECT_EQ(attached("main"), (json::array{json::value(one.workspace_id)}));

    ASSERT_TRUE(service.exit_workspace("main", operator_));
    for (const char* home : {"agent_home", "agent_home:main"}) {
        const auto kept = service.detach_workspace("main", home, operator_).error();
        EXPECT_EQ(kept.code, base::ErrorCode::Refused);
        EXPECT_THAT(kept.message, HasSubstr("AgentHome"));
    }
    ASSERT_TRUE(service.exit_workspace("main", operator_));  // It is where it stays.
    EXPECT_EQ(service.status("main").value().at("execution").at("workspace_id"), "agent_home:main");

    EXPECT_EQ(service.detach_workspace("main", "", operator_).error().code,
              base::ErrorCode::NotFound);
    ASSERT_TRUE(std::filesystem::exists(home_ / "one"));
    const domain::ManagedWorktree copy{.agent_id = {"main"},
                                       .workspace_id = one.workspace_id,
                                       .session = {.worktree_path = (home_ / "copy").string()}};
    std::filesystem::create_directories(home_ / "copy");
    ASSERT_TRUE(store_->write(store::Durability::Disk,
                              [&](store::Tx& tx) { return tx.put_worktree(copy); }));
    ASSERT_TRUE(service.detach_workspace("main", one.workspace_id, operator_));
    EXPECT_TRUE(std::filesystem::exists(home_ / "one"));
    EXPECT_TRUE(std::filesystem::exists(home_ / "copy"));
    EXPECT_EQ(attached("main"), json::array{});
    EXPECT_EQ(attached("other"), (json::array{json::value(one.workspace_id)}));
    ASSERT_TRUE(store_->read([&](store::Tx& tx) -> base::Status {
        EXPECT_EQ(TRY(tx.workspace(one.workspace_id)), one);  // The host still knows it.
        EXPECT_EQ(TRY(tx.worktree(copy.session.worktree_path)), copy);
        return {};
    }));
    EXPECT_EQ(serve().status("main").value().at("agent").at("attached_workspaces"), json::array{});
    // What is gone from disk can be taken away, too.
    std::filesystem::remove_all(home_ / "one");
    EXPECT_TRUE(service_->detach_workspace("other", one.workspace_id, operator_));
}

// contract: WT-22
TEST_F(ServiceTest, AnAgentWhoseWorkspaceIsGoneIsAtHomeAndToldSo) {
    auto& service = serve_main();
    std::filesystem::create_directories(home_ / "one");
    const auto one = service.attach_workspace("main", (home_ / "one").string(), operator_).value();
    ASSERT_TRUE(store_->write(store::Durability::Disk, [&](store::Tx& tx) -> base::Status {
        auto agent = *TRY(tx.agent({"main"}));
        agent.active_workspace_entry = one;
        return tx.put_agent(agent);
    }));
    std::filesystem::remove_all(home_ / "one");
    std::filesystem::remove_all(home_ / "main");
    ASSERT_TRUE(service.prompt("main", "hi", operator_));
    loop_.run();
    EXPECT_THAT(opening(0), HasSubstr("You worked in " + one.execution_root));
    EXPECT_THAT(opening(0), HasSubstr("execution_root: " + (home_ / "main").string()));
    const auto summary = service.status("main").value();
    EXPECT_EQ(summary.at("execution").at("workspace_id"), "agent_home:main");
    EXPECT_TRUE(std::filesystem::is_directory(home_ / "main"));
    EXPECT_EQ(events_of("workspace_exited").size(), 1U);
    // What was attached stays so: the folder may come back.
    EXPECT_EQ(summary.at("agent").at("attached_workspaces"),
              (json::array{json::value(one.workspace_id)}));
    ASSERT_TRUE(service.prompt("main", "and now?", operator_));
    loop_.run();
    EXPECT_THAT(opening(1), Not(HasSubstr("You worked in")));
}

TEST_F(ServiceTest, AgentsHaveNoMoreWorkspacesThanTheBound) {
    auto& service = serve_main();
    ASSERT_TRUE(store_->write(store::Durability::Disk, [&](store::Tx& tx) -> base::Status {
        auto agent = *TRY(tx.agent({"main"}));
        for (std::size_t i = 0; i < workspace::kAttachedMax; ++i)
            agent.attached_workspaces.push_back(fmt::format("ws-{}", i));
        return tx.put_agent(agent);
    }));
    const auto refused = service.attach_workspace("main", home_.string(), operator_);
    EXPECT_EQ(refused.error().code, base::ErrorCode::Refused);
    EXPECT_THAT(refused.error().message, HasSubstr("holon workspace detach"));
}

}  // namespace
}  // namespace service
