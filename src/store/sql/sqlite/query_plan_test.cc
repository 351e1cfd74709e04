// Every query has an index: a sleeping agent costs nothing, and waking one touches its rows only.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include "store/migrations/migrations.h"
#include "store/sql/sql_tx.h"
#include "store/sql/sqlite/connection.h"

namespace sqlite {
namespace {

// Runs every operation once, so that the connection has prepared every statement there is.
Status run_everything(sql::SqlTx& tx) {
    const store::Page newest{.newest_first = true};
    domain::TranscriptEntry entry{.id = "t", .agent_id = {"a"}, .run_id = {"r"}};
    entry.related_message_id = domain::MessageId{"m"};
    TRY(tx.put_agent({.agent_id = {"a"}}));
    TRY(tx.agent({"a"}));
    TRY(tx.agents({}, 1));
    TRY(tx.listed_agents({}, 1));
    TRY(tx.counts());
    TRY(tx.append_message({.id = {"m"}, .agent_id = {"a"}}, "key"));
    TRY(tx.message({"m"}));
    TRY(tx.messages({"a"}, {}));
    TRY(tx.messages({"a"}, newest));
    TRY(tx.next_message({"a"}));
    TRY(tx.set_queue_status({"m"}, domain::QueueStatus::Queued, std::nullopt, {}));
    TRY(tx.pending_count({"a"}));
    TRY(tx.count_failure({"m"}, "no", {}));
    TRY(tx.pending_interjections({"a"}, 2));
    TRY(tx.agents_with_pending({}, 2));
    TRY(tx.open_attempt({.run_id = {"r"}, .agent_id = {"a"}, .message_id = {"m"}}));
    TRY(tx.put_attempt({.run_id = {"r"}, .agent_id = {"a"}}));
    TRY(tx.attempt({"r"}));
    TRY(tx.open_attempt_of({"a"}));
    TRY(tx.open_attempts(1));
    TRY(tx.agents_with_open_attempt({}, 1));
    TRY(tx.put_frame({"r"}, json::object{{"prompt", std::string(2000, 'x')}}));
    TRY(tx.put_frame({"r"}, "f"));
    TRY(tx.frame({"r"}));
    TRY(tx.put_tool_execution({.call = {.call_id = {"c"}, .run_id = {"r"}, .agent_id = {"a"}}}));
    TRY(tx.tool_execution({"c"}));
    TRY(tx.tool_executions({"r"}, std::nullopt));
    TRY(tx.tool_executions({"r"}, 1));
    TRY(tx.append_event({"a"}, {}));
    TRY(tx.events({"a"}, {}));
    TRY(tx.events({"a"}, newest));
    TRY(tx.last_event_seq({"a"}));
    TRY(tx.append_transcript(entry));
    TRY(tx.transcript({"a"}, {}));
    TRY(tx.transcript({"a"}, newest));
    TRY(tx.transcript_of({"m"}));
    TRY(tx.append_brief({.id = {"b"}, .agent_id = {"a"}}));
    TRY(tx.briefs({"a"}, {}));
    TRY(tx.briefs({"a"}, newest));
    TRY(tx.working_memory({"a"}));
    TRY(tx.put_working_memory({.agent_id = {"a"}}));
    TRY(tx.append_episode({.id = "e", .agent_id = {"a"}}));
    TRY(tx.episodes({"a"}, {}));
    TRY(tx.episodes({"a"}, newest));
    TRY(tx.put_wait({.id = {"w"}, .agent_id = {"a"}}));
    TRY(tx.wait({"w"}));
    TRY(tx.open_waits({"a"}));
    TRY(tx.open_waits_of({"i"}));
    TRY(tx.put_timer({.id = {"t"}, .agent_id = {"a"}}));
    TRY(tx.timer({"t"}));
    TRY(tx.active_timers({"a"}, 1));
    TRY(tx.active_timer_count({"a"}));
    TRY(tx.timers({"a"}, 1, {}));
    (void)tx.timers({"a"}, 1, {"t"});
    TRY(tx.due_timers({}, 1));
    TRY(tx.shelve_timer({"t"}));
    TRY(tx.put_fault({.agent_id = {"a"}}));
    TRY(tx.fault({"a"}));
    TRY(tx.agents_set_aside(1));
    TRY(tx.erase_fault({"a"}));
    TRY(tx.probe_write({}));
    TRY(tx.pending_count_of({"a"}, "webhook:x"));
    TRY(tx.next_due());
    TRY(tx.put_work_item({.id = {"i"}, .agent_id = {"a"}}));
    TRY(tx.work_item({"i"}));
    TRY(tx.work_items({"a"}, {}));
    TRY(tx.work_items({"a"}, {.open_only = true}));
    TRY(tx.work_items({"a"}, {.readiness = domain::WorkReadiness::Completed}));
    TRY(tx.runnable_work({"a"}, {}, 1));
    TRY(tx.due_rechecks({"a"}, {}, 1));
    TRY(tx.work_counts({"a"}));
    TRY(tx.work_version({"a"}));
    TRY(tx.agents_with_runnable_work({}, 1));
    TRY(tx.append_delivery_summary({.id = "d", .agent_id = {"a"}, .work_item_id = {"i"}}));
    TRY(tx.delivery_summary({"i"}));
    TRY(tx.put_task({.id = {"k"}, .agent_id = {"a"}}));
    TRY(tx.task({"k"}));
    TRY(tx.active_tasks({"a"}));
    TRY(tx.tasks({"a"}, 1));
    TRY(tx.put_trigger({.external_trigger_id = {"x"}, .target_agent_id = {"a"}}));
    TRY(tx.trigger_by_token("hash"));
    TRY(tx.active_trigger({"a"}));
    TRY(tx.triggers({"a"}, 1));
    TRY(tx.put_webhook({.webhook_id = {"w"}, .target_agent_id = {"a"}, .name = "ci"}));
    TRY(tx.webhook_by_token("hash"));
    TRY(tx.webhooks({"a"}, 1));
    TRY(tx.append_notification({.notification_id = "n", .agent_id = {"a"}}));
    TRY(tx.notifications({"a"}, 1));
    TRY(tx.put_binding({.binding_id = "b", .target_agent_id = {"a"}}));
    TRY(tx.binding("b"));
    TRY(tx.bindings({"a"}, 1));
    TRY(tx.add_delivery({.delivery_intent_id = "d", .agent_id = {"a"}}, "{}"));
    TRY(tx.put_delivery({.delivery_intent_id = "d", .agent_id = {"a"}}));
    TRY(tx.delivery("d"));
    TRY(tx.due_deliveries({}, 1));
    TRY(tx.shelve_delivery("d"));
    TRY(tx.next_delivery_due());
    TRY(tx.deliveries({"a"}, 1));
    TRY(tx.put_wake_hint({.target_agent_id = {"a"}}));
    TRY(tx.wake_hint({"a"}));
    TRY(tx.erase_wake_hint({"a"}));
    TRY(tx.agents_with_wake_hint({}, 1));
    TRY(tx.put_workspace({.workspace_id = "ws"}));
    TRY(tx.workspace("ws"));
    TRY(tx.put_worktree({.agent_id = {"a"}}));
    TRY(tx.worktree("/w"));
    TRY(tx.worktrees({"a"}, 1));
    TRY(tx.agents_with_active_tasks(2));
    TRY(tx.put_outbox({.effect_id = "e", .agent_id = {"a"}}));
    TRY(tx.outbox({"a"}));
    TRY(tx.erase_outbox("e"));
    TRY(tx.add_plan_run({.run_id = {"p"}}, "{}"));
    TRY(tx.put_plan_run({.run_id = {"p"}}));
    TRY(tx.plan_run({"p"}));
    TRY(tx.plan_document({"p"}));
    TRY(tx.plan_runs(1, {}));
    (void)tx.plan_runs(1, {"p"});
    TRY(tx.plan_runs_reverting({"p"}));
    TRY(tx.plan_run_ids("p", 1));
    TRY(tx.open_plan_runs(1));
    TRY(tx.plan_run_count());
    TRY(tx.ended_plan_runs(1));
    TRY(tx.drop_plan_run({"p"}));
    TRY(tx.erase_dropped_plan_rows(9));
    TRY(tx.append_plan_records({"p"}, {{.seq = 1}}));
    TRY(tx.plan_records({"p"}, 0, 1));
    TRY(tx.put_plan_origin({.plan_hash = "h"}));
    TRY(tx.plan_origin("h"));
    TRY(tx.put_plan_action({.name = "n"}));
    TRY(tx.plan_action("n"));
    TRY(tx.plan_actions(1));
    TRY(tx.erase_plan_action("n"));
    TRY(tx.put_gate_document({.document_id = "TS-1"}));
    TRY(tx.gate_document("TS-1"));
    TRY(tx.gate_documents(std::nullopt, 1, {}));
    (void)tx.gate_documents(std::nullopt, 1, "d");
    TRY(tx.gate_documents(domain::GatePlace::Outbox, 1, {}));
    TRY(tx.put_retention({}));
    TRY(tx.retention());
    TRY(tx.row_counts());
    TRY(tx.append_message(
        {.id = {"long"}, .agent_id = {"a"}, .body = domain::TextBody{std::string(2000, 'x')}},
        std::nullopt));
    TRY(tx.message({"long"}));
    for (const auto stream :
         {store::Stream::Messages, store::Stream::Events, store::Stream::Transcript,
          store::Stream::Briefs, store::Stream::Tasks, store::Stream::Waits, store::Stream::Timers,
          store::Stream::Episodes}) {
        TRY(tx.stream_head({"a"}, stream));
        TRY(tx.oldest_rows({"a"}, stream, 0, 1));
        if (stream != store::Stream::Messages) TRY(tx.erase_rows({"a"}, stream, 0, 9));
    }
    domain::Attempt over{.run_id = {"r"}, .agent_id = {"a"}, .message_id = {"m"}};
    over.state = domain::Closed{};
    TRY(tx.put_attempt(over));
    TRY(tx.set_queue_status({"m"}, domain::QueueStatus::Processed, std::nullopt, {}));
    TRY(tx.artifacts_of({"m"}));
    TRY(tx.erase_message({"m"}, 99));
    TRY(tx.settle());
    return tx.erase_agent({"a"});
}

std::string plan_of(sqlite3* db, sqlite3_stmt* statement) {
    std::string plan;
    sqlite3_stmt* explain = nullptr;
    const std::string text = std::string("EXPLAIN QUERY PLAN ") + sqlite3_sql(statement);
    EXPECT_EQ(sqlite3_prepare_v2(db, text.c_str(), -1, &explain, nullptr), SQLITE_OK) << text;
    while (sqlite3_step(explain) == SQLITE_ROW)
        plan += reinterpret_cast<const char*>(sqlite3_column_text(explain, 3)) + std::string("\n");
    sqlite3_finalize(explain);
    return plan;
}

TEST(QueryPlan, EveryStatementUsesAnIndexAndNeverSorts) {
    const auto connection = Connection::open({.file = ":memory:"}).value();
    ASSERT_TRUE(migrations::migrate(*connection));
    std::vector<sqlite3_stmt*> before;
    for (auto* s = sqlite3_next_stmt(connection->handle(), nullptr); s;
         s = sqlite3_next_stmt(connection->handle(), s))
        before.push_back(s);
    ASSERT_TRUE(connection->begin(sql::Access::Write));
    sql::SqlTx tx(*connection, sql::Access::Write, store::Durability::Process);
    const Status status = run_everything(tx);
    ASSERT_TRUE(status) << status.error().message;

    int statements = 0;
    for (auto* s = sqlite3_next_stmt(connection->handle(), nullptr); s;
         s = sqlite3_next_stmt(connection->handle(), s)) {
        if (std::ranges::find(before, s) != before.end()) continue;
        const std::string plan = plan_of(connection->handle(), s);
        // A scan of an index in its order is a walk that LIMIT ends; any other reads the table.
        for (auto at = plan.find("SCAN "); at != plan.npos; at = plan.find("SCAN ", at + 1))
            EXPECT_NE(plan.find("USING", at), plan.npos) << sqlite3_sql(s) << "\n" << plan;
        EXPECT_EQ(plan.find("TEMP B-TREE"), plan.npos) << sqlite3_sql(s) << "\n" << plan;
        ++statements;
    }
    EXPECT_GT(statements, 60);
    connection->rollback();
}

}  // namespace
}  // namespace sqlite
