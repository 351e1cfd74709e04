#include "exec/tools/builtin/worktrees/clean.h"

#include <set>

#include "agent/workspace/git.h"
#include "base/text.h"
#include "exec/tools/builtin/worktrees/git.h"

namespace builtin {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> split_at_nul(std::string_view output) {
    std::vector<std::string> parts;
    while (!output.empty()) {
        const auto end = output.find('\0');
        if (const auto part = output.substr(0, end); !part.empty()) parts.emplace_back(part);
        if (end == std::string_view::npos) break;
        output.remove_prefix(end + 1);
    }
    return parts;
}

void keep(tasks::ChildWorktree& worktree, std::string_view reason) {
    worktree.cleanup_status = "retained";
    worktree.cleanup_reason = std::string(reason);
}

// Asks git one question after the other.
class CleanWorktree final : public std::enable_shared_from_this<CleanWorktree> {
public:
    CleanWorktree(const WorkspaceParts& parts, const base::Lifetime& owner, domain::AgentId agent,
                  tasks::ChildWorktree worktree,
                  std::move_only_function<void(tasks::ChildWorktree)> done)
        : parts_(parts),
          owner_(owner),
          agent_(std::move(agent)),
          worktree_(std::move(worktree)),
          done_(std::move(done)) {}

    void begin() {
        base::run_in_background<WorktreeFacts>(
            parts_.loop, owner_,
            [worktree = worktree_]() -> base::Result<WorktreeFacts> { return look(worktree); },
            [self = shared_from_this()](base::Result<WorktreeFacts> facts) {
                self->facts_ =
                    facts ? std::move(*facts)
                          : WorktreeFacts{.is_there = true, .error = facts.error().message};
                if (!self->decided()) self->ask_status();
            });
    }

private:
    using Answer = std::move_only_function<void(const base::ProcessExit&)>;

    // From files alone. Blocks; any thread.
    static WorktreeFacts look(const tasks::ChildWorktree& worktree) {
        WorktreeFacts facts;
        std::error_code ignored;
        facts.is_there = fs::exists(fs::symlink_status(worktree.worktree_path, ignored));
        const auto checkout = workspace::find_checkout(worktree.worktree_path);
        facts.is_of_repository = checkout && checkout->is_worktree() &&
                                 checkout->root == worktree.worktree_path &&
                                 checkout->common_dir == worktree.common_dir;
        if (facts.is_of_repository) facts.branch = workspace::current_branch(checkout->git_dir);
        return facts;
    }

    // True when the worktree is kept or gone; then this is over.
    bool decided() {
        auto judged = judge_worktree(worktree_, facts_);
        if (!judged.cleanup_status) return false;
        done_(std::move(judged));
        return true;
    }

    void ask_status() {
        ask(worktree_.worktree_path, {"status", "--porcelain=v1", "-z", "--untracked-files=all"},
            [this](const base::ProcessExit& exit) {
                if (!succeeded("its changes could not be listed", exit)) return;
                facts_.changed = paths_of_status(exit.out.head);
                ask_head();
            });
    }

    void ask_head() {
        ask(worktree_.worktree_path, {"rev-parse", "--verify", "HEAD^{commit}"},
            [this](const base::ProcessExit& exit) {
                if (!succeeded("its commit could not be read", exit)) return;
                facts_.head = std::string(base::trim(exit.out.head));
                if (facts_.head == worktree_.base_commit) {
                    if (!decided()) remove();
                    return;
                }
                ask_committed();
            });
    }

    void ask_committed() {
        ask(worktree_.worktree_path,
            {"diff", "--name-only", "-z", "--no-ext-diff", "--no-textconv", worktree_.base_commit,
             *facts_.head, "--"},
            [this](const base::ProcessExit& exit) {
                // What the commits hold is reported as far as it is known; they are kept in any
                // case.
                if (exit.exit_code == 0) facts_.committed = split_at_nul(exit.out.head);
                decided();
            });
    }

    void remove() {
        const fs::path repository = fs::path(worktree_.common_dir).parent_path();
        ask(repository, {"worktree", "remove", "--", worktree_.worktree_path},
            [this, repository](const base::ProcessExit& exit) {
                std::error_code ignored;
                worktree_.cleanup_reason = "clean_worktree";
                worktree_.changed_files.emplace();
                if (exit.exit_code != 0 && fs::exists(worktree_.worktree_path, ignored)) {
                    worktree_.cleanup_status = "failed";
                    worktree_.cleanup_error = git_failed("git did not remove it", exit).message;
                    return done_(std::move(worktree_));
                }
                worktree_.cleanup_status = "cleaned";
                worktree_.auto_cleaned_up = true;
                remove_branch(repository);
            });
    }

    void remove_branch(const fs::path& repository) {
        ask(repository,
            {"update-ref", "-d", "refs/heads/" + worktree_.worktree_branch, worktree_.base_commit},
            [this](const base::ProcessExit& exit) {
                worktree_.branch_cleanup_status = exit.exit_code == 0 ? "deleted" : "retained";
                done_(std::move(worktree_));
            });
    }

    bool succeeded(std::string_view failure, const base::ProcessExit& exit) {
        if (exit.exit_code == 0) return true;
        facts_.error = git_failed(std::string(failure), exit).message;
        decided();
        return false;
    }

    void ask(const fs::path& folder, const std::vector<std::string>& arguments, Answer answer) {
        auto command = git_command(folder, arguments, parts_.environment, kGitLookMax);
        command.environment.emplace_back("GIT_OPTIONAL_LOCKS", "0");
        if (const auto* behind = parts_.boundary_of(agent_)) {
            auto enclosed = behind->enclose_git(
                std::move(command), {.source = folder,
                                     .common_dir = worktree_.common_dir,
                                     .target = fs::path(worktree_.worktree_path).parent_path()});
            if (!enclosed) return fail(enclosed.error().message);
            command = std::move(*enclosed);
        }
        auto started = parts_.processes.start(
            std::move(command),
            [self = shared_from_this(), watch = owner_.watch(),
             answer = std::move(answer)](const base::ProcessExit& exit) mutable {
                if (!watch.expired()) answer(exit);
            });
        if (!started) fail(started.error().message);
    }

    void fail(const std::string& why) {
        facts_.error = "git could not be run: " + why;
        if (worktree_.cleanup_status) return done_(std::move(worktree_));
        decided();
    }

    const WorkspaceParts& parts_;
    const base::Lifetime& owner_;
    const domain::AgentId agent_;
    tasks::ChildWorktree worktree_;
    WorktreeFacts facts_{};
    std::move_only_function<void(tasks::ChildWorktree)> done_;
};

}  // namespace

std::vector<std::string> paths_of_status(std::string_view output) {
    std::vector<std::string> paths;
    const auto entries = split_at_nul(output);
    for (std::size_t i = 0; i < entries.size(); ++i) {
        const auto& entry = entries[i];
        if (entry.size() < 4) continue;
        paths.push_back(entry.substr(3));
        // A rename is followed by the path it came from.
        if (entry[0] == 'R' || entry[0] == 'C') ++i;
    }
    return paths;
}

tasks::ChildWorktree judge_worktree(tasks::ChildWorktree worktree, const WorktreeFacts& facts) {
    worktree.cleanup_status.reset();
    if (!facts.is_there) {
        worktree.cleanup_status = "already_removed";
        worktree.cleanup_reason = "worktree_path_missing";
        return worktree;
    }
    if (facts.error) {
        keep(worktree, "change_detection_failed");
        worktree.cleanup_error = facts.error;
        return worktree;
    }
    if (!facts.is_of_repository) {
        keep(worktree, "branch_inspection_failed");
        return worktree;
    }
    if (facts.branch != worktree.worktree_branch) {
        keep(worktree, "branch_mismatch");
        worktree.actual_branch = facts.branch.value_or("(none)");
        return worktree;
    }
    const bool has_commits = facts.head && *facts.head != worktree.base_commit;
    if (facts.changed.empty() && !has_commits) return worktree;
    std::set<std::string> files(facts.changed.begin(), facts.changed.end());
    files.insert(facts.committed.begin(), facts.committed.end());
    worktree.changed_files_total = std::ssize(files);
    worktree.changed_files.emplace();
    for (const auto& file : files) {
        if (worktree.changed_files->size() >= tasks::kChangedFilesMax) break;
        worktree.changed_files->push_back(base::to_utf8(file));
    }
    keep(worktree, facts.changed.empty() ? "committed_work" : "changed_files");
    if (has_commits) worktree.head_commit = *facts.head;
    worktree.retained_for_review = true;
    return worktree;
}

void clean_worktree(const WorkspaceParts& parts, const base::Lifetime& owner,
                    const domain::AgentId& agent, tasks::ChildWorktree worktree,
                    std::move_only_function<void(tasks::ChildWorktree)> done) {
    std::make_shared<CleanWorktree>(parts, owner, agent, std::move(worktree), std::move(done))
        ->begin();
}

}  // namespace builtin
