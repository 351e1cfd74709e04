#include "exec/tools/builtin/worktrees/make.h"

#include "agent/workspace/workspace.h"
#include "base/os/files.h"
#include "base/text.h"
#include "exec/tools/builtin/worktrees/git.h"

namespace builtin {
namespace {

namespace fs = std::filesystem;
using domain::ToolError;

ToolError not_made(std::string message) {
    return {.kind = "tool_execution_failed", .message = std::move(message)};
}

bool folder_exists(const fs::path& path) {
    std::error_code ignored;
    return fs::is_directory(path, ignored);
}

// Steps in the background, which read and write disk and store, and what follows from each on the
// loop. Only one of both is under way at a time, so they share the members.
class MakeWorktree final : public tools::Running,
                           public std::enable_shared_from_this<MakeWorktree> {
public:
    MakeWorktree(const WorkspaceParts& parts, const base::Lifetime& owner, domain::AgentId agent,
                 workspace::Plan plan, std::move_only_function<void(WorktreeOutcome)> done)
        : parts_(parts),
          owner_(owner),
          agent_(std::move(agent)),
          plan_(std::move(plan)),
          done_(std::move(done)) {}

    void begin() {
        ask_git({"rev-parse", "--verify", "--quiet", "HEAD^{commit}"}, kGitLookMax,
                [this](const base::ProcessExit& exit) { return on_head(exit); });
    }

    void cancel() override {
        cancelled_ = true;
        if (git_) git_->cancel();
    }

private:
    // What follows from a step, on the loop.
    using Next = base::Job;
    // What follows from a command of git, in the background.
    using Git = std::move_only_function<Next(const base::ProcessExit&)>;

    void step(std::move_only_function<Next()> work) {
        base::run_in_background<Next>(
            parts_.loop, owner_,
            [work = std::move(work)]() mutable -> base::Result<Next> { return work(); },
            [self = shared_from_this()](base::Result<Next> next) {
                if (!next) return self->finish(not_made(next.error().message));
                (*next)();
            });
    }

    // In the background -------------------------------------------------------------------------

    Next end(ToolError error) {
        return [this, error = std::move(error)]() mutable { finish(std::move(error)); };
    }

    base::Result<std::optional<domain::ManagedWorktree>> known(const fs::path& path) {
        std::optional<domain::ManagedWorktree> found;
        TRY(parts_.store.read([&](store::Tx& tx) -> base::Status {
            found = TRY(tx.worktree(path.string()));
            return {};
        }));
        return found;
    }

    Next on_head(const base::ProcessExit& exit) {
        if (exit.exit_code != 0)
            return end(git_failed(
                fmt::format("{} has no commit to start from", plan_.source.string()), exit));
        plan_.worktree.base_commit = base::trim(exit.out.head);
        return git({"show-ref", "--verify", "--quiet",
                    "refs/heads/" + plan_.worktree.session.worktree_branch},
                   kGitLookMax,
                   [this](const base::ProcessExit& shown) { return on_branch(shown); });
    }

    Next on_branch(const base::ProcessExit& exit) {
        const fs::path path = plan_.worktree.session.worktree_path;
        auto row = known(path);
        if (!row) return end(not_made(row.error().message));
        std::error_code ignored;
        workspace::Found found{.known = std::move(*row),
                               .path_exists = fs::exists(fs::symlink_status(path, ignored)),
                               .checkout = workspace::find_checkout(path),
                               .branch_exists = exit.exit_code == 0};
        if (found.checkout && found.checkout->root != path) found.checkout.reset();
        found.is_whole = found.checkout && workspace::is_whole(*found.checkout);
        found.known_is_recent =
            found.known && parts_.clock.now() - found.known->created_at < 2 * kWorktreeAddMax;
        auto decided = workspace::isolate(plan_, found);
        if (auto* error = std::get_if<ToolError>(&decided)) return end(std::move(*error));
        if (std::holds_alternative<workspace::Reenter>(decided)) {
            plan_.worktree = *found.known;
            return bind("");
        }
        return claim(std::get<workspace::Create>(decided), found.known);
    }

    // On record, on disk, before anything is made: a process that finds the folder later, above all
    // one that resumes this call, knows whose it is.
    Next claim(workspace::Create create, const std::optional<domain::ManagedWorktree>& before) {
        plan_.worktree.created_at = parts_.clock.now();
        const auto status =
            parts_.store.write(store::Durability::Disk, [&](store::Tx& tx) -> base::Status {
                const auto& worktree = plan_.worktree;
                if (TRY(tx.worktree(worktree.session.worktree_path)) != before)
                    return base::fail(base::ErrorCode::Conflict,
                                      "Another agent is making the worktree {} right now; choose "
                                      "another isolation_label.",
                                      worktree.session.worktree_path);
                return tx.put_worktree(worktree);
            });
        if (!status) return end(not_made(status.error().message));
        return add(create);
    }

    Next add(workspace::Create create) {
        const auto& session = plan_.worktree.session;
        const fs::path folder = fs::path(session.worktree_path).parent_path();
        const auto made = base::make_folders(folder, 0700);
        std::error_code ignored;
        if (!made || fs::canonical(folder, ignored) != folder)
            return end(not_made(made ? fmt::format("{} is a link.", folder.string())
                                     : made.error().message));
        std::vector<std::string> words{"worktree", "add", "--quiet"};
        if (!create.branch_exists)
            words.insert(words.end(), {"-b", session.worktree_branch, "--no-track"});
        words.insert(words.end(),
                     {"--", session.worktree_path,
                      create.branch_exists ? session.worktree_branch : plan_.worktree.base_commit});
        return git(words, kWorktreeAddMax, [this](const base::ProcessExit& exit) {
            if (exit.exit_code != 0) return end(git_failed("git made no worktree", exit));
            is_new_ = true;
            return bind("A new branch was made for it. ");
        });
    }

    // The worktree is there.
    Next bind(std::string note) {
        const auto& session = plan_.worktree.session;
        const auto checkout = workspace::find_checkout(session.worktree_path);
        if (!checkout || !checkout->is_worktree())
            return end(not_made(fmt::format("git says that it made {}, but there is no worktree.",
                                            session.worktree_path)));
        plan_.entry.projection_metadata =
            domain::ProjectionMetadata{.ownership = domain::WorktreeOwnership::Managed,
                                       .git_dir = checkout->git_dir.string(),
                                       .worktree_session = session};
        if (auto inside = workspace::enter(plan_.entry.execution_root, plan_.entry.cwd)) {
            plan_.entry.cwd = inside->cwd;
        } else {
            note += fmt::format("It has no folder {}; cwd is its root. ", plan_.entry.cwd);
            plan_.entry.cwd = plan_.entry.execution_root;
        }
        note += fmt::format(
            "Its branch is {}, from {}. Leaving it keeps it on disk; mode isolated with the same "
            "isolation_label leads back.",
            session.worktree_branch, session.original_branch);
        return [this, note = std::move(note)] {
            finish(MadeWorktree{plan_.entry, plan_.worktree, is_new_, note});
        };
    }

    Next git(std::vector<std::string> arguments, std::chrono::milliseconds timeout, Git next) {
        return [this, arguments = std::move(arguments), timeout, next = std::move(next)]() mutable {
            ask_git(arguments, timeout, std::move(next));
        };
    }

    // On the loop -------------------------------------------------------------------------------

    void ask_git(const std::vector<std::string>& arguments, std::chrono::milliseconds timeout,
                 Git next) {
        if (cancelled_) return stopped();
        auto command = git_command(plan_.source, arguments, parts_.environment, timeout);
        if (const auto* behind = parts_.boundary_of(agent_)) {
            const fs::path target = fs::path(plan_.worktree.session.worktree_path).parent_path();
            auto enclosed = behind->enclose_git(
                std::move(command), {.source = plan_.source,
                                     .common_dir = plan_.common_dir,
                                     .target = folder_exists(target) ? target : fs::path()});
            if (!enclosed) return finish(not_made(enclosed.error().message));
            command = std::move(*enclosed);
        }
        auto started = parts_.processes.start(
            std::move(command), [self = shared_from_this(),
                                 next = std::move(next)](const base::ProcessExit& exit) mutable {
                self->git_.reset();
                if (exit.cancelled) return self->stopped();
                self->step([next = std::move(next), exit]() mutable { return next(exit); });
            });
        if (!started)
            return finish(
                not_made(fmt::format("git could not be run: {}", started.error().message)));
        git_ = *started;
    }

    void finish(MadeWorktree made) { done_({.made = std::move(made)}); }
    void finish(ToolError error) { done_({.made = std::unexpected(std::move(error))}); }
    void stopped() {
        done_({.made = std::unexpected(not_made("The call was stopped before the worktree was "
                                                "made.")),
               .was_cancelled = true});
    }

    const WorkspaceParts& parts_;
    const base::Lifetime& owner_;  // Of the tool.
    const domain::AgentId agent_;
    workspace::Plan plan_;
    std::move_only_function<void(WorktreeOutcome)> done_;
    std::shared_ptr<base::ProcessRunner::Handle> git_;
    bool is_new_{false};
    bool cancelled_{false};
};

}  // namespace

std::shared_ptr<tools::Running> make_worktree(const WorkspaceParts& parts,
                                              const base::Lifetime& owner,
                                              const domain::AgentId& agent, workspace::Plan plan,
                                              std::move_only_function<void(WorktreeOutcome)> done) {
    auto making =
        std::make_shared<MakeWorktree>(parts, owner, agent, std::move(plan), std::move(done));
    making->begin();
    return making;
}

}  // namespace builtin
