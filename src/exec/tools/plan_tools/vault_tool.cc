#include "exec/tools/plan_tools/vault_tool.h"

#include "exec/tools/builtin/builtin.h"
#include "exec/tools/schema_check.h"

namespace plan_tools {
namespace {

tools::ToolSpec spec_of(About about, domain::RiskLevel risk) {
    return {.name = std::move(about.name),
            .description = std::move(about.description),
            .family = tools::Family::LocalEnvironment,
            .risk = risk,
            .category = std::move(about.category),
            .repeatable = risk == domain::RiskLevel::ReadOnly,
            .plans_only = true,
            .input_schema = std::move(about.input_schema),
            .output_schema = std::move(about.output_schema),
            .render = builtin::render_summary};
}

// Stops a search between two files, and a change before its first step; a change that has begun
// runs to its end, so that it is complete or not made at all.
struct Stoppable final : tools::Running {
    void cancel() override { stop = true; }
    std::atomic<bool> stop{false};
};

tools::Outcome outcome_of(vault::Outcome<Answer> answer) {
    tools::Outcome outcome{.completed = nullptr};
    if (answer) {
        outcome.completed = std::make_unique<AnswerOutput>(std::move(*answer));
        return outcome;
    }
    if (answer.error().kind == "tool_cancelled") outcome.status = domain::ResultStatus::Cancelled;
    outcome.completed = std::unexpected(std::move(answer).error());
    return outcome;
}

base::Result<json::object> no_preview(const domain::ToolError& error) {
    return base::fail(base::ErrorCode::Refused, "{}", error.message);
}

// A preview may be requested for args that still contain references.
base::Status check_fit(const tools::ToolSpec& spec, const json::value& args) {
    const auto faults = tools::check_schema(spec.input_schema, args);
    if (faults.empty()) return {};
    return base::fail(base::ErrorCode::InvalidInput, "The input does not fit {}: {} {}", spec.name,
                      faults.front().pointer, faults.front().message);
}

class ReadTool final : public tools::Tool {
public:
    ReadTool(const Kit& kit, About about, Reader reader)
        : loop_(kit.host.loop),
          contexts_(kit.contexts),
          reader_(std::make_shared<const Reader>(std::move(reader))),
          spec_(spec_of(std::move(about), domain::RiskLevel::ReadOnly)) {}
    const tools::ToolSpec& spec() const override { return spec_; }

    std::shared_ptr<tools::Running> start(const domain::ToolCall& call, const tools::Place& place,
                                          results::ArtifactSink&, tools::Done done) override {
        auto running = std::make_shared<Stoppable>();
        auto answer = std::make_shared<vault::Outcome<Answer>>();
        Request request{.args = call.args, .place = place, .stop = &running->stop};
        request.context = contexts_->of(call.run_id, place);
        loop_.offload(
            [reader = reader_, request = std::move(request), running, answer] {
                *answer = answer_of(*reader, request);
            },
            [answer, done = std::move(done)]() mutable { done(outcome_of(std::move(*answer))); });
        return running;
    }

    // A read changes nothing, so a preview may execute it and show the result.
    base::Result<json::object> preview(const json::value& args,
                                       const tools::Place& place) const override {
        TRY(check_fit(spec_, args));
        const std::atomic<bool> never{false};
        Request request{.args = args, .place = place, .stop = &never};
        request.context = contexts_->of({}, place);
        auto answer = answer_of(*reader_, request);
        if (!answer) return no_preview(answer.error());
        return json::object{{"data", std::move(answer->result)}};
    }

private:
    static vault::Outcome<Answer> answer_of(const Reader& reader, const Request& request) {
        if (request.stop->load()) return vault::stopped();
        const auto root = TRY(vault::Root::open(request.place.workspace.execution_root));
        return reader(root, request);
    }

    base::Loop& loop_;
    std::shared_ptr<Contexts> contexts_;
    std::shared_ptr<const Reader> reader_;
    const tools::ToolSpec spec_;
};

class ChangeTool final : public tools::Tool {
public:
    ChangeTool(const Kit& kit, About about, Change change)
        : loop_(kit.host.loop),
          contexts_(kit.contexts),
          change_(std::make_shared<const Change>(std::move(change))),
          spec_(spec_of(std::move(about), domain::RiskLevel::Writes)) {}
    const tools::ToolSpec& spec() const override { return spec_; }

    std::shared_ptr<tools::Running> start(const domain::ToolCall& call, const tools::Place& place,
                                          results::ArtifactSink& sink, tools::Done done) override {
        auto running = std::make_shared<Stoppable>();
        auto request = std::make_shared<Request>(
            Request{.args = call.args, .place = place, .stop = &running->stop});
        request->context = contexts_->of(call.run_id, place);
        auto end = std::make_shared<vault::Outcome<vault::Done>>();
        loop_.offload(
            // The sink belongs to the dispatcher's `done`, which outlives this work.
            [change = change_, request, running, end, &sink] {
                *end = perform(*change, *request, sink);
            },
            [change = change_, request, run = call.run_id, end, done = std::move(done)]() mutable {
                if (!*end) return done(outcome_of(std::unexpected(std::move(*end).error())));
                if (change->after) change->after(run, *request, **end);
                auto outcome = outcome_of(change->report(*request, **end));
                outcome.effects = std::move((*end)->performed.effects);
                done(std::move(outcome));
            });
        return running;
    }

    base::Result<json::object> preview(const json::value& args,
                                       const tools::Place& place) const override {
        TRY(check_fit(spec_, args));
        Request request{.args = args, .place = place};
        request.context = contexts_->of({}, place);
        const auto root = vault::Root::open(place.workspace.execution_root);
        if (!root) return no_preview(root.error());
        vault::Done done;
        if (auto decision = change_->decide(*root, request))
            done.decision = std::move(*decision);
        else
            return no_preview(decision.error());
        json::object preview = vault::describe(done.decision.steps);
        // The expected answer, as far as it is known, without undo entries.
        preview["data"] = change_->report(request, done).result;
        return preview;
    }

private:
    static vault::Outcome<vault::Done> perform(const Change& change, Request request,
                                               results::ArtifactSink& sink) {
        const auto root = TRY(vault::Root::open(request.place.workspace.execution_root));
        const auto decide = [&](bool first) -> vault::Outcome<vault::Decision> {
            if (request.stop->load()) return vault::stopped();
            request.first_try = first;
            return change.decide(root, request);
        };
        return vault::execute(root, decide, sink);
    }

    base::Loop& loop_;
    std::shared_ptr<Contexts> contexts_;
    std::shared_ptr<const Change> change_;
    const tools::ToolSpec spec_;
};

class ComputeTool final : public tools::Tool {
public:
    ComputeTool(const Kit& kit, About about, Compute compute)
        : contexts_(kit.contexts),
          compute_(std::move(compute)),
          spec_(spec_of(std::move(about), domain::RiskLevel::ReadOnly)) {}
    const tools::ToolSpec& spec() const override { return spec_; }

    std::shared_ptr<tools::Running> start(const domain::ToolCall& call, const tools::Place& place,
                                          results::ArtifactSink&, tools::Done done) override {
        Request request{.args = call.args, .place = place};
        request.context = contexts_->of(call.run_id, place);
        done(outcome_of(compute_(request)));
        return nullptr;
    }

    base::Result<json::object> preview(const json::value& args,
                                       const tools::Place& place) const override {
        TRY(check_fit(spec_, args));
        Request request{.args = args, .place = place};
        request.context = contexts_->of({}, place);
        auto answer = compute_(request);
        if (!answer) return no_preview(answer.error());
        return json::object{{"data", std::move(answer->result)}};
    }

private:
    std::shared_ptr<Contexts> contexts_;
    Compute compute_;
    const tools::ToolSpec spec_;
};

}  // namespace

std::unique_ptr<tools::Tool> read_tool(const Kit& kit, About about, Reader reader) {
    return std::make_unique<ReadTool>(kit, std::move(about), std::move(reader));
}

std::unique_ptr<tools::Tool> change_tool(const Kit& kit, About about, Change change) {
    return std::make_unique<ChangeTool>(kit, std::move(about), std::move(change));
}

std::unique_ptr<tools::Tool> compute_tool(const Kit& kit, About about, Compute compute) {
    return std::make_unique<ComputeTool>(kit, std::move(about), std::move(compute));
}

RunContext Contexts::of(const domain::RunId& run, const tools::Place& place) const {
    for (const auto& [id, context] : moved_)
        if (id == run) return context;
    return started_with_ ? started_with_(run, place) : RunContext{};
}

void Contexts::moved(const domain::RunId& run, RunContext context) {
    std::erase_if(moved_, [&](const auto& entry) { return entry.first == run; });
    if (moved_.size() == kRunsMax) moved_.erase(moved_.begin());
    moved_.emplace_back(run, std::move(context));
}

void add_all(tools::Registry& registry, const Host& host) {
    const Kit kit{host, std::make_shared<Contexts>(host.context)};
    add_vault(registry, kit);
    add_editor(registry, kit);
    add_workspace(registry, kit);
    add_commands(registry, kit);
    add_util(registry, kit);
    add_undo(registry, kit);
    add_shell(registry, kit);
}

}  // namespace plan_tools
