// The promises about named agents: which are listed, what is due, which external senders may wake
// them.
#include <gmock/gmock.h>

#include <future>

#include "store/conformance.h"

namespace store {

using base::ErrorCode;
using base::from_micros;
using domain::Priority;
using domain::QueueStatus;
using testing::ElementsAre;
using testing::IsEmpty;
using namespace conformance;

namespace {

domain::Webhook webhook(const std::string& id) {
    return {
        .webhook_id = {id}, .target_agent_id = {"ada"}, .name = "ci", .token_hash = "hash-" + id};
}

domain::ExternalTrigger trigger(const std::string& id, const std::string& agent = "ada") {
    return {.external_trigger_id = {id}, .target_agent_id = {agent}, .token_hash = "hash-" + id};
}

domain::WakeHint hint(const std::string& agent, const std::string& reason) {
    return {.target_agent_id = {agent},
            .reason = reason,
            .body = domain::JsonBody{json::object{{"n", 1}}},
            .created_at = from_micros(5),
            .merged_count = 1,
            .merged = {{.reason = "earlier", .source = "forge"}}};
}

domain::Agent agent(const std::string& id) {
    return {.agent_id = {id}, .identity = {.agent_id = {id}}};
}

}  // namespace

TEST_P(StoreConformance, OnlyPublicAgentsThatAreNotArchivedAreListed) {
    write([](Tx& tx) -> Status {
        for (const auto* id : {"c", "a", "b", "d"}) TRY(tx.put_agent(agent(id)));
        auto hidden = agent("b");
        hidden.identity.visibility = domain::Visibility::Private;
        TRY(tx.put_agent(hidden));
        auto archived = agent("c");
        archived.identity.status = domain::IdentityStatus::Archived;
        return tx.put_agent(archived);
    });
    read([](Tx& tx) -> Status {
        EXPECT_THAT(TRY(tx.listed_agents({}, 9)), ElementsAre(AgentId{"a"}, AgentId{"d"}));
        EXPECT_THAT(TRY(tx.listed_agents({"a"}, 9)), ElementsAre(AgentId{"d"}));
        EXPECT_THAT(TRY(tx.listed_agents({}, 1)), ElementsAre(AgentId{"a"}));
        return {};
    });
}

TEST_P(StoreConformance, CountsSayWhatIsGoingOnOverAllAgents) {
    write([](Tx& tx) -> Status {
        EXPECT_EQ(TRY(tx.counts()), Counts{});
        TRY(tx.put_agent(agent("ada")));
        TRY(tx.open_attempt(attempt("r1")));
        TRY(tx.put_task({.id = {"k"}, .agent_id = {"ada"}}));
        TRY(tx.put_wait({.id = {"w1"}, .agent_id = {"ada"}}));
        TRY(tx.put_wait({.id = {"w2"}, .agent_id = {"ada"}}));
        TRY(tx.put_wait(
            {.id = {"w3"}, .agent_id = {"bob"}, .status = domain::WaitStatus::Resolved}));
        TRY(tx.append_message(message("m1", "ada"), std::nullopt));
        TRY(tx.append_message(message("m2", "bob"), std::nullopt));
        EXPECT_EQ(TRY(tx.counts()), (Counts{1, 1, 1, 1, 2}));
        return {};
    });
}

TEST_P(StoreConformance, AgentsThatHaveSomethingDueAreGivenInPages) {
    write([](Tx& tx) -> Status {
        for (const auto* id : {"a", "b", "c"}) {
            TRY(tx.append_message(message(std::string("m-") + id, id), std::nullopt));
            TRY(tx.open_attempt(attempt(std::string("r-") + id, id)));
            TRY(tx.put_wake_hint(hint(id, "look")));
        }
        auto closed = attempt("r-b", "b");
        closed.state = domain::Closed{};
        return tx.put_attempt(closed);
    });
    read([](Tx& tx) -> Status {
        EXPECT_THAT(TRY(tx.agents_with_pending({}, 2)), ElementsAre(AgentId{"a"}, AgentId{"b"}));
        EXPECT_THAT(TRY(tx.agents_with_pending({"b"}, 2)), ElementsAre(AgentId{"c"}));
        EXPECT_THAT(TRY(tx.agents_with_open_attempt({}, 9)),
                    ElementsAre(AgentId{"a"}, AgentId{"c"}));
        EXPECT_THAT(TRY(tx.agents_with_open_attempt({"a"}, 9)), ElementsAre(AgentId{"c"}));
        EXPECT_THAT(TRY(tx.agents_with_wake_hint({"a"}, 1)), ElementsAre(AgentId{"b"}));
        return {};
    });
}

TEST_P(StoreConformance, FailuresToOpenAreCountedAcrossRestartsAndChangeNothingElse) {
    write(append({message("m1")}));
    write([](Tx& tx) -> Status {
        EXPECT_EQ(TRY(tx.count_failure({"m1"}, "broken", from_micros(2'000))), 1);
        return {};
    });
    reopen();
    write([](Tx& tx) -> Status {
        EXPECT_EQ(TRY(tx.count_failure({"m1"}, "broken again", from_micros(3'000))), 2);
        const auto entry = TRY(tx.message({"m1"}))->entry;
        EXPECT_EQ(entry.failures, 2);
        EXPECT_EQ(entry.tries, 0);
        EXPECT_EQ(entry.status, QueueStatus::Queued);
        EXPECT_EQ(entry.reason, "broken again");
        EXPECT_EQ(tx.count_failure({"none"}, "", {}).error().code, ErrorCode::NotFound);
        return {};
    });
}

TEST_P(StoreConformance, PendingInterjectionsAreThoseOfTheirPriorityOldestFirst) {
    write(append({message("n1"), message("i1", "ada", Priority::Interject),
                  message("i2", "ada", Priority::Interject),
                  message("i3", "bob", Priority::Interject),
                  message("i4", "ada", Priority::Interject)}));
    write([](Tx& tx) -> Status {
        TRY(tx.set_queue_status({"i2"}, QueueStatus::Interjected, "r1", {}));
        std::vector<std::string> found;
        for (const auto& one : TRY(tx.pending_interjections({"ada"}, 9)))
            found.push_back(one.message.id.value);
        EXPECT_THAT(found, ElementsAre("i1", "i4"));
        EXPECT_EQ(TRY(tx.pending_interjections({"ada"}, 1)).size(), 1u);
        return {};
    });
}

TEST_P(StoreConformance, TimersAreCountedAndListedNewestFirst) {
    write([](Tx& tx) -> Status {
        TRY(tx.put_timer(timer("t1", 10)));
        TRY(tx.put_timer(timer("t2", 20)));
        auto done = timer("t3", std::nullopt);
        done.status = domain::TimerStatus::Completed;
        TRY(tx.put_timer(done));
        EXPECT_EQ(TRY(tx.active_timer_count({"ada"})), 2);
        EXPECT_THAT(ids(TRY(tx.timers({"ada"}, 2, {}))), ElementsAre("t3", "t2"));
        EXPECT_THAT(ids(TRY(tx.timers({"ada"}, 2, {"t2"}))), ElementsAre("t1"));
        EXPECT_THAT(ids(TRY(tx.timers({"ada"}, 2, {"t1"}))), IsEmpty());
        EXPECT_EQ(tx.timers({"ben"}, 2, {"t2"}).error().kind, "cursor_not_found");
        EXPECT_THAT(ids(TRY(tx.active_timers({"ada"}, 1))), ElementsAre("t1"));
        return {};
    });
}

TEST_P(StoreConformance, AChangeThatFailsDoomsItsTransactionEvenWhenTheWorkIgnoresIt) {
    write([](Tx& tx) -> Status { return tx.put_trigger(trigger("x1")); });
    const Status doomed = store_->write(Durability::Process, [](Tx& tx) -> Status {
        EXPECT_EQ(tx.put_trigger(trigger("x2")).error().code, ErrorCode::Conflict);
        const auto later = tx.put_timer(timer("t1", 10));
        EXPECT_EQ(later.error().code, ErrorCode::Conflict) << "nothing more is changed";
        return {};
    });
    ASSERT_FALSE(doomed);
    EXPECT_EQ(doomed.error().code, ErrorCode::Conflict);
    read([](Tx& tx) -> Status {
        EXPECT_FALSE(TRY(tx.timer({"t1"})));
        EXPECT_EQ(TRY(tx.active_trigger({"ada"})), trigger("x1"));
        return {};
    });
}

TEST_P(StoreConformance, WorkMayRequireMoreDurabilityThanItsCallerAskedForAndNeverLess) {
    write([](Tx& tx) -> Status {
        EXPECT_EQ(tx.durability(), Durability::Process);
        tx.require(Durability::Disk);
        tx.require(Durability::Process);
        EXPECT_EQ(tx.durability(), Durability::Disk);
        return tx.put_timer(timer("t1", 10));
    });
    reopen();
    read([](Tx& tx) -> Status {
        EXPECT_TRUE(TRY(tx.timer({"t1"})));
        return {};
    });
}

TEST_P(StoreConformance, DestroysAsynchronousWorkBeforeItsEndIsReported) {
    auto witness = std::make_shared<int>(1);
    const std::weak_ptr<int> watched = witness;
    std::promise<bool> gone;
    store_->write_async(
        Durability::Process, [witness = std::move(witness)](Tx&) -> Status { return {}; },
        [&](const Status&) { gone.set_value(watched.expired()); });
    EXPECT_TRUE(gone.get_future().get());
}

// contract: TRIG-10
TEST_P(StoreConformance, AnAgentHasOneActiveTriggerAndATokenLeadsToIt) {
    write([](Tx& tx) -> Status { return tx.put_trigger(trigger("x1")); });
    const Status second =
        store_->write(Durability::Process, [](Tx& tx) { return tx.put_trigger(trigger("x2")); });
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, ErrorCode::Conflict);
    reopen();
    write([](Tx& tx) -> Status {
        EXPECT_EQ(TRY(tx.active_trigger({"ada"})), trigger("x1"));
        auto revoked = trigger("x1");
        revoked.status = domain::TriggerStatus::Revoked;
        revoked.revoked_at = from_micros(9);
        TRY(tx.put_trigger(revoked));
        TRY(tx.put_trigger(trigger("x2")));
        EXPECT_EQ(TRY(tx.active_trigger({"ada"})), trigger("x2"));
        EXPECT_EQ(TRY(tx.trigger_by_token("hash-x1")), revoked);
        EXPECT_EQ(TRY(tx.trigger_by_token("hash-x2")), trigger("x2"));
        EXPECT_FALSE(TRY(tx.trigger_by_token("hash-x3")));
        EXPECT_THAT(TRY(tx.triggers({"ada"}, 9)), ElementsAre(trigger("x2"), revoked));
        EXPECT_FALSE(TRY(tx.active_trigger({"bob"})));
        return {};
    });
}

TEST_P(StoreConformance, ATokenLeadsToItsWebhookAndNamesOfActiveOnesAreUnique) {
    write([](Tx& tx) -> Status { return tx.put_webhook(webhook("w1")); });
    const Status second =
        store_->write(Durability::Process, [](Tx& tx) { return tx.put_webhook(webhook("w2")); });
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, ErrorCode::Conflict);
    reopen();
    write([](Tx& tx) -> Status {
        auto revoked = webhook("w1");
        revoked.status = domain::TriggerStatus::Revoked;
        revoked.revoked_at = from_micros(9);
        TRY(tx.put_webhook(revoked));
        TRY(tx.put_webhook(webhook("w2")));
        EXPECT_EQ(TRY(tx.webhook_by_token("hash-w1")), revoked);
        EXPECT_EQ(TRY(tx.webhook_by_token("hash-w2")), webhook("w2"));
        EXPECT_FALSE(TRY(tx.webhook_by_token("hash-w3")));
        auto rotated = webhook("w2");
        rotated.token_hash = "hash-w3";
        TRY(tx.put_webhook(rotated));
        EXPECT_FALSE(TRY(tx.webhook_by_token("hash-w2")));
        EXPECT_EQ(TRY(tx.webhook_by_token("hash-w3")), rotated);
        EXPECT_THAT(TRY(tx.webhooks({"ada"}, 9)), ElementsAre(rotated, revoked));
        EXPECT_THAT(TRY(tx.webhooks({"bob"}, 9)), IsEmpty());
        return {};
    });
}

TEST_P(StoreConformance, AWakeHintIsKeptWholeOnceForEachAgent) {
    write([](Tx& tx) -> Status {
        TRY(tx.put_wake_hint(hint("ada", "first")));
        TRY(tx.put_wake_hint(hint("bob", "other")));
        return tx.put_wake_hint(hint("ada", "second"));
    });
    reopen();
    write([](Tx& tx) -> Status {
        EXPECT_EQ(TRY(tx.wake_hint({"ada"})), hint("ada", "second"));
        TRY(tx.erase_wake_hint({"ada"}));
        EXPECT_FALSE(TRY(tx.wake_hint({"ada"})));
        EXPECT_EQ(TRY(tx.wake_hint({"bob"})), hint("bob", "other"));
        return {};
    });
}

TEST_P(StoreConformance, AWorkspaceIsKnownToTheHostByItsId) {
    const domain::WorkspaceEntry entry{.workspace_id = "ws-1", .workspace_anchor = "/p"};
    write([&](Tx& tx) -> Status { return tx.put_workspace(entry); });
    read([&](Tx& tx) -> Status {
        EXPECT_EQ(TRY(tx.workspace("ws-1")), entry);
        EXPECT_FALSE(TRY(tx.workspace("ws-2")));
        return {};
    });
}

TEST_P(StoreConformance, AWorktreeIsKnownByItsPathAndListedForItsAgent) {
    const auto made = [](const char* path, const char* agent, int second) {
        return domain::ManagedWorktree{.agent_id = {agent},
                                       .workspace_id = "ws-1",
                                       .session = {"/p", "main", path, "b"},
                                       .base_commit = "c0ffee",
                                       .created_at = base::from_micros(second)};
    };
    write([&](Tx& tx) -> Status {
        TRY(tx.put_worktree(made("/w/1", "ada", 1)));
        TRY(tx.put_worktree(made("/w/2", "ada", 2)));
        TRY(tx.put_worktree(made("/w/3", "ada", 3)));
        return tx.put_worktree(made("/w/3", "bob", 4));
    });
    reopen();
    write([&](Tx& tx) -> Status {
        EXPECT_EQ(TRY(tx.worktree("/w/1")), made("/w/1", "ada", 1));
        EXPECT_EQ(TRY(tx.worktree("/w/3")), made("/w/3", "bob", 4));
        EXPECT_FALSE(TRY(tx.worktree("/w/4")));
        EXPECT_THAT(TRY(tx.worktrees({"ada"}, 9)),
                    ElementsAre(made("/w/2", "ada", 2), made("/w/1", "ada", 1)));
        EXPECT_THAT(TRY(tx.worktrees({"ada"}, 1)), ElementsAre(made("/w/2", "ada", 2)));
        TRY(tx.put_agent(agent("ada")));
        TRY(tx.erase_agent({"ada"}));
        EXPECT_THAT(TRY(tx.worktrees({"ada"}, 9)), IsEmpty());
        EXPECT_TRUE(TRY(tx.worktree("/w/3")));
        return {};
    });
}

TEST_P(StoreConformance, AnErasedAgentLeavesNoTriggerAndNoHint) {
    write([](Tx& tx) -> Status {
        TRY(tx.put_agent(agent("ada")));
        TRY(tx.put_trigger(trigger("x1")));
        TRY(tx.put_wake_hint(hint("ada", "look")));
        TRY(tx.put_webhook(webhook("w1")));
        TRY(tx.erase_agent({"ada"}));
        EXPECT_THAT(TRY(tx.webhooks({"ada"}, 9)), IsEmpty());
        EXPECT_THAT(TRY(tx.triggers({"ada"}, 9)), IsEmpty());
        EXPECT_FALSE(TRY(tx.wake_hint({"ada"})));
        return {};
    });
}

}  // namespace store
