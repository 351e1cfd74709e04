#include "exec/tools/builtin/commands/shell.h"

#include <algorithm>

#include "base/os/files.h"
#include "base/text.h"
#include "exec/sandbox/permit.h"
#include "exec/tools/observe.h"

namespace builtin {
namespace {

constexpr std::size_t kMemoryBytesMin = 64 * 1024;
constexpr std::size_t kMemoryBytesMax = 1024 * 1024;

// Enough memory to show the whole budget in four-byte characters, and no more.
std::size_t memory_bytes(std::int64_t tokens) {
    return std::clamp(static_cast<std::size_t>(tokens) * kCharsPerToken * 4, kMemoryBytesMin,
                      kMemoryBytesMax);
}

bool is_inside(const std::filesystem::path& path, const std::filesystem::path& root) {
    const auto [end, ignored] = std::mismatch(root.begin(), root.end(), path.begin(), path.end());
    return end == root.end();
}

domain::ToolError not_confined(const base::Error& error, const sandbox::Boundary& boundary,
                               std::string_view tool) {
    json::object details{{"tool_name", tool},
                         {"rule", base::enum_name(sandbox::Rule::Unavailable)},
                         {"backend", base::enum_name(boundary.settings().backend)}};
    if (auto lacks = sandbox::missing(boundary.machine()); !lacks.empty())
        details["missing"] = base::to_json(lacks);
    return {.kind = "policy_denied",
            .message = error.message,
            .details = std::move(details),
            .recovery_hint =
                "Only the operator can change this; holon doctor says what is "
                "enforced. Do without the command."};
}

domain::ToolError not_permitted(const base::Error& error, std::string_view tool) {
    return {.kind = "policy_denied",
            .message = error.message,
            .details = json::object{{"tool_name", tool},
                                    {"rule", base::enum_name(sandbox::Rule::ExecutionPolicy)}},
            .recovery_hint = "Only the operator can change this. Do without the command."};
}

domain::ToolError root_is_gone(const tools::Place& place, std::string_view tool) {
    return {.kind = "tool_execution_failed",
            .message = fmt::format("The command was not run: the execution root {} is gone.",
                                   place.workspace.execution_root),
            .details = json::object{{"tool_name", tool},
                                    {"execution_root", place.workspace.execution_root}},
            .recovery_hint =
                "Choose another workspace with UseWorkspace; workspace_id agent_home is "
                "always there."};
}

}  // namespace

std::expected<std::filesystem::path, domain::ToolError> resolve_workdir(
    const tools::Place& place, const std::optional<std::string>& workdir, std::string_view tool) {
    const std::filesystem::path root(place.workspace.execution_root);
    std::filesystem::path cwd(place.workspace.cwd);
    if (!workdir || workdir->empty()) return cwd;
    std::error_code failed;
    const auto real_root = std::filesystem::weakly_canonical(root, failed);
    const bool root_known = !failed;
    auto wanted = std::filesystem::weakly_canonical(cwd / *workdir, failed);
    const std::string shown = base::printable(base::ellipsize(base::to_utf8(*workdir), 200));
    if (!root_known || failed || !is_inside(wanted, real_root))
        return std::unexpected(domain::ToolError{
            .kind = "execution_root_violation",
            .message = fmt::format("The working directory {} is outside the execution root {}.",
                                   shown, root.string()),
            .details = json::object{{"tool_name", tool},
                                    {"field", "workdir"},
                                    {"workdir", shown},
                                    {"attempted_workdir", wanted.string()},
                                    {"execution_root", root.string()},
                                    {"cwd", cwd.string()}},
            .recovery_hint =
                "Leave workdir out, or give a path inside the execution root, relative to cwd."});
    return wanted;
}

Shell::Shell(base::Loop& loop, base::ProcessRunner& runner, ShellOptions options)
    : loop_(loop), runner_(runner), options_(std::move(options)) {}

const sandbox::Boundary& Shell::boundary(const domain::AgentId& agent) const {
    const auto found = options_.agent_boundaries.find(agent.value);
    return found == options_.agent_boundaries.end() ? options_.boundary : found->second;
}

std::optional<domain::ToolError> Shell::refusal(const tools::Place& place,
                                                std::string_view tool) const {
    if (const auto allowed =
            sandbox::permit(options_.execution_of(place.agent_id), sandbox::Use::Process);
        !allowed)
        return not_permitted(allowed.error(), tool);
    const auto& behind = boundary(place.agent_id);
    if (const auto able = behind.check(); !able) return not_confined(able.error(), behind, tool);
    std::error_code failed;
    if (!std::filesystem::is_directory(place.workspace.execution_root, failed) &&
        !std::filesystem::is_directory(place.workspace.cwd, failed))
        return root_is_gone(place, tool);
    return std::nullopt;
}

std::expected<base::ProcessSpec, domain::ToolError> Shell::prepare(const CommandSpec& spec,
                                                                   const tools::Place& place,
                                                                   std::string_view tool) const {
    if (auto refused = refusal(place, tool)) return std::unexpected(std::move(*refused));
    auto workdir = resolve_workdir(place, spec.workdir, tool);
    if (!workdir) return std::unexpected(workdir.error());
    base::ProcessSpec process{
        .argv = {spec.shell.value_or(options_.default_shell), spec.login ? "-lc" : "-c", spec.cmd},
        .cwd = std::move(*workdir),
        .environment = options_.environment};
    if (!spec.argv.empty()) process.argv = spec.argv;
    const auto& behind = boundary(place.agent_id);
    if (behind.confines())
        std::erase_if(process.environment, [](const auto& variable) {
            return sandbox::is_secret_variable(variable.first);
        });
    process.environment.emplace_back("HOLON_RUNTIME", "1");
    process.environment.emplace_back("HOLON_AGENT_ID", place.agent_id.value);
    process.environment.emplace_back("HOLON_AGENT_HOME", place.agent_home.string());
    if (spec.timeout_ms) process.timeout = std::chrono::milliseconds(*spec.timeout_ms);
    const auto& metadata = place.workspace.projection_metadata;
    auto enclosed =
        behind.enclose(std::move(process), {.execution_root = place.workspace.execution_root,
                                            .network_log = spec.network_log,
                                            .agent_home = place.agent_home,
                                            .worktree_git_dir = metadata ? metadata->git_dir : ""});
    if (!enclosed) return std::unexpected(not_confined(enclosed.error(), behind, tool));
    return std::move(*enclosed);
}

base::Result<Shell::Room> Shell::make_room(const CommandSpec& spec,
                                           results::ArtifactSink& sink) const {
    Room room{.memory_bytes_max =
                  memory_bytes(effective_output_tokens(spec.max_output_tokens, options_.output)),
              .stdout_spill = sink.reserve("stdout"),
              .stderr_spill = sink.reserve("stderr")};
    // Made before the command runs: a spill must not fail for want of a folder.
    TRY(base::make_folders(room.stdout_spill.parent_path(), 0700));
    return room;
}

domain::ToolError Shell::spawn_failed(const base::ProcessSpec& process, std::string_view tool,
                                      const std::string& reason) {
    return {
        .kind = "command_spawn_failed",
        .message = fmt::format("The command could not be started: {}", reason),
        .details = json::object{{"tool_name", tool},
                                {"shell", process.argv.front()},
                                {"workdir", process.cwd.string()},
                                {"error", reason}},
        .recovery_hint = "Leave shell out to use the default one, and check that workdir exists."};
}

std::shared_ptr<base::ProcessRunner::Handle> Shell::run(
    const CommandSpec& spec, const tools::Place& place, results::ArtifactSink& sink,
    std::string_view tool, std::move_only_function<void(Finished)> done) {
    CommandSpec logged = spec;
    if (boundary(place.agent_id).has_allow_list()) logged.network_log = sink.reserve("network");
    auto process = prepare(logged, place, tool);
    if (!process) {
        done(std::unexpected(process.error()));
        return nullptr;
    }
    auto room = make_room(spec, sink);
    if (!room) {
        done(std::unexpected(
            domain::ToolError{.kind = "tool_execution_failed", .message = room.error().message}));
        return nullptr;
    }
    process->memory_bytes_max = room->memory_bytes_max;
    process->stdout_spill = room->stdout_spill;
    process->stderr_spill = room->stderr_spill;
    auto output = std::make_unique<CommandOutput>();
    output->cmd = spec.cmd;
    output->max_output_tokens = spec.max_output_tokens;
    output->confined = boundary(place.agent_id).confines();
    output->network_log = logged.network_log;
    output->stdout_spill = room->stdout_spill;
    output->stderr_spill = room->stderr_spill;
    auto shared_done = std::make_shared<std::move_only_function<void(Finished)>>(std::move(done));
    auto started = runner_.start(
        *process, [output = std::move(output), shared_done](base::ProcessExit exit) mutable {
            output->exit = std::move(exit);
            output->network_log = kept_network_log(output->network_log);
            (*shared_done)(std::move(output));
        });
    if (started) return *started;
    (*shared_done)(std::unexpected(spawn_failed(*process, tool, started.error().message)));
    return nullptr;
}

std::filesystem::path kept_network_log(const std::filesystem::path& log) {
    std::error_code failed;
    if (log.empty() || std::filesystem::file_size(log, failed) > 0) return failed ? "" : log;
    std::filesystem::remove(log, failed);
    return {};
}

std::vector<sandbox::Denial> denials_of(const CommandOutput& output) {
    if (!output.confined) return {};
    return sandbox::denials_of(output.network_log, output.exit.exit_code, output.exit.signal);
}

std::vector<sandbox::Denial> denials_of(const domain::ToolError& error) {
    if (error.kind != "policy_denied" || !error.details) return {};
    const auto rule = base::enum_from<sandbox::Rule>(base::string_at(*error.details, "rule"));
    if (!rule) return {};
    return {{*rule, "a command"}};
}

void Shell::observed(const std::filesystem::path& root,
                     std::move_only_function<void(base::Job finished)> body,
                     std::move_only_function<void(domain::Effects)> done) {
    if (std::ranges::find(too_large_, root) != too_large_.end()) {
        body([done = std::move(done)]() mutable { done({.observed = false}); });
        return;
    }
    auto looks = std::make_shared<tools::FolderSnapshot[]>(2);
    loop_.offload([root, looks] { looks[0] = tools::take_snapshot(root); },
                  [this, root, looks, body = std::move(body), done = std::move(done)]() mutable {
                      if (!looks[0].complete) too_large_.push_back(root);
                      body([this, root, looks, done = std::move(done)]() mutable {
                          loop_.offload(
                              [root, looks] {
                                  if (looks[0].complete) looks[1] = tools::take_snapshot(root);
                              },
                              [looks, done = std::move(done)]() mutable {
                                  done(tools::compare(looks[0], looks[1]));
                              });
                      });
                  });
}

}  // namespace builtin
