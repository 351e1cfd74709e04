#include <algorithm>

#include "exec/tools/builtin/builtin.h"
#include "exec/tools/builtin/commands/command_args.h"
#include "exec/tools/builtin/commands/command_request.h"

namespace builtin {
namespace {

CommandSpec spec_of(const ExecArgs& args) {
    return {.cmd = args.cmd,
            .workdir = args.workdir,
            .shell = args.shell,
            .login = args.login.value_or(true),
            .max_output_tokens = args.max_output_tokens};
}

tasks::CommandTaskSpec task_spec_of(const ExecArgs& args) {
    const bool tty = args.tty.value_or(false);
    return {.cmd = args.cmd,
            .workdir = args.workdir,
            .shell = args.shell,
            .login = args.login.value_or(true),
            .tty = tty,
            .yield_time_ms = args.yield_time_ms.value_or(kYieldDefaultMs),
            .max_output_tokens = args.max_output_tokens,
            .accepts_input = args.accepts_input.value_or(tty)};
}

template <class Output>
std::unique_ptr<results::Output> about(domain::Task task) {
    auto output = std::make_unique<Output>();
    output->task = std::move(task);
    return output;
}

// What follows the call's end. It leads back to the call, so it travels with what is on its way and
// is not kept here.
using Finish = std::shared_ptr<base::Job>;

// One command between two snapshots of its folder. Cancelling before it has started keeps it from
// starting; once it is a task, it is no longer this call's to end.
class CommandCall final : public tools::Running, public std::enable_shared_from_this<CommandCall> {
public:
    CommandCall(Shell& shell, tasks::Host& host, const domain::ToolCall& call,
                tools::ExecutionContext place, results::ArtifactSink& sink, tools::Done done)
        : shell_(shell),
          host_(host),
          id_{call.call_id.value},
          run_id_(call.run_id),
          authority_class_(call.authority_class),
          args_(base::from_json<ExecArgs>(call.args).value()),
          place_(std::move(place)),
          sink_(sink),
          done_(std::move(done)) {}

    void begin() {
        host_.load_command(place_.agent_id, id_,
                           [self = shared_from_this()](base::Result<tasks::CommandState> state) {
                               self->begin(std::move(state));
                           });
    }

    void cancel() override {
        cancelled_ = true;
        host_.cancel(id_);
    }

    std::filesystem::path live_output() const override { return log_; }

private:
    void begin(base::Result<tasks::CommandState> state) {
        if (state && state->task) return answer(about<PromotedOutput>(std::move(*state->task)));
        was_started_ = state && state->was_started;
        if (was_started_) return observe();
        using Folder = std::filesystem::path;
        shell_.offload<Folder>(
            [&shell = shell_, place = place_,
             workdir = args_.workdir]() -> std::expected<Folder, domain::ToolError> {
                if (auto refused = shell.refusal(place, "ExecCommand"))
                    return std::unexpected(std::move(*refused));
                return resolve_workdir(place, workdir, "ExecCommand");
            },
            [self = shared_from_this(), state = std::move(state)](auto workdir) mutable {
                if (!workdir) return self->answer(std::unexpected(std::move(workdir).error()));
                if (auto settled = self->without_starting(std::move(state), *workdir))
                    return self->answer(std::move(*settled));
                self->observe();
            });
    }

    // The outcome of a call that starts nothing.
    void answer(results::Completed completed) {
        if (!completed) outcome_.denials = denials_of(completed.error());
        outcome_.completed = std::move(completed);
        done_(std::move(outcome_));
    }

    void observe() {
        auto body = [self = shared_from_this()](base::Job finished) {
            self->run(std::make_shared<base::Job>(std::move(finished)));
        };
        auto end = [self = shared_from_this()](Shell::Observed observed) {
            self->outcome_.effects = std::move(observed.effects);
            self->outcome_.seen = std::move(observed.seen);
            self->done_(std::move(self->outcome_));
        };
        // What a command has done that an earlier process started, nobody has seen.
        if (was_started_)
            body([end = std::move(end)]() mutable { end({.effects = {.observed = false}}); });
        else
            shell_.observed(place_, {words_of(args_.cmd, args_.workdir, place_)}, std::move(body),
                            std::move(end));
    }

    // The outcome of a call that need not start anything, if it is one.
    std::optional<results::Completed> without_starting(base::Result<tasks::CommandState> state,
                                                       const std::filesystem::path& workdir) {
        if (!state)
            return std::unexpected(domain::ToolError{.kind = "tool_execution_failed",
                                                     .message = state.error().message});
        if (args_.duplicate_policy == DuplicatePolicy::ReuseRunning)
            for (auto& task : state->active)
                if (task.kind == domain::TaskKind::CommandTask &&
                    tasks::is_same_command(tasks::detail_of(task), task_spec_of(args_),
                                           workdir.string()))
                    return about<AlreadyRunningOutput>(std::move(task));
        if (state->active.size() >= tasks::kCommandTasksPerAgentMax) return too_many_tasks();
        return std::nullopt;
    }

    static results::Completed too_many_tasks() {
        return std::unexpected(domain::ToolError{
            .kind = "task_limit_reached",
            .message = fmt::format("{} tasks run already; a command that takes long could not "
                                   "become one more.",
                                   tasks::kCommandTasksPerAgentMax),
            .details = json::object{{"tool_name", "ExecCommand"},
                                    {"max_tasks", tasks::kCommandTasksPerAgentMax}},
            .recovery_hint = "End one with TaskStop first, or run a quick command with "
                             "ExecCommandBatch."});
    }

    void finish_cancelled(const Finish& then) {
        outcome_.status = domain::ResultStatus::Cancelled;
        finish(then,
               std::unexpected(domain::ToolError{
                   .kind = kCancelled, .message = "The command was cancelled before it started."}));
    }

    void run(const Finish& then) {
        if (cancelled_) return finish_cancelled(then);
        room_ = shell_.reserve_room(spec_of(args_), sink_);
        using Request = tasks::CommandRequest;
        shell_.offload<Request>(
            [&shell = shell_, place = place_, id = id_, spec = task_spec_of(args_),
             was_started = was_started_, authority = authority_class_,
             room = room_]() -> std::expected<Request, domain::ToolError> {
                auto request =
                    command_request(shell, place, id, spec, "ExecCommand", was_started, authority);
                if (!request) return request;
                if (const auto made = Shell::make_room(room); !made)
                    return std::unexpected(made.error());
                return request;
            },
            [self = shared_from_this(), then](auto request) {
                self->launch(then, std::move(request));
            });
    }

    void launch(const Finish& then,
                std::expected<tasks::CommandRequest, domain::ToolError> request) {
        // One that was started earlier runs: it is reattached to and then ended.
        if (cancelled_ && !was_started_) return finish_cancelled(then);
        if (!request) {
            outcome_.denials = denials_of(request.error());
            return finish(then, std::unexpected(std::move(request).error()));
        }
        log_ = request->output_path;
        network_log_ = request->network_log;
        confined_ = request->confined;
        process_ = {.argv = {args_.shell.value_or(shell_.default_shell())},
                    .cwd = request->workdir};
        request->run_id = run_id_;
        request->authority_class = authority_class_;
        const std::chrono::milliseconds patience(request->spec.yield_time_ms);
        host_.start(
            std::move(*request),
            [self = shared_from_this(), then](supervisor::End end) {
                self->ended(then, std::move(end));
            },
            [self = shared_from_this(), then, patience](const base::Status& status) {
                self->started(then, status, patience);
            });
        if (cancelled_) host_.cancel(id_);
    }

    void started(const Finish& then, const base::Status& status,
                 std::chrono::milliseconds patience) {
        if (!status && cancelled_) return finish_cancelled(then);
        if (!status)
            return finish(then, std::unexpected(Shell::spawn_failed(process_, "ExecCommand",
                                                                    status.error().message)));
        timer_ =
            shell_.loop().after(patience, [self = shared_from_this(), then] { self->yield(then); });
    }

    // Its time in the foreground is over. If it cannot become a task, the call waits on; if it may
    // not, it is ended.
    void yield(const Finish& then) {
        timer_ = base::Loop::TimerHandle::None;
        if (cancelled_) return;
        host_.promote(id_, [self = shared_from_this(), then](base::Result<domain::Task> task) {
            if (task) return self->finish(then, about<PromotedOutput>(std::move(*task)));
            if (task.error().code != base::ErrorCode::Refused) return;
            self->out_of_time_ = true;
            self->outcome_.denials = {{sandbox::Rule::ExecutionPolicy, "a background task"}};
            self->host_.cancel(self->id_);
        });
    }

    void ended(const Finish& then, supervisor::End end) {
        shell_.loop().cancel(std::exchange(timer_, base::Loop::TimerHandle::None));
        if (const auto* refused = std::get_if<supervisor::NotStarted>(&end))
            return finish(then, std::unexpected(
                                    Shell::spawn_failed(process_, "ExecCommand", refused->reason)));
        if (const auto* lost = std::get_if<supervisor::Lost>(&end))
            return finish(then, std::unexpected(domain::ToolError{
                                    .kind = "tool_outcome_unknown",
                                    .message = lost->evidence,
                                    .recovery_hint =
                                        "Check the world first (files, processes, services); then "
                                        "decide whether to make the call again."}));
        collect(then, std::get<supervisor::Ended>(end));
    }

    void collect(const Finish& then, const supervisor::Ended& ended) {
        auto output = std::make_unique<CommandOutput>();
        output->cmd = args_.cmd;
        output->max_output_tokens = args_.max_output_tokens;
        output->stdout_spill = room_.stdout_spill;
        output->stderr_spill = room_.stderr_spill;
        output->dropped_bytes = ended.dropped_bytes;
        output->confined = confined_;
        output->network_log = network_log_;
        output->exit = {.exit_code = ended.exit_code,
                        .signal = ended.signal,
                        .timed_out = ended.stopped && out_of_time_,
                        .cancelled = ended.stopped && cancelled_,
                        .output_cut_off = ended.output_cut_off,
                        .duration = ended.duration};
        if (output->exit.timed_out) outcome_.status = domain::ResultStatus::Timeout;
        if (output->exit.cancelled) outcome_.status = domain::ResultStatus::Cancelled;
        host_.collect(
            id_, log_, ended, {room_.memory_bytes_max, room_.stdout_spill, room_.stderr_spill},
            [self = shared_from_this(), then,
             output = std::move(output)](base::Result<supervisor::Captured> captured) mutable {
                if (!captured)
                    return self->finish(
                        then, std::unexpected(domain::ToolError{
                                  .kind = "tool_execution_failed",
                                  .message = "The command ran, but its output cannot be read: " +
                                             captured.error().message}));
                output->exit.out = std::move(captured->out);
                output->exit.err = std::move(captured->err);
                self->complete(then, std::move(output));
            });
    }

    void complete(const Finish& then, std::unique_ptr<CommandOutput> output) {
        using Output = std::unique_ptr<CommandOutput>;
        const bool may_be_denied = output->confined || !output->network_log.empty();
        if (!may_be_denied) return finish(then, std::move(output));
        shell_.offload<Output>(
            [output = std::move(output)]() mutable -> std::expected<Output, domain::ToolError> {
                read_denials(*output);
                return std::move(output);
            },
            [self = shared_from_this(), then](Shell::Finished finished) {
                if (!finished) return self->finish(then, std::unexpected(finished.error()));
                std::ranges::copy((*finished)->denials, std::back_inserter(self->outcome_.denials));
                self->finish(then, std::move(*finished));
            });
    }

    void finish(const Finish& then, results::Completed completed) {
        outcome_.completed = std::move(completed);
        (*then)();
    }

    Shell& shell_;
    tasks::Host& host_;
    const domain::TaskId id_;
    const domain::RunId run_id_;
    const domain::AuthorityClass authority_class_;
    const ExecArgs args_;
    const tools::ExecutionContext place_;
    results::ArtifactSink& sink_;  // Owned by the dispatcher's `done`, which outlives this call.
    tools::Done done_;
    tools::Outcome outcome_{.completed = nullptr};
    base::ProcessSpec process_;
    Shell::Room room_;
    std::filesystem::path log_;
    std::filesystem::path network_log_;
    bool confined_{false};
    bool was_started_{false};  // By an earlier process; then its effects were not observed.
    bool out_of_time_{false};
    base::Loop::TimerHandle timer_{base::Loop::TimerHandle::None};
    bool cancelled_{false};
};

class ExecCommand final : public tools::Tool {
public:
    ExecCommand(Shell& shell, tasks::Host& host) : shell_(shell), host_(host) {}
    const tools::ToolSpec& spec() const override { return spec_; }

    std::shared_ptr<tools::Running> start(const domain::ToolCall& call,
                                          const tools::ExecutionContext& place,
                                          results::ArtifactSink& sink, tools::Done done) override {
        auto running =
            std::make_shared<CommandCall>(shell_, host_, call, place, sink, std::move(done));
        running->begin();
        return running;
    }

    void can_resume(const domain::ToolCall& call,
                    std::move_only_function<void(bool)> done) const override {
        host_.knows({call.call_id.value}, std::move(done));
    }

    std::vector<std::string> paths(const json::value& args,
                                   const tools::ExecutionContext& place) const override {
        if (base::find(args, "workdir")) return {};
        return {place.workspace.cwd};
    }

    base::Result<json::object> preview(const json::value& args,
                                       const tools::ExecutionContext&) const override {
        return json::object{{"commands", json::array{base::string_at(args, "cmd")}}};
    }

private:
    Shell& shell_;
    tasks::Host& host_;
    const tools::ToolSpec spec_{
        .name = "ExecCommand",
        .description =
            "Run a shell command in the workspace and read its outcome. Prefer `rg --files`, "
            "`rg -n`, `sed -n start,endp`, `head` and `tail` for reading; `cat` of a whole "
            "file is the exception. Large output is cut in the middle and kept whole as an "
            "artifact. A command that is not over after yield_time_ms continues as a background "
            "task: its result comes back as a message, so do not wait in a loop.",
        .family = tools::Family::LocalEnvironment,
        .risk = domain::RiskLevel::Commands,
        .category = "commands",
        .runs_behind = tools::RunsBehind::AgentsBoundary,
        .command_lines = tools::CommandLines::One,
        .input_schema = base::schema_of<ExecArgs>(),
        .output_schema = command_schema(),
        .render = render_command,
        .user_message = command_message};
};

}  // namespace

std::unique_ptr<tools::Tool> exec_command(Shell& shell, tasks::Host& host) {
    return std::make_unique<ExecCommand>(shell, host);
}

}  // namespace builtin
