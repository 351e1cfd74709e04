#include "exec/tools/builtin/builtin.h"
#include "exec/tools/builtin/task_tools.h"

namespace builtin {
namespace {

struct TaskStopResult {
    json::object task;
    bool stop_requested{false};
    bool force_stop_requested{false};
};
BOOST_DESCRIBE_STRUCT(TaskStopResult, (), (task, stop_requested, force_stop_requested))

results::Completed receipt_of(const tasks::StopReceipt& receipt) {
    return document(fmt::format("Task {} is being stopped{}", receipt.task.id,
                                receipt.force_stop_requested ? " by force" : ""),
                    {{"task", base::to_json(receipt.task)},
                     {"stop_requested", true},
                     {"force_stop_requested", receipt.force_stop_requested}});
}

class TaskStop final : public tools::Tool {
public:
    explicit TaskStop(tasks::Host& host) : host_(host) {}
    const tools::ToolSpec& spec() const override { return spec_; }

    std::shared_ptr<tools::Running> start(const domain::ToolCall& call,
                                          const tools::ExecutionContext& place,
                                          results::ArtifactSink&, tools::Done done) override {
        const auto args = base::from_json<TaskRef>(call.args).value();
        host_.stop(
            place.agent_id, {args.task_id},
            [done = std::move(done)](base::Result<tasks::StopReceipt> receipt) mutable {
                done({.completed = receipt ? receipt_of(*receipt) : task_failure(receipt.error())});
            });
        return nullptr;
    }

private:
    tasks::Host& host_;
    const tools::ToolSpec spec_{
        .name = "TaskStop",
        .description =
            "End a task and everything it started: softly at first, by force after a "
            "few seconds or when you call it again. The result comes as a message.",
        .family = tools::Family::CoreAgent,
        .risk = domain::RiskLevel::Commands,
        .category = "tasks",
        .input_schema = base::schema_of<TaskRef>(),
        .output_schema = base::schema_of<TaskStopResult>(),
        .render = render_document};
};

}  // namespace

std::unique_ptr<tools::Tool> task_stop(tasks::Host& host) {
    return std::make_unique<TaskStop>(host);
}

}  // namespace builtin
