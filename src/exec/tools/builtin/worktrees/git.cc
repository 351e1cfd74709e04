#include "exec/tools/builtin/worktrees/git.h"

#include <algorithm>

#include "base/text.h"

namespace builtin {
namespace {

constexpr std::size_t kSaidCharsMax = 300;
constexpr std::size_t kGitOutputBytesMax = 64 * 1024;
// What git needs of the environment. GIT_DIR and its like would lead it somewhere else.
constexpr std::string_view kKept[] = {"PATH", "HOME", "XDG_CONFIG_HOME", "TMPDIR"};
constexpr const char* kSettings[] = {"core.hooksPath=/dev/null", "core.fsmonitor=false",
                                     "protocol.allow=never", "submodule.recurse=false",
                                     "gc.auto=0"};

}  // namespace

base::ProcessSpec git_command(const std::filesystem::path& folder,
                              const std::vector<std::string>& arguments,
                              const std::vector<std::pair<std::string, std::string>>& environment,
                              std::chrono::milliseconds timeout) {
    base::ProcessSpec spec{.argv = {"git"},
                           .cwd = folder,
                           .timeout = timeout,
                           .memory_bytes_max = kGitOutputBytesMax,
                           .stdout_spill = "/dev/null",
                           .stderr_spill = "/dev/null"};
    for (const char* setting : kSettings) spec.argv.insert(spec.argv.end(), {"-c", setting});
    spec.argv.insert(spec.argv.end(), arguments.begin(), arguments.end());
    for (const auto& variable : environment)
        if (std::ranges::find(kKept, variable.first) != std::end(kKept))
            spec.environment.push_back(variable);
    spec.environment.emplace_back("LC_ALL", "C");
    spec.environment.emplace_back("GIT_TERMINAL_PROMPT", "0");
    return spec;
}

domain::ToolError git_failed(const std::string& what, const base::ProcessExit& exit) {
    std::string said(base::trim(base::to_utf8(exit.err.head)));
    if (exit.timed_out)
        said = "it took too long and was ended";
    else if (said.empty())
        said = fmt::format("git ended with {}", exit.exit_code.value_or(-1));
    said = base::printable(base::ellipsize(base::collapse_whitespace(said), kSaidCharsMax));
    return {.kind = "tool_execution_failed",
            .message = fmt::format("{}: {}", what, said),
            .details = json::object{{"tool_name", "UseWorkspace"}, {"timed_out", exit.timed_out}},
            .recovery_hint =
                "Fix what git complains about, choose another isolation_label, or use "
                "mode direct."};
}

}  // namespace builtin
