#include "exec/tasks/snapshot/snapshot.h"
#include "exec/tools/builtin/builtin.h"
#include "exec/tools/builtin/task_tools.h"

namespace builtin {
namespace {

struct TaskListArgs {};
BOOST_DESCRIBE_STRUCT(TaskListArgs, (), ())

struct TaskListResult {
    std::vector<json::object> tasks;
};
BOOST_DESCRIBE_STRUCT(TaskListResult, (), (tasks))

results::Completed listed(const std::vector<domain::Task>& active) {
    json::array list;
    for (const auto& task : active) list.push_back(tasks::list_entry(task));
    const std::string summary = fmt::format("{} tasks are active", list.size());
    return document(summary, {{"tasks", std::move(list)}});
}

class TaskList final : public tools::Tool {
public:
    explicit TaskList(tasks::Host& host) : host_(host) {}
    const tools::ToolSpec& spec() const override { return spec_; }

    std::shared_ptr<tools::Running> start(const domain::ToolCall&,
                                          const tools::ExecutionContext& place,
                                          results::ArtifactSink&, tools::Done done) override {
        host_.active(place.agent_id, [done = std::move(done)](const auto& active) mutable {
            done({.completed = active ? listed(*active) : task_failure(active.error())});
        });
        return nullptr;
    }

private:
    tasks::Host& host_;
    const tools::ToolSpec spec_{
        .name = "TaskList",
        .description =
            "List your tasks that are queued, running or being stopped, last changed "
            "first.",
        .family = tools::Family::CoreAgent,
        .risk = domain::RiskLevel::ReadOnly,
        .category = "tasks",
        .repeatable = true,
        .input_schema = base::schema_of<TaskListArgs>(),
        .output_schema = base::schema_of<TaskListResult>(),
        .render = render_document};
};

}  // namespace

std::unique_ptr<tools::Tool> task_list(tasks::Host& host) {
    return std::make_unique<TaskList>(host);
}

}  // namespace builtin
