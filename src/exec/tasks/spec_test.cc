#include "exec/tasks/spec.h"

#include <gmock/gmock.h>

#include "exec/tasks/snapshot/snapshot.h"

namespace tasks {
namespace {

domain::Task stored(std::string_view text) {
    return base::from_json<domain::Task>(base::parse_json(text).value()).value();
}

constexpr std::string_view kOldChild = R"({"id":"t1","agent_id":"main","kind":"subagent_task",
    "status":"running","created_at":"2026-01-01T00:00:00Z","updated_at":"2026-01-01T00:00:00Z",
    "parent_message_id":null,"summary":"look","detail":{"wait_policy":"blocking",
    "child_agent_id":"tmp_child_1"},"recovery":{"kind":"subagent_task","summary":"look",
    "prompt":"look at it","trust":"trusted_operator"}})";

domain::Task old_worktree_child() {
    std::string text(kOldChild);
    for (std::size_t at = 0; (at = text.find("\"subagent_task", at)) != std::string::npos; at += 10)
        text.replace(at, 1, "\"worktree_");
    return stored(text);
}

// contract: TASK-03
TEST(TaskKind, HasFiveSpellingsAndNoSixth) {
    for (const char* kind : {"command_task", "child_agent_task", "sleep_job", "subagent_task",
                             "worktree_subagent_task"}) {
        const json::value text(kind);
        EXPECT_EQ(base::to_json(base::from_json<domain::TaskKind>(text).value()), text);
    }
    EXPECT_FALSE(base::from_json<domain::TaskKind>(json::value("cron_job")));
}

// contract: TASK-04, TASK-08, TASK-10
TEST(LegacyTasks, AreReadWithTheirChildAndItsWorkspace) {
    const auto plain = stored(kOldChild);
    EXPECT_EQ(plain.kind, domain::TaskKind::SubagentTask);
    EXPECT_EQ(supervised_by(plain),
              (Supervised{domain::AgentId{"tmp_child_1"}, WorkspaceMode::Inherit}));
    EXPECT_EQ(
        recovery_of(plain).value(),
        Recovery(SubagentRecovery{"look", "look at it", domain::TrustLevel::TrustedOperator}));
    const auto worktree = old_worktree_child();
    EXPECT_EQ(worktree.kind, domain::TaskKind::WorktreeSubagentTask);
    EXPECT_EQ(supervised_by(worktree)->workspace_mode, WorkspaceMode::Worktree);
    EXPECT_EQ(recovery_of(worktree).value(),
              Recovery(WorktreeSubagentRecovery{"look", "look at it",
                                                domain::TrustLevel::TrustedOperator}));
}

TEST(LegacyTasks, NeverShowAsBlocking) {
    EXPECT_EQ(base::string_at(status_snapshot(stored(kOldChild)), "wait_policy"), "background");
}

// contract: TASK-07
TEST(ChildRecovery, KeepsWhatAChildWasAskedAndWhereItWorks) {
    const Recovery child = ChildRecovery{"look", "look at it", domain::TrustLevel::TrustedSystem,
                                         WorkspaceMode::Worktree};
    EXPECT_EQ(base::json_text(base::to_json(child)),
              R"({"kind":"child_agent_task","summary":"look","prompt":"look at it",)"
              R"("trust":"trusted_system","workspace_mode":"worktree"})");
    domain::Task task{.kind = domain::TaskKind::ChildAgentTask};
    task.detail = json::object{{"child_agent_id", "c"}};
    task.recovery = base::to_json(child);
    EXPECT_EQ(supervised_by(task), (Supervised{domain::AgentId{"c"}, WorkspaceMode::Worktree}));
}

// contract: TASK-13
TEST(LegacyCommandSpec, ContinueOnResultIsReadAsTerminalReentry) {
    for (const bool value : {true, false}) {
        domain::Task task{.kind = domain::TaskKind::CommandTask};
        task.recovery = json::object{
            {"kind", "command_task"},
            {"summary", "s"},
            {"trust", "trusted_operator"},
            {"spec", {{"cmd", "make"}, {"login", true}, {"continue_on_result", value}}}};
        const auto recovery = recovery_of(task).value();
        EXPECT_EQ(std::get<CommandRecovery>(*recovery).spec.terminal_reentry, value);
    }
}

TEST(Recovery, IsAbsentOrRefusedWhenItCannotBeRead) {
    EXPECT_EQ(recovery_of({}).value(), std::nullopt);
    domain::Task strange;
    strange.recovery = json::object{{"kind", "cron_job"}};
    EXPECT_FALSE(recovery_of(strange));
}

TEST(SameCommand, IsTheSameTextInTheSameFolderRunTheSameWay) {
    const CommandTaskSpec spec{.cmd = "make"};
    const CommandDetail running{.cmd = "make", .cmd_digest = cmd_digest("make"), .workdir = "/a"};
    EXPECT_TRUE(is_same_command(running, spec, "/a"));
    EXPECT_FALSE(is_same_command(running, spec, "/b"));
    for (const CommandTaskSpec& other :
         {CommandTaskSpec{.cmd = "make "}, CommandTaskSpec{.cmd = "make", .shell = "sh"},
          CommandTaskSpec{.cmd = "make", .login = false},
          CommandTaskSpec{.cmd = "make", .tty = true}})
        EXPECT_FALSE(is_same_command(running, other, "/a"));
    const CommandTaskSpec patient{.cmd = "make", .yield_time_ms = 7, .accepts_input = true};
    EXPECT_TRUE(is_same_command(running, patient, "/a"));
}

}  // namespace
}  // namespace tasks
