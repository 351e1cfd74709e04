#include "exec/tools/plan_tools/vault_tool.h"

#include <map>

#include "exec/tools/builtin/builtin.h"
#include "exec/tools/policy/path_rules.h"
#include "exec/tools/schema_check.h"
#include "exec/tools/vault/changes/overlay.h"
#include "exec/tools/vault/changes/recover.h"

namespace plan_tools {
namespace {

struct VaultPretence final : tools::Pretence {
    std::shared_ptr<vault::Overlay> overlay{std::make_shared<vault::Overlay>()};
};

std::shared_ptr<vault::Overlay> overlay_of(const tools::ExecutionContext& place) {
    const auto* pretence = dynamic_cast<const VaultPretence*>(place.pretence.get());
    return pretence ? pretence->overlay : nullptr;
}

// The run whose context a preview continues, and the policy that it is held to.
Request preview_request(const json::value& args, const tools::ExecutionContext& place,
                        const Contexts& contexts) {
    Request request{.args = args, .place = place};
    if (place.pretence) request.sandbox = place.pretence->sandbox;
    request.context = contexts.of(place.pretence ? place.pretence->run_id : domain::RunId{}, place);
    return request;
}

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

// The kind travels along, so that a preview names the code with which the call will fail, and the
// details, which say whether that may pass.
base::Result<json::object> no_preview(const domain::ToolError& error) {
    base::Error refused{
        .code = base::ErrorCode::Refused, .message = error.message, .kind = error.kind};
    if (error.details && error.details->is_object()) refused.details = error.details->get_object();
    return std::unexpected(std::move(refused));
}

// A preview may be requested for args that still contain references.
base::Status check_fit(const tools::ToolSpec& spec, const json::value& args) {
    const auto faults = tools::check_schema(spec.input_schema, args);
    if (faults.empty()) return {};
    return base::fail(base::ErrorCode::InvalidInput, "The input does not fit {}: {} {}", spec.name,
                      faults.front().pointer, faults.front().message);
}

// A path that leaves the vault by the way it is written does so in every run.
std::optional<domain::ToolError> path_fault(const json::value& args) {
    for (const char* name : {"path", "folder", "from", "to"}) {
        const auto* path = base::find(args, name);
        if (!path || !path->is_string()) continue;
        if (const auto checked = vault::checked_path(path->get_string()); !checked)
            return checked.error();
    }
    return std::nullopt;
}

class ReadTool final : public tools::Tool {
public:
    ReadTool(const Kit& kit, About about, Reader reader)
        : loop_(kit.host.loop),
          contexts_(kit.contexts),
          reader_(std::make_shared<const Reader>(std::move(reader))),
          spec_(spec_of(std::move(about), domain::RiskLevel::ReadOnly)) {}
    const tools::ToolSpec& spec() const override { return spec_; }
    std::optional<domain::ToolError> check(const json::value& args) const override {
        return path_fault(args);
    }

    std::shared_ptr<tools::Running> start(const domain::ToolCall& call,
                                          const tools::ExecutionContext& place,
                                          results::ArtifactSink&, tools::Done done) override {
        auto running = std::make_shared<Stoppable>();
        auto answer = std::make_shared<vault::Outcome<Answer>>();
        Request request{.args = call.args,
                        .place = place,
                        .sandbox = call.policy.sandbox,
                        .stop = &running->stop};
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
                                       const tools::ExecutionContext& place) const override {
        TRY(check_fit(spec_, args));
        const std::atomic<bool> never{false};
        Request request = preview_request(args, place, *contexts_);
        request.stop = &never;
        auto answer = answer_of(*reader_, request);
        if (!answer) return no_preview(answer.error());
        return json::object{{"data", std::move(answer->result)}};
    }

private:
    static vault::Outcome<Answer> answer_of(const Reader& reader, const Request& request) {
        if (request.stop->load()) return vault::stopped();
        const auto root = TRY(open_vault(request.place, request.sandbox));
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
    std::optional<domain::ToolError> check(const json::value& args) const override {
        return path_fault(args);
    }

    std::shared_ptr<tools::Running> start(const domain::ToolCall& call,
                                          const tools::ExecutionContext& place,
                                          results::ArtifactSink& sink, tools::Done done) override {
        auto work = std::make_shared<Work>();
        work->request = {.args = call.args,
                         .place = place,
                         .sandbox = call.policy.sandbox,
                         .stop = &work->running.stop};
        work->request.context = contexts_->of(call.run_id, place);
        work->call = call.call_id.value;
        if (auto folders = folders_.extract(work->call)) work->folders = folders.mapped();
        loop_.offload(
            // The sink belongs to the dispatcher's `done`, which outlives this work.
            [change = change_, work, &sink] { work->end = perform(*change, *work, sink); },
            [change = change_, work, run = call.run_id, done = std::move(done)]() mutable {
                if (!work->end) return done(outcome_of(std::unexpected(work->end.error())));
                if (change->after) change->after(run, work->request, work->end->done);
                done(outcome_of(std::move(work->end->ending)));
            });
        return {work, &work->running};
    }

    // Settled by the files: the call left a note of each change that it was about to make.
    void recover(const domain::ToolCall& call, const tools::ExecutionContext& place,
                 std::move_only_function<void(tools::Recovery)> done) override {
        auto found = std::make_shared<vault::Outcome<vault::Recovery>>();
        loop_.offload([call, place, found] { *found = look(call, place); },
                      [this, id = call.call_id.value, found, done = std::move(done)]() mutable {
                          done(found->has_value() ? recovered(id, **found) : tools::Recovery{});
                      });
    }

    base::Result<json::object> preview(const json::value& args,
                                       const tools::ExecutionContext& place) const override {
        TRY(check_fit(spec_, args));
        const Request request = preview_request(args, place, *contexts_);
        const auto root = open_vault(place, request.sandbox);
        if (!root) return no_preview(root.error());
        vault::Done done;
        if (auto decision = change_->decide(*root, request))
            done.decision = std::move(*decision);
        else
            return no_preview(decision.error());
        json::object preview = vault::describe(done.decision.steps);
        // The expected answer, as far as it is known, without undo entries.
        preview["data"] = change_->report(request, done).result;
        if (const auto overlay = overlay_of(place)) {
            for (const auto& step : done.decision.steps) overlay->apply(step);
            if (change_->after) change_->after(place.pretence->run_id, request, done);
        }
        return preview;
    }

private:
    struct End {
        vault::Done done;
        vault::Ending ending;
    };
    // One call under way.
    struct Work {
        Stoppable running;
        Request request;
        std::string call;
        vault::Performed folders{};
        vault::Outcome<End> end{};
    };

    static vault::Outcome<End> perform(const Change& change, Work& work,
                                       results::ArtifactSink& sink) {
        Request& request = work.request;
        const auto root = TRY(open_vault(request.place, request.sandbox));
        const auto decide = [&](bool first) -> vault::Outcome<vault::Decision> {
            if (request.stop->load()) return vault::stopped();
            request.first_try = first;
            return change.decide(root, request);
        };
        vault::Intents intents(request.place.agent_home, work.call);
        vault::Execution how{
            .stop = request.stop, .intents = &intents, .folders = std::move(work.folders)};
        if (change.files) how.files = change.files(request);
        End end;
        how.on_done = [&](const vault::Done& done) {
            auto answer = change.report(request, done);
            end.ending = {std::move(answer.summary), std::move(answer.result),
                          done.performed.effects};
            intents.end(end.ending);
        };
        end.done = TRY(vault::execute(root, decide, sink, std::move(how)));
        return end;
    }

    static vault::Outcome<vault::Recovery> look(const domain::ToolCall& call,
                                                const tools::ExecutionContext& place) {
        const auto root = TRY(vault::Root::open(place.workspace.execution_root));
        return vault::recover(root, place.agent_home, call.call_id.value);
    }

    tools::Recovery recovered(const std::string& call, const vault::Recovery& found) {
        using How = tools::Recovery::How;
        if (const auto* made = std::get_if<vault::Made>(&found))
            return {.how = How::Made, .outcome = outcome_of(made->ending)};
        if (const auto* unsettled = std::get_if<vault::Unsettled>(&found))
            return {.undo = base::to_json(unsettled->undo).as_array()};
        // Kept until the call is made again, which the caller decides next.
        if (const auto& folders = std::get<vault::NotMade>(found).folders; !folders.undo.empty())
            folders_[call] = folders;
        return {.how = How::NotMade};
    }

    static tools::Outcome outcome_of(vault::Ending ending) {
        auto outcome =
            plan_tools::outcome_of(Answer{std::move(ending.summary), std::move(ending.result)});
        outcome.effects = std::move(ending.effects);
        return outcome;
    }
    static tools::Outcome outcome_of(std::unexpected<domain::ToolError> error) {
        return plan_tools::outcome_of(std::move(error));
    }

    base::Loop& loop_;
    std::shared_ptr<Contexts> contexts_;
    // By call: folders that it made before a crash and that others use by now.
    std::map<std::string, vault::Performed> folders_;
    std::shared_ptr<const Change> change_;
    const tools::ToolSpec spec_;
};

tools::ToolSpec at_once(tools::ToolSpec spec) {
    spec.cancellable = false;  // It is over when it has begun.
    return spec;
}

class ComputeTool final : public tools::Tool {
public:
    ComputeTool(const Kit& kit, About about, Compute compute)
        : contexts_(kit.contexts),
          compute_(std::move(compute)),
          spec_(at_once(spec_of(std::move(about), domain::RiskLevel::ReadOnly))) {}
    const tools::ToolSpec& spec() const override { return spec_; }

    std::shared_ptr<tools::Running> start(const domain::ToolCall& call,
                                          const tools::ExecutionContext& place,
                                          results::ArtifactSink&, tools::Done done) override {
        Request request{.args = call.args, .place = place};
        request.context = contexts_->of(call.run_id, place);
        done(outcome_of(compute_(request)));
        return nullptr;
    }

    base::Result<json::object> preview(const json::value& args,
                                       const tools::ExecutionContext& place) const override {
        TRY(check_fit(spec_, args));
        auto answer = compute_(preview_request(args, place, *contexts_));
        if (!answer) return no_preview(answer.error());
        return json::object{{"data", std::move(answer->result)}};
    }

private:
    std::shared_ptr<Contexts> contexts_;
    Compute compute_;
    const tools::ToolSpec spec_;
};

}  // namespace

vault::Outcome<vault::Root> open_vault(const tools::ExecutionContext& place,
                                       const domain::SandboxPolicy& sandbox) {
    const std::filesystem::path root = place.workspace.execution_root;
    auto overlay = overlay_of(place);
    if (!sandbox.enabled) return vault::Root::open(root, nullptr, std::move(overlay));
    const auto rules = std::make_shared<const tools::PathRules>(sandbox, root);
    if (rules->allow_all()) return vault::Root::open(root, nullptr, std::move(overlay));
    return vault::Root::open(
        root,
        std::make_shared<const vault::Permit>(
            [rules](std::string_view path) { return rules->allows(path); },
            [rules](std::string_view folder) { return rules->leads_to_allowed(folder); }),
        std::move(overlay));
}

std::shared_ptr<tools::Pretence> make_pretence() {
    return std::make_shared<VaultPretence>();
}

std::set<std::string> files_named(const Request& request,
                                  std::initializer_list<std::string_view> args) {
    std::set<std::string> files;
    for (const auto name : args)
        if (auto path = base::string_at(request.args, name); !path.empty())
            files.insert(std::move(path));
    return files;
}

std::unique_ptr<tools::Tool> read_tool(const Kit& kit, About about, Reader reader) {
    return std::make_unique<ReadTool>(kit, std::move(about), std::move(reader));
}

std::unique_ptr<tools::Tool> change_tool(const Kit& kit, About about, Change change) {
    return std::make_unique<ChangeTool>(kit, std::move(about), std::move(change));
}

std::unique_ptr<tools::Tool> compute_tool(const Kit& kit, About about, Compute compute) {
    return std::make_unique<ComputeTool>(kit, std::move(about), std::move(compute));
}

RunContext Contexts::of(const domain::RunId& run, const tools::ExecutionContext& place) const {
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
