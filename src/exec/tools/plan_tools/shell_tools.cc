// shell.exec and shell.applyPatch: the runtime's own tools under names that plans use. They do the
// work; added here are a preview and, for a patch, what is needed to undo it.
#include <algorithm>
#include <map>

#include "exec/tools/builtin/builtin.h"
#include "exec/tools/builtin/commands/command_output.h"
#include "exec/tools/builtin/commands/left_behind.h"
#include "exec/tools/builtin/patch_output.h"
#include "exec/tools/patch/parse/parse.h"
#include "exec/tools/plan_tools/vault_tool.h"
#include "exec/tools/vault/changes/intents.h"

namespace plan_tools {
namespace {

tools::ToolSpec renamed(tools::ToolSpec spec, std::string name) {
    spec.name = std::move(name);
    spec.plans_only = true;
    return spec;
}

// The step sets the time limit.
struct ShellArgs {
    std::string cmd;
    std::optional<std::string> workdir{};
    std::optional<std::string> shell{};
    std::optional<bool> login{};
    std::optional<std::int64_t> max_output_tokens{};
    std::optional<bool> allowFailure{};
};
BOOST_DESCRIBE_STRUCT(ShellArgs, (), (cmd, workdir, shell, login, max_output_tokens, allowFailure))
constexpr auto describe_fields(const ShellArgs*) {
    return std::to_array<base::FieldDoc>(
        {{"cmd", "The command line, run by a shell."},
         {"workdir", "Folder to run in, relative to the vault; must lie inside it."},
         {"shell", "Shell program to use; omit for the default one."},
         {"login", "Run a login shell (default true)."},
         {"max_output_tokens", "How much of the output to keep, in estimated tokens.",
          R"("minimum":0)"},
         {"allowFailure", "Give the exit status as a result instead of failing on it.",
          R"("default":false)"}});
}

// Names one call of one run: the folder of a run has its id.
std::string mark_of(const domain::ToolCall& call, const tools::ExecutionContext& place) {
    return fmt::format("{}/{}", place.agent_home.filename().string(), call.call_id.value);
}

class ShellExec final : public tools::Tool {
public:
    explicit ShellExec(const Kit& kit) : shell_(kit.host.shell), loop_(kit.host.loop) {}
    const tools::ToolSpec& spec() const override { return spec_; }

    std::shared_ptr<tools::Running> start(const domain::ToolCall& call,
                                          const tools::ExecutionContext& place,
                                          results::ArtifactSink& sink, tools::Done done) override {
        auto args = base::from_json<ShellArgs>(call.args).value();
        if (!args.allowFailure.value_or(false))
            done = [done = std::move(done)](tools::Outcome outcome) mutable {
                done(held_to_success(std::move(outcome), "The command"));
            };
        return builtin::start_command(shell_,
                                      {.cmd = std::move(args.cmd),
                                       .workdir = std::move(args.workdir),
                                       .shell = std::move(args.shell),
                                       .login = args.login.value_or(true),
                                       .instructed_by = call.authority_class,
                                       .timeout_ms = call.timeout_ms,
                                       .max_output_tokens = args.max_output_tokens,
                                       .mark = mark_of(call, place)},
                                      spec_.name, place, sink, std::move(done));
    }
    // Nobody can say what the command had done. It is ended, so that it does not run together with
    // the steps that follow, or twice at once when the step is tried again.
    void recover(const domain::ToolCall& call, const tools::ExecutionContext& place,
                 std::move_only_function<void(tools::Recovery)> done) override {
        loop_.offload([mark = mark_of(call, place)] { builtin::end_left_behind(mark); },
                      [done = std::move(done)]() mutable { done({}); });
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
    builtin::Shell& shell_;
    base::Loop& loop_;
    const tools::ToolSpec spec_{.name = "shell.exec",
                                .description = "Runs a command in the vault to its end.",
                                .family = tools::Family::LocalEnvironment,
                                .risk = domain::RiskLevel::Commands,
                                .category = "commands",
                                .runs_behind = tools::RunsBehind::AgentsBoundary,
                                .plans_only = true,
                                .input_schema = base::schema_of<ShellArgs>(),
                                .output_schema = builtin::command_schema(),
                                .render = builtin::render_command,
                                .user_message = builtin::command_message};
};

// A file that a patch names, as it was before.
struct Before {
    std::string etag;
    std::string artifact;
};
using BeforeImages = std::map<std::string, Before>;  // By path relative to the vault.

std::string relative_to(const std::filesystem::path& path, const std::filesystem::path& root) {
    return path.lexically_normal().lexically_relative(root.lexically_normal()).string();
}

// Keeps what the files of a patch have now, and notes it for a process that has to find out whether
// the patch was applied. A path that cannot be read is left out: the patch will not apply to it
// either.
vault::Outcome<BeforeImages> keep(const std::string& text, const domain::WorkspaceEntry& place,
                                  results::ArtifactSink& sink, vault::Intents& intents) {
    BeforeImages images;
    const auto parsed = patch::parse(text, patch::Format::UnifiedDiff);
    if (!parsed) return images;  // The tool itself reports it.
    const auto root = TRY(vault::Root::open(place.execution_root));
    TRY(intents.reset());  // A former try of the call may have left its own.
    const auto in_vault = [&](const std::string& path) {
        return relative_to(std::filesystem::path(place.cwd) / path, place.execution_root);
    };
    const auto note_if_missing = [&](const std::string& path) -> vault::Outcome<void> {
        const auto seen = root.look(path);
        if (!seen || seen->kind != vault::Kind::Missing) return {};
        return intents.add({.entry = {.action = vault::Action::Create, .path = path}});
    };
    for (const auto& file : parsed->files) {
        if (file.from_path) TRY(note_if_missing(in_vault(file.path)));
        const std::string path = in_vault(file.from_path.value_or(file.path));
        if (images.contains(path)) continue;
        const auto content = root.read(path);
        if (!content) {
            TRY(note_if_missing(path));
            continue;
        }
        TRY(intents.add({.entry = {.action = vault::Action::Modify,
                                   .path = path,
                                   .beforeEtag = vault::etag(content->bytes)}}));
        auto artifact = sink.store("before", content->bytes);
        if (!artifact)
            return vault::Failure(domain::ToolError{.kind = "artifact_write_failed",
                                                    .message = artifact.error().message});
        images[path] = {vault::etag(content->bytes), std::move(*artifact)};
    }
    return images;
}

void make_relative(domain::Effects& effects, const std::filesystem::path& root) {
    const auto relative = [&](std::string& path) { path = relative_to(path, root); };
    for (auto& created : effects.created) relative(created.path);
    for (auto& modified : effects.modified) relative(modified.path);
    for (auto& deleted : effects.deleted) relative(deleted.path);
    for (auto& moved : effects.renamed) {
        relative(moved.from);
        relative(moved.to);
    }
}

std::optional<std::string> etag_now(const vault::Root& root, const std::string& path) {
    const auto content = root.read(path);
    return content ? std::optional(vault::etag(content->bytes)) : std::nullopt;
}

// Whether all files of a patch are as keep() noted them.
bool is_as_before(const vault::Begun& begun, const vault::Root& root) {
    return std::ranges::all_of(begun.intents, [&](const vault::Intent& intent) {
        if (intent.entry.beforeEtag)
            return etag_now(root, intent.entry.path) == intent.entry.beforeEtag;
        const auto seen = root.look(intent.entry.path);
        return seen && seen->kind == vault::Kind::Missing;
    });
}

// The entries that undo `effects`. A file that differs from the kept bytes gets no artifact, so
// that undoing it fails with a reason.
std::vector<vault::UndoEntry> undo_of(const domain::Effects& effects, const BeforeImages& images,
                                      const vault::Root& root) {
    using vault::Action;
    const auto kept = [&](const std::string& path, const std::string& etag) {
        const auto image = images.find(path);
        return image != images.end() && (etag.empty() || image->second.etag == etag)
                   ? std::optional(image->second)
                   : std::nullopt;
    };
    std::vector<vault::UndoEntry> undo;
    for (const auto& created : effects.created)
        if (created.kind == domain::PathKind::Folder)
            undo.push_back({.action = Action::Mkdir, .path = created.path});
    for (const auto& created : effects.created)
        if (created.kind == domain::PathKind::File)
            undo.push_back({.action = Action::Create,
                            .path = created.path,
                            .afterEtag = etag_now(root, created.path)});
    std::map<std::string, std::string> came_from;
    for (const auto& moved : effects.renamed) {
        undo.push_back({.action = Action::Rename, .path = moved.to, .from = moved.from});
        came_from[moved.to] = moved.from;
    }
    for (const auto& modified : effects.modified) {
        vault::UndoEntry entry{.action = Action::Modify,
                               .path = modified.path,
                               .beforeEtag = modified.before_etag,
                               .afterEtag = modified.after_etag};
        const auto old = came_from.find(modified.path);
        const auto& origin = old == came_from.end() ? modified.path : old->second;
        if (const auto before = kept(origin, modified.before_etag))
            entry.beforeArtifact = before->artifact;
        undo.push_back(std::move(entry));
    }
    for (const auto& deleted : effects.deleted) {
        vault::UndoEntry entry{
            .action = deleted.kind == domain::PathKind::Folder ? Action::Rmdir : Action::Delete,
            .path = deleted.path};
        if (const auto before = kept(deleted.path, "")) {
            entry.beforeEtag = before->etag;
            entry.beforeArtifact = before->artifact;
        }
        undo.push_back(std::move(entry));
    }
    return undo;
}

// The patch's own output, with the undo entries.
struct UndoableOutput final : results::Output {
    UndoableOutput(std::unique_ptr<results::Output> inner, std::vector<vault::UndoEntry> undo)
        : inner(std::move(inner)), undo(std::move(undo)) {}
    std::unique_ptr<results::Output> inner;
    std::vector<vault::UndoEntry> undo;
    base::Result<results::Canonical> project(results::ArtifactSink& sink,
                                             const results::OutputPolicy& policy) const override {
        auto canonical = TRY(inner->project(sink, policy));
        canonical.result["undo"] = base::to_json(undo);
        return canonical;
    }
};

struct UndoField {
    std::vector<vault::UndoEntry> undo;
};
BOOST_DESCRIBE_STRUCT(UndoField, (), (undo))

tools::ToolSpec with_undo(tools::ToolSpec spec) {
    spec.output_schema["properties"].as_object()["undo"] =
        base::schema_of<UndoField>()["properties"].at("undo");
    return spec;
}

class ShellApplyPatch final : public tools::Tool {
public:
    explicit ShellApplyPatch(const Kit& kit)
        : loop_(kit.host.loop), inner_(builtin::apply_patch(kit.host.loop)) {}
    const tools::ToolSpec& spec() const override { return spec_; }

    std::shared_ptr<tools::Running> start(const domain::ToolCall& call,
                                          const tools::ExecutionContext& place,
                                          results::ArtifactSink& sink, tools::Done done) override {
        auto running = std::make_shared<Waiting>();
        auto images = std::make_shared<vault::Outcome<BeforeImages>>();
        auto intents = std::make_shared<vault::Intents>(place.agent_home, call.call_id.value);
        loop_.offload(
            [text = base::string_at(call.args, "patch"), place, images, intents, &sink] {
                *images = keep(text, place.workspace, sink, *intents);
            },
            [this, call, place, images, intents, running, &sink, done = std::move(done)]() mutable {
                if (running->cancelled)
                    return done(
                        {.completed = vault::stopped(), .status = domain::ResultStatus::Cancelled});
                if (!*images) return done({.completed = std::unexpected(images->error())});
                inner_->start(call, place, sink,
                              [this, place, images, intents, &sink,
                               done = std::move(done)](tools::Outcome outcome) mutable {
                                  finish(std::move(outcome), {intents, place, **images, sink},
                                         std::move(done));
                              });
            });
        return running;
    }

    // Settled by the files: a patch is applied as a whole, and its call noted the files before it
    // and its result behind it.
    void recover(const domain::ToolCall& call, const tools::ExecutionContext& place,
                 std::move_only_function<void(tools::Recovery)> done) override {
        auto found = std::make_shared<tools::Recovery>();
        loop_.offload(
            [id = call.call_id.value, place, found] {
                auto begun = vault::read_intents(place.agent_home, id);
                const auto root = vault::Root::open(place.workspace.execution_root);
                if (!begun || !root) return;
                if (begun->ending) {
                    auto& ending = *begun->ending;
                    found->how = tools::Recovery::How::Made;
                    found->outcome.emplace(
                        tools::Outcome{.completed = std::make_unique<AnswerOutput>(Answer{
                                           std::move(ending.summary), std::move(ending.result)}),
                                       .effects = std::move(ending.effects)});
                } else if (begun->is_sure && !begun->intents.empty() &&
                           is_as_before(*begun, *root)) {
                    found->how = tools::Recovery::How::NotMade;
                }
            },
            [found, done = std::move(done)]() mutable { done(std::move(*found)); });
    }

    std::vector<std::string> paths(const json::value& args,
                                   const tools::ExecutionContext& place) const override {
        return inner_->paths(args, place);
    }

    base::Result<json::object> preview(const json::value& args,
                                       const tools::ExecutionContext& place) const override {
        return inner_->preview(args, place);
    }

private:
    // It can be cancelled until the patch itself begins; see ApplyPatch.
    struct Waiting final : tools::Running {
        void cancel() override { cancelled = true; }
        bool cancelled{false};
    };

    struct Applied {
        std::shared_ptr<vault::Intents> intents;
        tools::ExecutionContext place;
        BeforeImages images;
        results::ArtifactSink& sink;  // Of the dispatcher, until `done` was called.
    };

    void finish(tools::Outcome outcome, Applied applied, tools::Done done) {
        make_relative(outcome.effects, applied.place.workspace.execution_root);
        if (!outcome.completed) return done(std::move(outcome));
        auto end = std::make_shared<tools::Outcome>(std::move(outcome));
        loop_.offload(
            [end, applied = std::move(applied)] {
                const auto root = vault::Root::open(applied.place.workspace.execution_root);
                end->completed = std::make_unique<UndoableOutput>(
                    std::move(*end->completed), root ? undo_of(end->effects, applied.images, *root)
                                                     : std::vector<vault::UndoEntry>{});
                auto answer = (*end->completed)->project(applied.sink, {});
                if (!answer) return;
                applied.intents->end(
                    {std::move(answer->summary_text), std::move(answer->result), end->effects});
            },
            [end, done = std::move(done)]() mutable { done(std::move(*end)); });
    }

    base::Loop& loop_;
    std::unique_ptr<tools::Tool> inner_;
    const tools::ToolSpec spec_{with_undo(renamed(inner_->spec(), "shell.applyPatch"))};
};

}  // namespace

void add_shell(tools::Registry& registry, const Kit& kit) {
    registry.add(std::make_unique<ShellExec>(kit));
    registry.add(std::make_unique<ShellApplyPatch>(kit));
}

}  // namespace plan_tools
