#include "exec/sandbox/permit.h"

#include "exec/sandbox/denials.h"

namespace sandbox {

base::Status permit(const domain::Execution& execution, Use use) {
    const auto refused = [](std::string_view what, std::string_view setting) -> base::Status {
        return std::unexpected(base::Error{
            base::ErrorCode::Refused,
            fmt::format("the execution policy allows no {}; its operator can change it: {}", what,
                        setting),
            std::string(base::enum_name(Rule::ExecutionPolicy))});
    };
    if (!execution.process_execution_exposed)
        return refused("processes", "holon config set execution.allow_processes true");
    switch (use) {
        case Use::Process:
            return {};
        case Use::BackgroundTask:
            if (execution.allow_background_tasks) return {};
            return refused("background tasks",
                           "holon config set execution.allow_background_tasks true");
        case Use::Worktree:
            if (execution.supports_managed_worktrees) return {};
            return refused("worktrees (or there is no git here)",
                           "holon config set execution.allow_worktrees true");
    }
    return {};
}

}  // namespace sandbox
