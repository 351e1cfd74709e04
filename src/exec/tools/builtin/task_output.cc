#include "exec/tasks/snapshot/snapshot.h"
#include "exec/tools/builtin/builtin.h"
#include "exec/tools/builtin/task_tools.h"

namespace builtin {
namespace {

constexpr std::int64_t kWaitDefaultMs = 30'000;

struct TaskOutputArgs {
    std::string task_id;
    std::optional<bool> block{};
    std::optional<std::int64_t> timeout_ms{};
};
BOOST_DESCRIBE_STRUCT(TaskOutputArgs, (), (task_id, block, timeout_ms))
constexpr auto describe_fields(const TaskOutputArgs*) {
    return std::to_array<base::FieldDoc>(
        {{"task_id", "The task's id, as ExecCommand or TaskList gave it.", R"("minLength":1)"},
         {"block", "Wait for its end (default true)."},
         {"timeout_ms", "Wait at most this long (default 30000).",
          R"("minimum":0,"maximum":600000)"}});
}

struct TaskOutputResult {
    std::string retrieval_status;
    json::object task;
};
BOOST_DESCRIBE_STRUCT(TaskOutputResult, (), (retrieval_status, task))

std::string headline(std::string_view retrieval_status) {
    if (retrieval_status == "success") return "Task is over";
    if (retrieval_status == "timeout") return "Task is not over yet; the wait for it is";
    return "Task is not over yet";
}

std::string render_task_output(const results::Envelope& envelope) {
    const auto& result = envelope.result();
    const auto& task = result.at("task");
    std::string text = fmt::format(
        "{}\nTask: {}\nStatus: {}", headline(base::string_at(result, "retrieval_status")),
        base::string_at(task, "task_id"), base::string_at(task, "status"));
    if (const auto* status = base::find(task, "exit_status"); status && status->is_int64())
        text += fmt::format("\nExit status: {}", status->get_int64());
    if (const auto summary = base::string_at(task, "summary"); !summary.empty())
        text += "\nSummary: " + summary;
    if (const auto* failure = base::find(task, "failure_artifact"))
        text += "\nFailure evidence: " + base::string_at(*failure, "summary");
    if (const auto output = base::string_at(task, "output_preview"); !output.empty())
        text += "\n\nOutput:\n" + output;
    if (const auto* artifacts = base::find(task, "artifacts")) {
        text += "\n\nArtifacts:";
        for (const auto& artifact : artifacts->as_array())
            text += "\n" + base::string_at(artifact, "path");
    }
    return text;
}

// Waits for one task: its end, the end of patience or a cancellation, whichever comes first.
class Waiting final : public tools::Running, public std::enable_shared_from_this<Waiting> {
public:
    Waiting(tasks::Host& host, base::Loop& loop, domain::AgentId agent, domain::TaskId id,
            tools::Done done)
        : host_(host),
          loop_(loop),
          agent_(std::move(agent)),
          id_(std::move(id)),
          done_(std::move(done)) {}

    // Without patience: there is no wait.
    void begin(std::optional<std::chrono::milliseconds> patience) {
        host_.find(agent_, id_,
                   [self = shared_from_this(), patience](const base::Result<domain::Task>& task) {
                       if (!self->done_) return;  // Cancelled meanwhile.
                       if (!task)
                           return std::exchange(self->done_,
                                                nullptr)({.completed = task_failure(task.error())});
                       if (!patience) return self->finish("not_ready");
                       self->wait(*patience);
                   });
    }

    void cancel() override { finish("timeout", domain::ResultStatus::Cancelled); }

    // What there is to read now, whatever `status` hoped for: the record has the last word.
    void finish(std::string_view status, domain::ResultStatus outcome = domain::ResultStatus::Ok) {
        const auto self = shared_from_this();
        if (!done_) return;
        auto done = std::exchange(done_, nullptr);
        token_ = nullptr;
        loop_.cancel(std::exchange(timer_, base::Loop::TimerHandle::None));
        host_.find(agent_, id_,
                   [&loop = loop_, status = std::string(status), outcome,
                    done = std::move(done)](base::Result<domain::Task> task) mutable {
                       if (!task) return done({.completed = task_failure(task.error())});
                       show(loop, std::move(*task), std::move(status), outcome, std::move(done));
                   });
    }

private:
    void wait(std::chrono::milliseconds patience) {
        token_ = host_.await_end(id_, [self = weak_from_this()] {
            if (const auto alive = self.lock()) alive->finish("success");
        });
        // The timer keeps the call alive; the task only knows of it.
        timer_ = loop_.after(patience, [self = shared_from_this()] { self->finish("timeout"); });
    }

    // The output is read in the background: a log may be on a slow disk.
    static void show(base::Loop& loop, domain::Task task, std::string status,
                     domain::ResultStatus outcome, tools::Done done) {
        struct Shown {
            domain::Task task;
            json::object snapshot{};
        };
        const auto shown = std::make_shared<Shown>(Shown{.task = std::move(task)});
        loop.offload(
            [shown] { shown->snapshot = tasks::output_snapshot(shown->task); },
            [shown, status = std::move(status), outcome, done = std::move(done)]() mutable {
                done(outcome_of(shown->task, std::move(shown->snapshot), std::move(status),
                                outcome));
            });
    }

    static tools::Outcome outcome_of(const domain::Task& task, json::object snapshot,
                                     std::string status, domain::ResultStatus outcome) {
        const bool is_ready = tasks::has_terminal_snapshot(task);
        if (is_ready)
            status = "success";
        else if (status == "success")
            status = "not_ready";
        tools::Outcome result{
            .completed =
                document(fmt::format("Task {} {}", task.id, tasks::outcome_words(task)),
                         {{"retrieval_status", std::move(status)}, {"task", std::move(snapshot)}}),
            .status = outcome};
        if (is_ready && outcome == domain::ResultStatus::Ok)
            result.mutations.emplace_back(tools::ResultRead{task.id});
        return result;
    }

    tasks::Host& host_;
    base::Loop& loop_;
    domain::AgentId agent_;
    domain::TaskId id_;
    tools::Done done_;
    std::shared_ptr<void> token_;
    base::Loop::TimerHandle timer_{base::Loop::TimerHandle::None};
};

class TaskOutput final : public tools::Tool {
public:
    TaskOutput(tasks::Host& host, base::Loop& loop) : host_(host), loop_(loop) {}
    const tools::ToolSpec& spec() const override { return spec_; }

    std::shared_ptr<tools::Running> start(const domain::ToolCall& call,
                                          const tools::ExecutionContext& place,
                                          results::ArtifactSink&, tools::Done done) override {
        const auto args = base::from_json<TaskOutputArgs>(call.args).value();
        auto waiting = std::make_shared<Waiting>(host_, loop_, place.agent_id,
                                                 domain::TaskId{args.task_id}, std::move(done));
        std::optional<std::chrono::milliseconds> patience;
        if (args.block.value_or(true))
            patience = std::chrono::milliseconds(args.timeout_ms.value_or(kWaitDefaultMs));
        waiting->begin(patience);
        return waiting;
    }

private:
    tasks::Host& host_;
    base::Loop& loop_;
    const tools::ToolSpec spec_{
        .name = "TaskOutput",
        .description =
            "Read what a task has printed and how it ended. Waits for its end unless "
            "block is false; a task that is not over comes back by itself later.",
        .family = tools::Family::CoreAgent,
        .risk = domain::RiskLevel::ReadOnly,
        .category = "tasks",
        .repeatable = true,
        .input_schema = base::schema_of<TaskOutputArgs>(),
        .output_schema = base::schema_of<TaskOutputResult>(),
        .render = render_task_output};
};

}  // namespace

std::unique_ptr<tools::Tool> task_output(tasks::Host& host, base::Loop& loop) {
    return std::make_unique<TaskOutput>(host, loop);
}

}  // namespace builtin
