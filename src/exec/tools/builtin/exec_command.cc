#include "exec/tools/builtin/builtin.h"
#include "exec/tools/builtin/command_args.h"

namespace builtin {
namespace {

// One command between two looks at its folder. Cancelling before it has started keeps it from
// starting.
class CommandCall final : public tools::Running, public std::enable_shared_from_this<CommandCall> {
public:
    CommandCall(Shell& shell, CommandSpec spec, std::string tool, tools::Place place,
                results::ArtifactSink& sink, tools::Done done)
        : shell_(shell),
          spec_(std::move(spec)),
          tool_(std::move(tool)),
          place_(std::move(place)),
          sink_(sink),
          done_(std::move(done)) {}

    void begin() {
        shell_.observed(
            place_.workspace.execution_root,
            [self = shared_from_this()](base::Task finished) { self->run(std::move(finished)); },
            [self = shared_from_this()](domain::Effects effects) {
                self->outcome_.effects = std::move(effects);
                self->done_(std::move(self->outcome_));
            });
    }

    void cancel() override {
        cancelled_ = true;
        if (process_) process_->cancel();
    }

private:
    void run(base::Task finished) {
        if (cancelled_) {
            outcome_.status = domain::ResultStatus::Cancelled;
            outcome_.completed = std::unexpected(
                domain::ToolError{.kind = "tool_cancelled",
                                  .message = "The command was cancelled before it started."});
            return finished();
        }
        process_ = shell_.run(spec_, place_, sink_, tool_,
                              [self = shared_from_this(),
                               finished = std::move(finished)](Shell::Finished end) mutable {
                                  self->record(std::move(end));
                                  finished();
                              });
    }

    void record(Shell::Finished end) {
        if (!end) {
            outcome_.completed = std::unexpected(std::move(end).error());
            return;
        }
        if ((*end)->exit.timed_out) outcome_.status = domain::ResultStatus::Timeout;
        if ((*end)->exit.cancelled) outcome_.status = domain::ResultStatus::Cancelled;
        outcome_.completed = std::move(*end);
    }

    Shell& shell_;
    CommandSpec spec_;
    std::string tool_;
    tools::Place place_;
    results::ArtifactSink& sink_;  // Owned by the dispatcher's `done`, which outlives this call.
    tools::Done done_;
    tools::Outcome outcome_{.completed = nullptr};
    std::shared_ptr<base::ProcessRunner::Handle> process_;
    bool cancelled_{false};
};

class ExecCommand final : public tools::Tool {
public:
    explicit ExecCommand(Shell& shell) : shell_(shell) {}
    const tools::ToolSpec& spec() const override { return spec_; }

    std::shared_ptr<tools::Running> start(const domain::ToolCall& call, const tools::Place& place,
                                          results::ArtifactSink& sink, tools::Done done) override {
        return start_command(shell_, spec_of(base::from_json<CommandArgs>(call.args).value()),
                             spec_.name, place, sink, std::move(done));
    }

private:
    Shell& shell_;
    const tools::ToolSpec spec_{.name = "ExecCommand",
                                .description =
                                    "Run a shell command in the workspace and read its outcome. "
                                    "Prefer `rg --files`, `rg -n`, "
                                    "`sed -n start,endp`, `head` and `tail` for looking around; "
                                    "`cat` of a whole file is the exception. Large "
                                    "output is cut in the middle and kept whole as an artifact.",
                                .family = tools::Family::LocalEnvironment,
                                .risk = domain::RiskLevel::Commands,
                                .category = "commands",
                                .input_schema = base::schema_of<CommandArgs>(),
                                .output_schema = base::schema_of<CommandResult>(),
                                .render = render_command};
};

}  // namespace

std::shared_ptr<tools::Running> start_command(Shell& shell, CommandSpec spec, std::string tool,
                                              const tools::Place& place,
                                              results::ArtifactSink& sink, tools::Done done) {
    auto running = std::make_shared<CommandCall>(shell, std::move(spec), std::move(tool), place,
                                                 sink, std::move(done));
    running->begin();
    return running;
}

std::unique_ptr<tools::Tool> exec_command(Shell& shell) {
    return std::make_unique<ExecCommand>(shell);
}

}  // namespace builtin
