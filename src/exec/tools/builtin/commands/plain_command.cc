#include "exec/tools/builtin/builtin.h"

namespace builtin {
namespace {

// One command between two snapshots of its folder. Cancelling before it has started keeps it from
// starting.
class PlainCommand final : public tools::Running,
                           public std::enable_shared_from_this<PlainCommand> {
public:
    PlainCommand(Shell& shell, CommandSpec spec, std::string tool, tools::ExecutionContext place,
                 results::ArtifactSink& sink, tools::Done done)
        : shell_(shell),
          spec_(std::move(spec)),
          tool_(std::move(tool)),
          place_(std::move(place)),
          sink_(sink),
          done_(std::move(done)) {}

    void begin() {
        shell_.observed(
            place_, {words_of(spec_.cmd, spec_.workdir, place_)},
            [self = shared_from_this()](base::Job finished) { self->run(std::move(finished)); },
            [self = shared_from_this()](Shell::Observed observed) {
                self->outcome_.effects = std::move(observed.effects);
                self->outcome_.seen = std::move(observed.seen);
                self->done_(std::move(self->outcome_));
            });
    }

    void cancel() override {
        cancelled_ = true;
        if (process_) process_->cancel();
    }

private:
    void run(base::Job finished) {
        process_ = shell_.run(spec_, place_, sink_, tool_,
                              [self = shared_from_this(),
                               finished = std::move(finished)](Shell::Finished end) mutable {
                                  self->record(std::move(end));
                                  finished();
                              });
        if (cancelled_) process_->cancel();
    }

    void record(Shell::Finished end) {
        process_.reset();
        outcome_.denials = end ? (*end)->denials : denials_of(end.error());
        if (!end) {
            if (end.error().kind == kCancelled) outcome_.status = domain::ResultStatus::Cancelled;
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
    tools::ExecutionContext place_;
    results::ArtifactSink& sink_;  // Owned by the dispatcher's `done`, which outlives this call.
    tools::Done done_;
    tools::Outcome outcome_{.completed = nullptr};
    std::shared_ptr<base::ProcessRunner::Handle> process_;
    bool cancelled_{false};
};

}  // namespace

std::shared_ptr<tools::Running> start_command(Shell& shell, CommandSpec spec, std::string tool,
                                              const tools::ExecutionContext& place,
                                              results::ArtifactSink& sink, tools::Done done) {
    auto running = std::make_shared<PlainCommand>(shell, std::move(spec), std::move(tool), place,
                                                  sink, std::move(done));
    running->begin();
    return running;
}

}  // namespace builtin
