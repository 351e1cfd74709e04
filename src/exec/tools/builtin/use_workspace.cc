#include <algorithm>

#include "agent/workspace/choose.h"
#include "agent/workspace/workspace.h"
#include "base/os/files.h"
#include "base/os/lifetime.h"
#include "base/text.h"
#include "exec/sandbox/permit.h"
#include "exec/tools/builtin/builtin.h"
#include "exec/tools/builtin/workspace_args.h"
#include "exec/tools/builtin/worktrees/make.h"

namespace builtin {
namespace {

namespace fs = std::filesystem;
using domain::ToolError;
using workspace::Mode;

constexpr const char* kTool = "UseWorkspace";

std::optional<std::string> given(const std::optional<std::string>& text) {
    if (!text || base::trim(*text).empty()) return std::nullopt;
    return std::string(base::trim(*text));
}

UseWorkspaceArgs args_of(const json::value& json) {
    auto args = base::from_json<UseWorkspaceArgs>(json).value();
    for (auto* text : {&args.path, &args.workspace_id, &args.cwd, &args.isolation_label})
        *text = given(*text);
    return args;
}

ToolError invalid_fields(std::string message, json::array fields, std::string hint) {
    return {.kind = "invalid_tool_input",
            .message = message,
            .details = json::object{{"tool_name", kTool},
                                    {"fields", std::move(fields)},
                                    {"validation_error", message}},
            .recovery_hint = std::move(hint)};
}

ToolError failed(std::string message) {
    return {.kind = "tool_execution_failed",
            .message = std::move(message),
            .details = json::object{{"tool_name", kTool}}};
}

std::string shown(const std::string& text) {
    return base::printable(base::ellipsize(base::to_utf8(text), 200));
}

bool is_gits(const fs::path& name) {
    const std::string text = name.string();
    return text.size() == 4 && text[0] == '.' && (text[1] | 32) == 'g' && (text[2] | 32) == 'i' &&
           (text[3] | 32) == 't';
}

bool is_folder(const fs::path& path) {
    std::error_code ignored;
    return fs::is_directory(path, ignored);
}

bool is_home(const std::string& id) {
    return id == workspace::kAgentHome || id.starts_with("agent_home:");
}

// One call, as steps in the background, which read and write disk and store, and what follows from
// each on the loop. Only one of both is under way at a time, so they share the members.
class Use final : public tools::Running, public std::enable_shared_from_this<Use> {
public:
    Use(const WorkspaceParts& parts, const base::Lifetime& owner, const domain::ToolCall& call,
        tools::ExecutionContext place, tools::Done done)
        : parts_(parts),
          owner_(owner),
          args_(args_of(call.args)),
          place_(std::move(place)),
          done_(std::move(done)) {}

    void begin() {
        step([this] { return choose(); });
    }

    void cancel() override {
        cancelled_ = true;
        if (making_) making_->cancel();
    }

private:
    // What follows from a step, on the loop.
    using Next = base::Job;

    void step(std::move_only_function<Next()> work) {
        base::run_in_background<Next>(
            parts_.loop, owner_,
            [work = std::move(work)]() mutable -> base::Result<Next> { return work(); },
            [self = shared_from_this()](base::Result<Next> next) {
                if (!next) return self->finish(failed(next.error().message));
                (*next)();
            });
    }

    // In the background -------------------------------------------------------------------------

    Next end(ToolError error) {
        return [this, error = std::move(error)]() mutable { finish(std::move(error)); };
    }

    Next choose() {
        auto asker = read_asker();
        if (!asker) return end(failed(asker.error().message));
        auto target = find_target(*asker);
        if (!target) return end(std::move(target).error());
        if (args_.mode == Mode::Isolated) return isolate(*target, *asker);
        return use_directly(*target, *asker);
    }

    base::Result<workspace::Asker> read_asker() {
        std::error_code ignored;
        workspace::Asker asker{.agent_id = place_.agent_id,
                               .home = fs::weakly_canonical(place_.agent_home, ignored),
                               .runtime_home = fs::weakly_canonical(parts_.runtime_home, ignored),
                               .execution = parts_.execution_of(place_.agent_id)};
        TRY(parts_.store.read([&](store::Tx& tx) -> base::Status {
            const auto agent = TRY(tx.agent(place_.agent_id));
            if (!agent) return {};
            for (const auto& id : agent->attached_workspaces)
                if (auto entry = TRY(tx.workspace(id))) asker.attached.push_back(std::move(*entry));
            return {};
        }));
        return asker;
    }

    std::expected<workspace::Target, ToolError> find_target(const workspace::Asker& asker) {
        std::string wanted = args_.path.value_or("");
        if (args_.workspace_id) {
            const auto entry = workspace::choose_attached(*args_.workspace_id, asker);
            if (!entry) return std::unexpected(entry.error());
            wanted = entry->workspace_anchor;
            if (is_home(*args_.workspace_id)) {
                const auto made = base::make_folders(wanted, 0700);
                if (!made) return std::unexpected(failed(made.error().message));
            }
        }
        const char* field = args_.path ? "path" : "workspace_id";
        std::error_code gone;
        const fs::path folder = fs::canonical(fs::path(place_.workspace.cwd) / wanted, gone);
        if (gone || !is_folder(folder))
            return std::unexpected(tools::invalid_input(
                kTool, field,
                fmt::format("{} is {}.", shown(wanted), gone ? "not there" : "not a folder"),
                wanted.starts_with('~')
                    ? "Write the home folder out; '~' is not known here."
                    : "Give an existing folder, or use workspace_id \"agent_home\"."));
        if (std::ranges::any_of(folder, is_gits))
            return std::unexpected(tools::invalid_input(
                kTool, field, fmt::format("{} lies in a git folder.", shown(wanted)),
                "Leave .git to git; use the repository's own folder."));
        // Attached folders are stored without links.
        if (args_.workspace_id && !is_home(*args_.workspace_id) && folder != fs::path(wanted))
            return std::unexpected(tools::invalid_input(
                kTool, field,
                fmt::format("{} was replaced by a link after it was attached.", shown(wanted)),
                "Choose another workspace; only the operator can attach the new folder."));
        workspace::Target target{.folder = folder};
        if (!args_.workspace_id || args_.mode == Mode::Isolated)
            target.checkout = workspace::find_checkout(folder);
        if (!target.checkout) return target;
        auto made = known(target.checkout->root);
        if (!made) return std::unexpected(failed(made.error().message));
        target.made = std::move(*made);
        return target;
    }

    base::Result<std::optional<domain::ManagedWorktree>> known(const fs::path& path) {
        std::optional<domain::ManagedWorktree> found;
        TRY(parts_.store.read([&](store::Tx& tx) -> base::Status {
            found = TRY(tx.worktree(path.string()));
            return {};
        }));
        return found;
    }

    Next use_directly(const workspace::Target& target, const workspace::Asker& asker) {
        auto entry = args_.workspace_id ? workspace::choose_attached(*args_.workspace_id, asker)
                                        : workspace::choose_direct(target, asker);
        if (!entry) return end(std::move(entry).error());
        if (args_.cwd) {
            const auto cwd = workspace::place_cwd(entry->execution_root, *args_.cwd);
            if (!cwd) return end(cwd.error());
            auto checked = workspace::enter(entry->execution_root, *cwd);
            if (!checked)
                return end(tools::invalid_input(kTool, "cwd", checked.error().message,
                                                "Give an existing folder of the workspace."));
            entry->cwd = checked->cwd;
        }
        return use(std::move(*entry), Mode::Direct, "");
    }

    // Isolated -----------------------------------------------------------------------------------

    Next isolate(const workspace::Target& target, const workspace::Asker& asker) {
        if (const auto allowed = sandbox::permit(asker.execution, sandbox::Use::Worktree); !allowed)
            return end(
                {.kind = "policy_denied",
                 .message = allowed.error().message,
                 .details = json::object{{"tool_name", kTool},
                                         {"rule", base::enum_name(sandbox::Rule::ExecutionPolicy)}},
                 .recovery_hint = "Only the operator can change this. Use mode direct."});
        auto plan = workspace::plan_isolated(target, asker, args_.workspace_id,
                                             args_.isolation_label.value_or(""));
        if (!plan) return end(std::move(plan).error());
        if (args_.cwd) {
            const auto cwd = workspace::place_cwd(plan->entry.execution_root, *args_.cwd);
            if (!cwd) return end(cwd.error());
            plan->entry.cwd = cwd->string();
        }
        return [this, plan = std::move(*plan)]() mutable { make(std::move(plan)); };
    }

    Next use(domain::WorkspaceEntry entry, Mode mode, std::string note) {
        return [this, entry = std::move(entry), mode, note = std::move(note)]() mutable {
            finish_with(std::move(entry), mode, note);
        };
    }

    // On the loop -------------------------------------------------------------------------------

    void make(workspace::Plan plan) {
        if (cancelled_) return stopped();
        making_ = make_worktree(parts_, owner_, place_.agent_id, std::move(plan),
                                [self = shared_from_this()](WorktreeOutcome outcome) {
                                    self->making_ = nullptr;
                                    self->made(std::move(outcome));
                                });
    }

    void made(WorktreeOutcome outcome) {
        if (outcome.was_cancelled) return stopped();
        if (!outcome.made) return finish(std::move(outcome.made).error());
        auto& made = *outcome.made;
        if (made.is_new) {
            outcome_.effects.created.push_back(
                {made.worktree.session.worktree_path, domain::PathKind::Folder});
            outcome_.effects.side_effects_observed = true;
        }
        finish_with(std::move(made.entry), Mode::Isolated, made.note);
    }

    void finish_with(domain::WorkspaceEntry entry, Mode mode, const std::string& note) {
        auto output = std::make_unique<UseWorkspaceOutput>();
        output->result = {.workspace_id = entry.workspace_id,
                          .workspace_anchor = entry.workspace_anchor,
                          .execution_root = entry.execution_root,
                          .cwd = entry.cwd,
                          .mode = mode,
                          .projection_kind = entry.projection_kind};
        output->summary =
            fmt::format("Now working in {} (workspace {}, {}), cwd {}. {}", entry.execution_root,
                        entry.workspace_id, base::enum_name(mode), entry.cwd, note);
        const auto& metadata = entry.projection_metadata;
        if (metadata && metadata->ownership == domain::WorktreeOwnership::External)
            output->summary += fmt::format(
                "This is a worktree that was there already. For one that the runtime manages, use "
                "mode \"isolated\" with workspace_id \"{}\".",
                entry.workspace_id);
        output->summary = base::trim(output->summary);
        outcome_.completed = std::move(output);
        outcome_.mutations = {tools::WorkspaceUse{std::move(entry)}};
        done_(std::move(outcome_));
    }

    void finish(ToolError error) {
        outcome_.completed = std::unexpected(std::move(error));
        done_(std::move(outcome_));
    }

    void stopped() {
        outcome_.status = domain::ResultStatus::Cancelled;
        return finish(failed("The call was stopped before the workspace was entered."));
    }

    const WorkspaceParts& parts_;
    const base::Lifetime& owner_;  // Of the tool.
    const UseWorkspaceArgs args_;
    const tools::ExecutionContext place_;
    tools::Done done_;
    tools::Outcome outcome_{.completed = nullptr};
    std::shared_ptr<tools::Running> making_;
    bool cancelled_{false};
};

class UseWorkspace final : public tools::Tool {
public:
    explicit UseWorkspace(WorkspaceParts parts) : parts_(std::move(parts)) {}
    const tools::ToolSpec& spec() const override { return spec_; }

    std::optional<ToolError> check(const json::value& json) const override {
        const auto args = args_of(json);
        if (args.path.has_value() == args.workspace_id.has_value())
            return invalid_fields("Exactly one of path and workspace_id is needed.",
                                  {"path", "workspace_id"},
                                  "Give the folder, or the id of a workspace you have used.");
        if (args.workspace_id && is_home(*args.workspace_id) && args.mode == Mode::Isolated)
            return invalid_fields("The agent's home has no isolated form.",
                                  {"workspace_id", "mode"}, "Use mode direct.");
        return std::nullopt;
    }

    // Nothing that was made is made twice: a call that is made again finds its record.
    void can_resume(const domain::ToolCall&,
                    std::move_only_function<void(bool)> done) const override {
        done(true);
    }

    std::shared_ptr<tools::Running> start(const domain::ToolCall& call,
                                          const tools::ExecutionContext& place,
                                          results::ArtifactSink&, tools::Done done) override {
        auto use = std::make_shared<Use>(parts_, lifetime_, call, place, std::move(done));
        use->begin();
        return use;
    }

private:
    const WorkspaceParts parts_;
    const tools::ToolSpec spec_{
        .name = kTool,
        .description =
            "Choose where you work: the next call runs there. Give a path (its repository becomes "
            "the workspace) or the workspace_id of one you have used; agent_home is your own "
            "folder. mode isolated gives you a copy of the project on a branch of its own, so that "
            "the project itself stays untouched. Nothing is removed when you leave.",
        .family = tools::Family::LocalEnvironment,
        .risk = domain::RiskLevel::Writes,
        .category = "agent",
        .input_schema = base::schema_of<UseWorkspaceArgs>(),
        .output_schema = base::schema_of<UseWorkspaceResult>(),
        .render = render_summary};
    base::Lifetime lifetime_;
};

}  // namespace

std::unique_ptr<tools::Tool> use_workspace(WorkspaceParts parts) {
    return std::make_unique<UseWorkspace>(std::move(parts));
}

}  // namespace builtin
