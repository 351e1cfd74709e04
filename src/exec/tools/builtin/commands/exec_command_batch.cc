#include <algorithm>
#include <utility>

#include "exec/tools/builtin/builtin.h"
#include "exec/tools/builtin/commands/command_args.h"

namespace builtin {
namespace {

struct BatchArgs {
    std::vector<CommandArgs> items;
    std::optional<bool> stop_on_error{};
};
BOOST_DESCRIBE_STRUCT(BatchArgs, (), (items, stop_on_error))
constexpr auto describe_fields(const BatchArgs*) {
    return std::to_array<base::FieldDoc>(
        {{"items", "The commands, run one after the other.", R"("minItems":1,"maxItems":12)"},
         {"stop_on_error",
          "Leave out the rest after the first command that fails (default false)."}});
}

class BatchCall final : public tools::Running, public std::enable_shared_from_this<BatchCall> {
public:
    BatchCall(Shell& shell, BatchArgs args, domain::AuthorityClass instructed_by,
              tools::ExecutionContext place, results::ArtifactSink& sink, tools::Done done)
        : shell_(shell),
          args_(std::move(args)),
          instructed_by_(instructed_by),
          place_(std::move(place)),
          sink_(sink),
          done_(std::move(done)) {
        output_->stop_on_error = args_.stop_on_error.value_or(false);
    }

    void begin() {
        std::vector<tools::CommandWords> commands;
        for (const auto& item : args_.items)
            commands.push_back(words_of(item.cmd, item.workdir, place_));
        shell_.observed(
            place_, std::move(commands),
            [self = shared_from_this()](base::Job finished) { self->next(std::move(finished)); },
            [self = shared_from_this()](Shell::Observed observed) {
                tools::Outcome outcome{.completed = std::move(self->output_),
                                       .effects = std::move(observed.effects),
                                       .denials = std::move(self->denials_),
                                       .seen = std::move(observed.seen)};
                if (self->cut_off_) outcome.status = domain::ResultStatus::Cancelled;
                self->done_(std::move(outcome));
            });
    }

    void cancel() override {
        cancelled_ = true;
        if (process_) process_->cancel();
    }

private:
    // `finished` leads back to this call, so it travels with the running command and is not kept
    // here.
    void next(base::Job finished) {
        const std::size_t index = output_->items.size();
        if (index == args_.items.size()) return finished();
        const CommandArgs& item = args_.items[index];
        if (cancelled_ || stopped_) {
            cut_off_ = cut_off_ || cancelled_;
            output_->items.push_back(
                {.cmd = item.cmd,
                 .status = "skipped",
                 .error_kind = cancelled_ ? "cancelled" : "skipped_after_previous_error"});
            return next(std::move(finished));
        }
        auto spec = spec_of(item);
        spec.instructed_by = instructed_by_;
        process_ = shell_.run(spec, place_, sink_, "ExecCommandBatch",
                              [self = shared_from_this(), cmd = item.cmd,
                               finished = std::move(finished)](Shell::Finished end) mutable {
                                  self->process_.reset();
                                  self->record(cmd, std::move(end));
                                  self->next(std::move(finished));
                              });
    }

    void record(const std::string& cmd, Shell::Finished end) {
        BatchItem item{.cmd = cmd, .status = "failed"};
        std::ranges::move(end ? std::move((*end)->denials) : denials_of(end.error()),
                          std::back_inserter(denials_));
        if (end) {
            const auto& exit = (*end)->exit;
            if (exit.exit_code == 0 && !exit.timed_out && !exit.cancelled)
                item.status = "completed";
            cut_off_ = cut_off_ || exit.cancelled;
            if (exit.timed_out) item.error_kind = "command_timed_out";
            item.duration_ms =
                std::chrono::duration_cast<std::chrono::milliseconds>(exit.duration).count();
            item.output = std::move(**end);
        } else if (end.error().kind == kCancelled) {
            cut_off_ = true;
            item.status = "skipped";
            item.error_kind = "cancelled";
        } else {
            item.error_kind = end.error().kind;
            item.error_message = end.error().message;
        }
        stopped_ = stopped_ || (output_->stop_on_error && item.status != "completed");
        output_->items.push_back(std::move(item));
    }

    Shell& shell_;
    BatchArgs args_;
    domain::AuthorityClass instructed_by_;
    tools::ExecutionContext place_;
    results::ArtifactSink& sink_;  // Owned by the dispatcher's `done`, which outlives this call.
    tools::Done done_;
    std::unique_ptr<BatchOutput> output_{std::make_unique<BatchOutput>()};
    std::shared_ptr<base::ProcessRunner::Handle> process_;
    std::vector<sandbox::Denial> denials_;
    bool cancelled_{false};
    bool cut_off_{
        false};  // By the cancellation; one that came after the last command changes nothing.
    bool stopped_{false};
};

class ExecCommandBatch final : public tools::Tool {
public:
    explicit ExecCommandBatch(Shell& shell) : shell_(shell) {}
    const tools::ToolSpec& spec() const override { return spec_; }

    std::shared_ptr<tools::Running> start(const domain::ToolCall& call,
                                          const tools::ExecutionContext& place,
                                          results::ArtifactSink& sink, tools::Done done) override {
        auto running =
            std::make_shared<BatchCall>(shell_, base::from_json<BatchArgs>(call.args).value(),
                                        call.authority_class, place, sink, std::move(done));
        running->begin();
        return running;
    }

    std::vector<std::string> paths(const json::value& args,
                                   const tools::ExecutionContext& place) const override {
        const auto decoded = base::from_json<BatchArgs>(args);
        const bool is_default =
            !decoded ||
            std::ranges::any_of(decoded->items, [](const auto& item) { return !item.workdir; });
        if (!is_default) return {};
        return {place.workspace.cwd};
    }

    base::Result<json::object> preview(const json::value& args,
                                       const tools::ExecutionContext&) const override {
        json::array commands;
        for (const auto& item : TRY(base::from_json<BatchArgs>(args)).items)
            commands.emplace_back(item.cmd);
        return json::object{{"commands", std::move(commands)}};
    }

    std::optional<domain::ToolError> explain(const json::value& args) const override {
        const auto* items = base::find(args, "items");
        if (!items || !items->is_array()) return std::nullopt;
        std::size_t index = 0;
        for (const auto& item : items->get_array()) {
            for (const std::string_view field : {"tty", "accepts_input"})
                if (base::find(item, field)) return unsupported(index, field);
            ++index;
        }
        return std::nullopt;
    }

private:
    static domain::ToolError unsupported(std::size_t index, std::string_view field) {
        auto error = tools::invalid_input(
            "ExecCommandBatch", fmt::format("items/{}/{}", index, field),
            fmt::format("A command in a batch cannot have {}; nothing was run.", field),
            "Use ExecCommand for a command that needs a terminal or input.");
        error.details->as_object()["error_kind"] = "unsupported_batch_command_field";
        return error;
    }

    Shell& shell_;
    const tools::ToolSpec spec_{
        .name = "ExecCommandBatch",
        .description =
            "Run up to 12 independent, quick shell commands one after the "
            "other and read all their outcomes. A command that takes longer "
            "than its yield_time_ms is ended; none becomes a task.",
        .family = tools::Family::LocalEnvironment,
        .risk = domain::RiskLevel::Commands,
        .category = "commands",
        .runs_behind = tools::RunsBehind::AgentsBoundary,
        .command_lines = tools::CommandLines::Batch,
        .input_schema = base::schema_of<BatchArgs>(),
        .output_schema = batch_schema(),
        .render = render_batch,
        .user_message = command_message};
};

}  // namespace

std::unique_ptr<tools::Tool> exec_command_batch(Shell& shell) {
    return std::make_unique<ExecCommandBatch>(shell);
}

}  // namespace builtin
