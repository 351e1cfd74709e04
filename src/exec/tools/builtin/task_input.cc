#include "base/text.h"
#include "exec/tasks/child_task.h"
#include "exec/tasks/snapshot/snapshot.h"
#include "exec/tools/builtin/builtin.h"
#include "exec/tools/builtin/task_tools.h"

namespace builtin {
namespace {

struct TaskInputArgs {
    std::string task_id;
    std::string input;
};
BOOST_DESCRIBE_STRUCT(TaskInputArgs, (), (task_id, input))
constexpr auto describe_fields(const TaskInputArgs*) {
    return std::to_array<base::FieldDoc>(
        {{"task_id", "The task's id, as ExecCommand or TaskList gave it.", R"("minLength":1)"},
         {"input",
          "What the command is to read, exactly; end a line with a newline. For a child agent: the "
          "text of its next message."}});
}

struct TaskInputResult {
    json::object task;
    bool accepted_input{false};
    std::optional<std::string> input_target{};
    std::optional<std::int64_t> bytes_written{};
};
BOOST_DESCRIBE_STRUCT(TaskInputResult, (), (task, accepted_input, input_target, bytes_written))

results::Completed receipt_of(const tasks::InputReceipt& receipt) {
    const auto target = tasks::detail_of(receipt.task).input_target;
    const bool accepted = receipt.bytes_written.has_value();
    json::object result{{"task", tasks::status_snapshot(receipt.task)},
                        {"accepted_input", accepted}};
    if (target) result["input_target"] = *target;
    if (accepted) result["bytes_written"] = *receipt.bytes_written;
    return document(
        accepted ? fmt::format("{} bytes went to task {}", *receipt.bytes_written, receipt.task.id)
                 : fmt::format("Task {} took no input: {}", receipt.task.id, receipt.refusal),
        std::move(result));
}

class TaskInput final : public tools::Tool {
public:
    explicit TaskInput(tasks::Host& host) : host_(host) {}
    const tools::ToolSpec& spec() const override { return spec_; }

    std::shared_ptr<tools::Running> start(const domain::ToolCall& call,
                                          const tools::ExecutionContext& place,
                                          results::ArtifactSink&, tools::Done done) override {
        auto args = base::from_json<TaskInputArgs>(call.args).value();
        const domain::TaskId task_id{args.task_id};
        host_.find(place.agent_id, task_id,
                   [this, agent = place.agent_id, args = std::move(args),
                    done = std::move(done)](const base::Result<domain::Task>& task) mutable {
                       if (task && task->kind == domain::TaskKind::ChildAgentTask)
                           return done(send_to_child(*task, args.input));
                       write(agent, std::move(args), std::move(done));
                   });
        return nullptr;
    }

private:
    // The child receives it in the commit of this call's result.
    static tools::Outcome send_to_child(const domain::Task& task, const std::string& text) {
        const auto refusal = refusal_of(task, text);
        json::object result{{"task", tasks::status_snapshot(task)},
                            {"accepted_input", refusal.empty()},
                            {"input_target", tasks::kChildFollowup}};
        if (!refusal.empty())
            return {.completed =
                        document(fmt::format("Task {} took no input: {}", task.id, refusal),
                                 std::move(result))};
        result["bytes_written"] = text.size();
        return {.completed = document(fmt::format("The child agent of task {} receives it as its "
                                                  "next message",
                                                  task.id),
                                      std::move(result)),
                .mutations = {tools::ChildInput{.task_id = task.id, .text = text}}};
    }
    static std::string refusal_of(const domain::Task& task, const std::string& text) {
        if (domain::is_terminal(task.status) || tasks::child_detail_of(task).pending_end)
            return "the task is over";
        if (task.status == domain::TaskStatus::Cancelling) return "the task is being stopped";
        return base::trim(text).empty() ? "the text is blank" : "";
    }

    void write(const domain::AgentId& agent, TaskInputArgs args, tools::Done done) {
        host_.input(
            agent, {args.task_id}, std::move(args.input),
            [done = std::move(done)](base::Result<tasks::InputReceipt> receipt) mutable {
                done({.completed = receipt ? receipt_of(*receipt) : task_failure(receipt.error())});
            });
    }

    tasks::Host& host_;
    const tools::ToolSpec spec_{
        .name = "TaskInput",
        .description =
            "Give a running task that accepts input something to read, or send a follow-up "
            "to the child agent that the task supervises.",
        .family = tools::Family::CoreAgent,
        .risk = domain::RiskLevel::Commands,
        .category = "tasks",
        .input_schema = base::schema_of<TaskInputArgs>(),
        .output_schema = base::schema_of<TaskInputResult>(),
        .render = render_document};
};

}  // namespace

std::unique_ptr<tools::Tool> task_input(tasks::Host& host) {
    return std::make_unique<TaskInput>(host);
}

}  // namespace builtin
