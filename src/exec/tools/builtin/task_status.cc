#include "exec/tasks/snapshot/snapshot.h"
#include "exec/tools/builtin/builtin.h"
#include "exec/tools/builtin/task_tools.h"

namespace builtin {
namespace {

struct TaskStatusResult {
    json::object task;
};
BOOST_DESCRIBE_STRUCT(TaskStatusResult, (), (task))

results::Completed status_of(const domain::Task& task) {
    return document(fmt::format("Task {} {}", task.id, tasks::outcome_words(task)),
                    {{"task", tasks::status_snapshot(task)}});
}

class TaskStatus final : public tools::Tool {
public:
    explicit TaskStatus(tasks::Host& host) : host_(host) {}
    const tools::ToolSpec& spec() const override { return spec_; }

    std::shared_ptr<tools::Running> start(const domain::ToolCall& call,
                                          const tools::ExecutionContext& place,
                                          results::ArtifactSink&, tools::Done done) override {
        const auto args = base::from_json<TaskRef>(call.args).value();
        host_.find(place.agent_id, {args.task_id},
                   [done = std::move(done)](const base::Result<domain::Task>& task) mutable {
                       done({.completed = task ? status_of(*task) : task_failure(task.error())});
                   });
        return nullptr;
    }

private:
    tasks::Host& host_;
    const tools::ToolSpec spec_{.name = "TaskStatus",
                                .description = "Show how a task stands, without its output.",
                                .family = tools::Family::CoreAgent,
                                .risk = domain::RiskLevel::ReadOnly,
                                .category = "tasks",
                                .repeatable = true,
                                .input_schema = base::schema_of<TaskRef>(),
                                .output_schema = base::schema_of<TaskStatusResult>(),
                                .render = render_document};
};

}  // namespace

std::unique_ptr<tools::Tool> task_status(tasks::Host& host) {
    return std::make_unique<TaskStatus>(host);
}

}  // namespace builtin
