// Commands that may not run, or could not be kept in: refused at every entry point, and on record.
#include "exec/results/artifacts.h"
#include "exec/tools/builtin/commands/command_request.h"
#include "exec/tools/builtin/fixture_for_test.h"

namespace builtin {
namespace {

using sandbox::Rule;
using testing::HasSubstr;

class ExecutionPolicyTest : public BuiltinTest {
protected:
    using BuiltinTest::BuiltinTest;
    std::expected<tasks::CommandRequest, domain::ToolError> operators_task() {
        return command_request(shell_, place_, {"task-1"}, {.cmd = "touch ran"}, "task");
    }
    base::Result<domain::Task> created(tasks::CommandRequest request) {
        std::optional<base::Result<domain::Task>> made;
        host_.create(std::move(request), [&](base::Result<domain::Task> task) {
            made = std::move(task);
            loop_.stop();
        });
        while (!made) loop_.run();
        return *made;
    }
    bool has_run() const { return std::filesystem::exists(folder_.at("repo/ran")); }
};

// One switch, and everything that starts something is refused by it.
TEST_F(ExecutionPolicyTest, WithoutProcessesNothingRunsAtAnyDoor) {
    execution_.process_execution_exposed = false;
    const auto one = run("ExecCommand", {{"cmd", "touch ran"}});
    EXPECT_EQ(one.envelope.error().kind, "policy_denied");
    EXPECT_EQ(base::string_at(*one.envelope.error().details, "rule"), "execution_policy");
    EXPECT_EQ(one.denials, (std::vector<sandbox::Denial>{{Rule::ExecutionPolicy, "a command"}}));
    EXPECT_EQ(one.result.error->code, "POLICY_DENIED");

    const auto batch =
        run("ExecCommandBatch", {{"items", json::array{{{"cmd", "touch ran"}}, {{"cmd", "id"}}}}});
    EXPECT_EQ(batch.denials.size(), 2U);
    EXPECT_THAT(batch.receipt, HasSubstr("policy_denied"));

    std::optional<tools::Outcome> plain;
    results::FileArtifacts sink(folder_.path() / "artifacts", "x", ids_);
    start_command(shell_, {.cmd = "touch ran"}, "shell.exec", place_, sink,
                  [&](tools::Outcome outcome) {
                      plain = std::move(outcome);
                      loop_.stop();
                  });
    while (!plain) loop_.run();
    EXPECT_EQ(plain->completed.error().kind, "policy_denied");
    EXPECT_EQ(plain->denials.size(), 1U);

    EXPECT_EQ(operators_task().error().kind, "policy_denied");
    EXPECT_EQ(created({.id = {"t"}, .agent_id = {"default"}}).error().code,
              base::ErrorCode::Refused);
    EXPECT_FALSE(has_run());
}

TEST_F(ExecutionPolicyTest, WithoutTasksACommandEndsWithItsCallAndNoneIsCreated) {
    execution_.allow_background_tasks = false;
    EXPECT_TRUE(exec("true").envelope.ok());
    const auto end =
        run("ExecCommand",
            {{"cmd", "echo begun; exec sleep 600"}, {"login", false}, {"yield_time_ms", 0}});
    EXPECT_EQ(end.result.status, domain::ResultStatus::Timeout);
    EXPECT_EQ(base::string_at(end.envelope.result(), "ended_by"), "timeout");
    EXPECT_EQ(end.denials,
              (std::vector<sandbox::Denial>{{Rule::ExecutionPolicy, "a background task"}}));
    EXPECT_TRUE(active().empty());

    auto request = operators_task();
    ASSERT_TRUE(request);
    const auto refused = created(std::move(*request));
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("execution.allow_background_tasks"));
    EXPECT_FALSE(has_run());
}

// A machine whose kernel is too old.
class Unconfinable : public ExecutionPolicyTest {
protected:
    Unconfinable()
        : ExecutionPolicyTest({}, {{.backend = sandbox::Backend::Bubblewrap},
                                   {"/nowhere/home"},
                                   "/nowhere/holon-home",
                                   sandbox::Machine{.memory_files = true, .seccomp = true}}) {}
};

TEST_F(Unconfinable, IsNotRunWhateverTheModelSays) {
    const json::object tries[] = {
        {{"cmd", "touch ran"}},
        {{"cmd", "touch ran"}, {"login", false}},
        {{"cmd", "touch ran"}, {"shell", "/bin/sh"}},
        {{"cmd", "touch ran"}, {"shell", "bash"}, {"workdir", "."}},
        {{"cmd", "touch ran"}, {"tty", true}, {"yield_time_ms", 0}},
        {{"cmd", "HOLON_SANDBOX=off touch ran"}, {"accepts_input", true}},
        {{"cmd", "unset HOLON_SANDBOX; exec touch ran"}, {"duplicate_policy", "start_new"}},
    };
    for (const auto& args : tries) {
        const auto end = run("ExecCommand", args);
        ASSERT_FALSE(end.envelope.ok()) << base::json_text(args);
        const auto error = end.envelope.error();
        EXPECT_EQ(error.kind, "policy_denied") << base::json_text(args);
        EXPECT_THAT(error.message, HasSubstr("use Linux 5.12"));
        EXPECT_EQ(base::string_at(*error.details, "rule"), "unavailable");
        EXPECT_EQ(base::string_at(*error.details, "backend"), "bubblewrap");
        EXPECT_FALSE(error.details->at("missing").as_array().empty());
        EXPECT_EQ(end.denials, (std::vector<sandbox::Denial>{{Rule::Unavailable, "a command"}}));
    }
    // Words that no tool has are refused before anything else is asked.
    for (const char* word : {"sandbox", "network", "env", "backend"}) {
        json::object args{{"cmd", "touch ran"}};
        args[word] = "host_local";
        EXPECT_EQ(run("ExecCommand", args).envelope.error().kind, "invalid_tool_input") << word;
    }
    EXPECT_THAT(run("ExecCommandBatch", {{"items", json::array{{{"cmd", "touch ran"}}}}}).receipt,
                HasSubstr("policy_denied"));
    EXPECT_EQ(operators_task().error().kind, "policy_denied");
    EXPECT_FALSE(has_run());
}

}  // namespace
}  // namespace builtin
