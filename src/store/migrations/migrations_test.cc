#include "store/migrations/migrations.h"

#include <sys/wait.h>
#include <unistd.h>

#include <gmock/gmock.h>

#include <filesystem>

#include "store/migrations/0011_agent_statistics.h"
#include "store/sql/sqlite/connection.h"
#include "store/sql/sqlite/sqlite_store.h"
#include "store/sql/sqlite/temp_database.h"

namespace migrations {
namespace {

using base::ErrorCode;
using testing::HasSubstr;

constexpr Step kFirst{1, "first", "CREATE TABLE a (n BIGINT); INSERT INTO a VALUES (1);"};
constexpr Step kSecond{2, "second", "CREATE TABLE b (n BIGINT); UPDATE a SET n = n + 1;"};
constexpr Step kThird{3, "third", "UPDATE a SET n = n * 10;"};

std::unique_ptr<sqlite::Connection> database() {
    return sqlite::Connection::open({.file = ":memory:"}).value();
}

std::int64_t number(sql::Connection& connection, std::string_view query) {
    std::int64_t value = -1;
    EXPECT_TRUE(connection.query(query, {}, [&](const sql::Row& row) -> base::Status {
        value = row.integer(0);
        return {};
    }));
    return value;
}

TEST(Migrations, AreNumberedFromOneAndRise) {
    std::int64_t last = 0;
    ASSERT_FALSE(steps().empty());
    EXPECT_EQ(steps().front().number, 1);
    for (const auto& step : steps()) {
        EXPECT_GT(step.number, last) << step.name;
        last = step.number;
    }
}

TEST(Migrations, ApplyAStepThatCameInBeforeOneThatIsThereAlready) {
    const auto db = database();
    const Step before[] = {kFirst, kThird};
    const Step after[] = {kFirst, kSecond, kThird};
    ASSERT_TRUE(migrate(*db, before));
    EXPECT_EQ(number(*db, "SELECT n FROM a"), 10);
    ASSERT_TRUE(migrate(*db, after));
    ASSERT_TRUE(migrate(*db, after));
    EXPECT_EQ(number(*db, "SELECT n FROM a"), 11);
    EXPECT_EQ(number(*db, "SELECT COUNT(*) FROM schema_migrations"), 3);
}

TEST(Migrations, ApplyEachStepOnceAndInOrder) {
    const auto db = database();
    const Step known[] = {kFirst, kSecond, kThird};
    ASSERT_TRUE(migrate(*db, known));
    ASSERT_TRUE(migrate(*db, known));
    EXPECT_EQ(number(*db, "SELECT n FROM a"), 20);
    EXPECT_EQ(number(*db, "SELECT COUNT(*) FROM schema_migrations"), 3);
}

TEST(Migrations, GoOnWhereAnEarlierRunStopped) {
    const auto db = database();
    const Step known[] = {kFirst, kSecond, kThird};
    ASSERT_TRUE(migrate(*db, std::span(known).first(1)));
    ASSERT_TRUE(migrate(*db, known));
    EXPECT_EQ(number(*db, "SELECT n FROM a"), 20);
}

TEST(Migrations, UndoAStepThatBreaksInTheMiddleAndRunItWholeNextTime) {
    const auto db = database();
    constexpr Step kBroken{2, "second", "CREATE TABLE b (n BIGINT); UPDATE missing SET n = 1;"};
    const Step broken[] = {kFirst, kBroken, kThird};
    ASSERT_TRUE(migrate(*db, std::span(broken).first(1)));
    const auto status = migrate(*db, broken);
    ASSERT_FALSE(status);
    EXPECT_THAT(status.error().message, HasSubstr("migration 2 (second)"));
    EXPECT_EQ(number(*db, "SELECT MAX(number) FROM schema_migrations"), 1);
    EXPECT_EQ(number(*db, "SELECT COUNT(*) FROM sqlite_master WHERE name = 'b'"), 0);

    const Step fixed[] = {kFirst, kSecond, kThird};
    ASSERT_TRUE(migrate(*db, fixed));
    EXPECT_EQ(number(*db, "SELECT n FROM a"), 20);
}

TEST(Migrations, MakeANewDatabaseWholeOrNotAtAll) {
    const auto db = database();
    constexpr Step kBroken{3, "third", "UPDATE missing SET n = 1;"};
    const Step broken[] = {kFirst, kSecond, kBroken};
    const auto status = migrate(*db, broken);
    ASSERT_FALSE(status);
    EXPECT_THAT(status.error().message, HasSubstr("migration 3 (third)"));
    EXPECT_EQ(number(*db, "SELECT COUNT(*) FROM sqlite_master"), 0);
    const Step fixed[] = {kFirst, kSecond, kThird};
    ASSERT_TRUE(migrate(*db, fixed));
    EXPECT_EQ(number(*db, "SELECT n FROM a"), 20);
}

TEST(Migrations, RefuseADatabaseOfANewerProgramAndLeaveItAlone) {
    const auto db = database();
    const Step known[] = {kFirst, kSecond, kThird};
    ASSERT_TRUE(migrate(*db, known));
    const auto status = migrate(*db, std::span(known).first(2));
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, ErrorCode::Refused);
    EXPECT_THAT(status.error().message, HasSubstr("version 3"));
    EXPECT_THAT(status.error().message, HasSubstr("Start that version again"));
    EXPECT_EQ(number(*db, "SELECT n FROM a"), 20);
}

// Code that works in batches: doubles kBatchRows rows at a time, in the order of their keys.
constexpr std::int64_t kRows = 10, kBatchRows = 3;
constexpr Step kFill{1, "fill",
                     "CREATE TABLE rows_ (id BIGINT PRIMARY KEY, n BIGINT NOT NULL);"
                     "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 10)"
                     "INSERT INTO rows_ SELECT i, i FROM c;"};
int batches_before_end = -1;  // The process ends inside the batch after so many; -1: never.
std::vector<std::string> received;

base::Result<Batch> double_rows(sql::Connection& connection, std::string_view progress) {
    received.emplace_back(progress);
    const std::int64_t last = progress.empty() ? 0 : std::stoll(std::string(progress));
    TRY(connection.execute("UPDATE rows_ SET n = n * 2 WHERE id > $1 AND id <= $2",
                           {last, last + kBatchRows}));
    if (batches_before_end-- == 0) ::_exit(9);
    return Batch{.progress = std::to_string(last + kBatchRows),
                 .is_last = last + kBatchRows >= kRows};
}
constexpr Step kDouble{2, "double", &double_rows};

// 1 + 2 + ... + 10, each doubled once.
constexpr std::int64_t kDoubledSum = 110;

class CodeMigrations : public testing::Test {
protected:
    void SetUp() override {
        batches_before_end = -1;
        received.clear();
    }
    std::unique_ptr<sqlite::Connection> open() {
        return sqlite::Connection::open({.file = file.file()}).value();
    }
    // Another process migrates a database that has the first step, and is gone in the middle of a
    // batch, after its writes.
    void end_in_batch_after(int batches) {
        ASSERT_TRUE(migrate(*open(), std::span(known).first(1)));
        const pid_t pid = ::fork();
        if (pid == 0) {
            batches_before_end = batches;
            (void)migrate(*open(), known);
            ::_exit(0);
        }
        int status = 0;
        ASSERT_EQ(::waitpid(pid, &status, 0), pid);
        ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 9);
    }

    sqlite::TempDatabase file;
    const Step known[2] = {kFill, kDouble};
};

TEST_F(CodeMigrations, RunInBatchesUntilNothingIsLeft) {
    const auto db = open();
    ASSERT_TRUE(migrate(*db, known));
    ASSERT_TRUE(migrate(*db, known));
    EXPECT_THAT(received, testing::ElementsAre("", "3", "6", "9"));
    EXPECT_EQ(number(*db, "SELECT SUM(n) FROM rows_"), kDoubledSum);
    EXPECT_EQ(number(*db, "SELECT COUNT(*) FROM migration_progress"), 0);
}

TEST_F(CodeMigrations, ContinueInTheBatchInWhichAProcessEnded) {
    for (int batches = 0; batches < 4; ++batches) {
        end_in_batch_after(batches);
        ASSERT_TRUE(migrate(*open(), known));
        EXPECT_EQ(received.size(), static_cast<std::size_t>(4 - batches));
        EXPECT_EQ(number(*open(), "SELECT SUM(n) FROM rows_"), kDoubledSum) << batches;
        received.clear();
        std::filesystem::remove(file.file());
    }
}

TEST_F(CodeMigrations, KeepAProgramThatDoesNotKnowThemOutWhileTheyAreUnderWay) {
    end_in_batch_after(2);
    const auto status = migrate(*open(), std::span(known).first(1));
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, ErrorCode::Refused);
    ASSERT_TRUE(migrate(*open(), known));
    EXPECT_EQ(number(*open(), "SELECT SUM(n) FROM rows_"), kDoubledSum);
}

TEST_F(CodeMigrations, SayBeforeTheFirstBatchOnly) {
    end_in_batch_after(1);
    int said = 0;
    ASSERT_TRUE(migrate(*open(), known, [&](std::int64_t) -> base::Status {
        ++said;
        return {};
    }));
    EXPECT_EQ(said, 0);
}

TEST_F(CodeMigrations, UndoABatchThatFailsAndKeepThoseBefore) {
    static bool fails;
    fails = true;
    const BatchFunction breaks = [](sql::Connection& connection,
                                    std::string_view progress) -> base::Result<Batch> {
        auto batch = TRY(double_rows(connection, progress));
        if (progress == "6" && fails) return base::fail(ErrorCode::Io, "the disk is full.");
        return batch;
    };
    const Step broken[] = {kFill, {2, "double", breaks}};
    const auto db = open();
    ASSERT_TRUE(migrate(*db, std::span(broken).first(1)));
    const auto status = migrate(*db, broken);
    ASSERT_FALSE(status);
    EXPECT_THAT(status.error().message, HasSubstr("migration 2 (double)"));
    EXPECT_EQ(number(*db, "SELECT SUM(n) FROM rows_ WHERE id <= 6"), 42);
    EXPECT_EQ(number(*db, "SELECT SUM(n) FROM rows_ WHERE id > 6"), 34);
    fails = false;
    ASSERT_TRUE(migrate(*db, broken));
    EXPECT_EQ(number(*db, "SELECT SUM(n) FROM rows_"), kDoubledSum);
}

TEST_F(CodeMigrations, AreABugWhenTheyStandStill) {
    const BatchFunction stuck = [](sql::Connection&, std::string_view) -> base::Result<Batch> {
        return Batch{.progress = "here"};
    };
    const Step stuck_steps[] = {kFill, {2, "stuck", stuck}};
    const auto db = open();
    EXPECT_THROW((void)migrate(*db, stuck_steps), base::Bug);
}

TEST(Migrations, SayBeforeTheyChangeADatabaseThatHasSteps) {
    const auto db = database();
    const Step known[] = {kFirst, kSecond, kThird};
    std::vector<std::int64_t> said;
    const BeforeChange before = [&](std::int64_t version) -> base::Status {
        said.push_back(version);
        return {};
    };
    ASSERT_TRUE(migrate(*db, std::span(known).first(1), before));
    EXPECT_TRUE(said.empty()) << "it was new";
    ASSERT_TRUE(migrate(*db, known, before));
    ASSERT_TRUE(migrate(*db, known, before));
    EXPECT_THAT(said, testing::ElementsAre(1));
}

TEST(Migrations, ChangeNothingWhenTheCallBeforeThemFails) {
    const auto db = database();
    const Step known[] = {kFirst, kSecond};
    ASSERT_TRUE(migrate(*db, std::span(known).first(1)));
    const auto status = migrate(*db, known, [](std::int64_t) -> base::Status {
        return base::fail(ErrorCode::Io, "no backup can be made");
    });
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().message, "no backup can be made");
    EXPECT_EQ(number(*db, "SELECT MAX(number) FROM schema_migrations"), 1);
}

// As programs before step 11 wrote them.
constexpr std::string_view kOldAgent =
    R"({"agent_id":"ada","identity":{"agent_id":"ada","kind":"named","visibility":"public",)"
    R"("ownership":"self_owned","profile_preset":"public_named","status":"active",)"
    R"("created_at":"2031-01-02T00:00:00.000000Z","updated_at":"2031-01-02T00:00:00.000000Z"},)"
    R"("booting":false,"paused":true,"stopped":false,"rest":{"since":"2031-01-02T00:00:00.000000Z",)"
    R"("reason":"n\u00e4ht \"q\"","trust":"trusted_system"},"turn_index":3,)"
    R"("last_turn_terminal":{"turn_index":3,"kind":"completed",)"
    R"("completed_at":"2031-01-02T00:00:00.000000Z","duration_ms":4},)"
    R"("last_runtime_failure":{"occurred_at":"2031-01-02T00:00:00.000000Z","summary":"it broke",)"
    R"("phase":"runtime_turn"},"last_continuation":{"trigger_kind":"operator_input",)"
    R"("class":"local_continuation","model_visible":true,"prior_closure_outcome":"completed",)"
    R"("matched_waiting_reason":false,"evidence":["e"]},"last_wake_reason":"operator_prompt",)"
    R"("last_brief_at":"2031-01-02T00:00:00.000000Z","total_message_count":1,)"
    R"("compacted_message_count":2,"total_input_tokens":3,"total_output_tokens":4,)"
    R"("total_model_rounds":5,"total_turn_ms":6,"last_turn_token_usage":{"input_tokens":1,)"
    R"("output_tokens":2,"total_tokens":3},"tool_latency":[{"tool_name":"Read","calls":2,)"
    R"("total_ms":3,"max_ms":2}],"attached_workspaces":["ws-1"],"model_override":"openai/m",)"
    R"("current_work_item_id":"work_1"})";
constexpr std::string_view kOldAttempt =
    R"({"run_id":"r","agent_id":"ada","message_id":"m","turn_index":3,"state":{"state":"thinking",)"
    R"("round":2,"continues_text":false},"rounds_max":400,"output_limit_recoveries":0,"restarts":0,)"
    R"("model_ref":"openai/m","token_usage":{"input_tokens":1,"output_tokens":2,"total_tokens":3},)"
    R"("rest_wish":{"reason":"later","duration_ms":200},"last_assistant_message":"",)"
    R"("opened_at":"2031-01-02T00:00:00.000000Z"})";
constexpr base::Time kThen = base::Time(std::chrono::microseconds(1'925'078'400'000'000));

class AgentStatisticsStep : public testing::Test {
protected:
    const std::filesystem::path file_ =
        std::filesystem::path(testing::TempDir()) / "agent_statistics_step.db";

    void SetUp() override { TearDown(); }
    void TearDown() override {
        for (const auto* suffix : {"", "-wal", "-shm"})
            std::filesystem::remove(file_.string() + suffix);
    }

    // A database as the program before this step left it.
    std::unique_ptr<sqlite::Connection> old_database() const {
        auto db = sqlite::Connection::open({.file = file_}).value();
        const auto step =
            std::ranges::find(steps(), std::string_view("agent_statistics"), &Step::name);
        EXPECT_TRUE(migrate(*db, {steps().begin(), step}));
        EXPECT_TRUE(
            db->execute("INSERT INTO agents (agent_id, is_listed, record) "
                        "VALUES ('ada', 1, $1)",
                        {kOldAgent}));
        EXPECT_TRUE(
            db->execute("INSERT INTO attempts (run_id, agent_id, is_open, record) "
                        "VALUES ('r', 'ada', 1, $1)",
                        {kOldAttempt}));
        return db;
    }
};

TEST_F(AgentStatisticsStep, LosesNothingOfTheRecordsOfAnOlderProgram) {
    old_database().reset();
    const auto store = sqlite::open({.file = file_}).value();
    const auto status = store->read([](store::Tx& tx) -> base::Status {
        EXPECT_EQ(TRY(tx.agent({"ada"})),
                  (domain::Agent{
                      .agent_id = {"ada"},
                      .identity = {.agent_id = {"ada"}, .created_at = kThen, .updated_at = kThen},
                      .paused = true,
                      .sleep = domain::Sleep{.since = kThen, .reason = "näht \"q\""},
                      .turn_index = 3,
                      .attached_workspaces = {"ws-1"},
                      .model_override = "openai/m",
                      .current_work_item_id = domain::WorkItemId{"work_1"}}));
        EXPECT_EQ(
            TRY(tx.statistics({"ada"})),
            (domain::AgentStatistics{
                .agent_id = {"ada"},
                .last_turn_terminal =
                    domain::TurnTerminal{.turn_index = 3, .completed_at = kThen, .duration_ms = 4},
                .last_runtime_failure =
                    domain::RuntimeFailure{
                        .occurred_at = kThen, .summary = "it broke", .phase = "runtime_turn"},
                .last_continuation = domain::ContinuationResolution{.evidence = {"e"}},
                .last_wake_reason = "operator_prompt",
                .last_brief_at = kThen,
                .total_message_count = 1,
                .compacted_message_count = 2,
                .total_input_tokens = 3,
                .total_output_tokens = 4,
                .total_model_rounds = 5,
                .total_turn_ms = 6,
                .last_turn_token_usage = domain::TokenUsage{1, 2, 3},
                .tool_latency = {{"Read", 2, 3, 2}}}));
        const auto attempt = TRY(tx.attempt({"r"}));
        EXPECT_EQ(attempt.value().sleep_request, (domain::SleepRequest{"later", 200}));
        EXPECT_EQ(attempt->state, domain::TurnState(domain::Thinking{2}));
        return {};
    });
    EXPECT_TRUE(status) << status.error().message;
}

TEST_F(AgentStatisticsStep, ChangesNothingWhenItIsAppliedAgain) {
    const auto db = old_database();
    const auto records = [&] {
        std::vector<std::string> list;
        EXPECT_TRUE(
            db->query("SELECT record FROM agents UNION ALL SELECT record FROM attempts "
                      "UNION ALL SELECT record FROM agent_statistics",
                      {}, [&](const sql::Row& row) -> base::Status {
                          list.emplace_back(row.text(0));
                          return {};
                      }));
        return list;
    };
    ASSERT_TRUE(migrate(*db));
    const auto once = records();
    ASSERT_EQ(once.size(), 3U);
    EXPECT_THAT(once[0], testing::Not(HasSubstr("total_message_count")));
    EXPECT_THAT(once[2], testing::Not(HasSubstr("turn_index\":3,\"attached")));
    ASSERT_TRUE(db->run_script(kAgentStatistics));
    EXPECT_EQ(records(), once);
}

// contract: IDENT-01
TEST(Schema, KeysStateQueueTasksAndWorktreesByTheAgent) {
    const auto db = database();
    ASSERT_TRUE(migrate(*db));
    for (const char* table :
         {"agents", "agent_statistics", "messages", "queue_entries", "attempts", "events",
          "transcript", "briefs", "tasks", "timers", "work_items", "worktrees", "working_memory"})
        EXPECT_EQ(number(*db, fmt::format("SELECT COUNT(*) FROM pragma_table_info('{}') "
                                          "WHERE name = 'agent_id'",
                                          table)),
                  1)
            << table;
}

TEST(PlanRevertsStep, FindsTheRunsOfAnOlderProgramByWhatTheyTakeBack) {
    const auto db = database();
    const auto step = std::ranges::find(steps(), std::string_view("plan_reverts"), &Step::name);
    ASSERT_TRUE(migrate(*db, {steps().begin(), step}));
    const auto add = [&](std::string_view id, std::string_view record) {
        EXPECT_TRUE(
            db->execute("INSERT INTO plan_runs (run_id, created_at, is_open, record) "
                        "VALUES ($1, 1, 0, $2)",
                        {id, record}));
    };
    add("plain", R"({"run_id":"plain","reverts":null})");
    add("older", R"({"run_id":"older"})");
    add("reverting", R"({"run_id":"reverting","reverts":"plain"})");
    add("broken", "{");
    ASSERT_TRUE(migrate(*db, {steps().begin(), step + 1}));
    EXPECT_EQ(number(*db, "SELECT COUNT(*) FROM plan_runs WHERE reverts = 'plain'"), 1);
    EXPECT_EQ(number(*db, "SELECT COUNT(*) FROM plan_runs WHERE reverts IS NOT NULL"), 1);
}

TEST(PlanInputsStep, KeepsWhatTheRunsOfAnOlderProgramWereGiven) {
    const auto db = database();
    const auto step = std::ranges::find(steps(), std::string_view("plan_inputs"), &Step::name);
    ASSERT_TRUE(migrate(*db, {steps().begin(), step}));
    const auto add = [&](std::string_view id, std::string_view record) {
        EXPECT_TRUE(
            db->execute("INSERT INTO plan_runs (run_id, created_at, is_open, record) "
                        "VALUES ($1, 1, 0, $2)",
                        {id, record}));
    };
    add("given", R"({"run_id":"given","context":{"note":"a.md"},"params":{"names":["x","y"]}})");
    add("broken", "{");
    ASSERT_TRUE(migrate(*db, {steps().begin(), step + 1}));
    EXPECT_EQ(number(*db,
                     "SELECT COUNT(*) FROM plan_inputs WHERE run_id = 'given' AND record = "
                     "'{\"context\":{\"note\":\"a.md\"},\"params\":{\"names\":[\"x\",\"y\"]}}'"),
              1);
    EXPECT_EQ(number(*db, "SELECT COUNT(*) FROM plan_inputs"), 1);
}

}  // namespace
}  // namespace migrations
