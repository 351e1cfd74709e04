#include "exec/tools/builtin/commands/shell.h"

#include <algorithm>

#include "base/os/files.h"
#include "base/text.h"
#include "exec/sandbox/permit.h"
#include "exec/tools/builtin/commands/left_behind.h"
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

void set_variable(base::ProcessSpec& process, const std::string& name, const std::string& value) {
    std::erase_if(process.environment, [&](const auto& one) { return one.first == name; });
    process.environment.emplace_back(name, value);
}

// What a terminal needs; the command's own environment decides where it says something.
void add_terminal(base::ProcessSpec& process) {
    process.environment.emplace_back("HOLON_PROCESS_GROUP", "1");
    const auto is_term = [](const auto& variable) { return variable.first == "TERM"; };
    if (std::ranges::none_of(process.environment, is_term))
        process.environment.emplace_back("TERM", "dumb");
}

domain::ToolError root_is_gone(const tools::ExecutionContext& place, std::string_view tool) {
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
    const tools::ExecutionContext& place, const std::optional<std::string>& workdir,
    std::string_view tool) {
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
    if (options_.agent_boundaries.empty()) return options_.boundary;
    const auto found = options_.agent_boundaries.find(options_.settings_of(agent));
    return found == options_.agent_boundaries.end() ? options_.boundary : found->second;
}

std::optional<domain::ToolError> Shell::refusal(const tools::ExecutionContext& place,
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

// Behind a boundary there are no start files of the user, and those of the system would replace the
// search path: a confined command starts with the variables of the runtime and of a login that was
// captured outside, as far as it may have them.
// Returns the definitions of functions that the shell is to know behind the boundary.
std::string Shell::choose_program(base::ProcessSpec& process, const CommandSpec& spec,
                                  bool is_confined) const {
    std::string functions;
    const std::string shell = spec.shell.value_or(options_.default_shell);
    // On a terminal start files may do other things.
    const bool uses_capture = options_.login && spec.login && spec.argv.empty() && !spec.tty;
    if (is_confined) {
        if (uses_capture) {
            auto start = options_.login->confined(shell, process.environment, spec.cmd);
            process.environment = std::move(start.environment);
            functions = std::move(start.functions);
        }
        process.environment = sandbox::allowed_environment(std::move(process.environment));
        process.argv = {shell, "-c", spec.cmd};
    } else if (uses_capture) {
        set_variable(process, "HOLON_RUNTIME", "1");
        auto start = options_.login->start(shell, process.cwd, process.environment, spec.cmd);
        process.argv = {shell, start ? start->flag : "-lc", spec.cmd};
        if (start) process.environment = std::move(start->environment);
        if (start && start->preamble) process.files = {std::move(start->preamble)};
    } else {
        process.argv = {shell, spec.login ? "-lc" : "-c", spec.cmd};
    }
    if (!spec.argv.empty()) process.argv = spec.argv;
    return functions;
}

std::expected<base::ProcessSpec, domain::ToolError> Shell::prepare(
    const CommandSpec& spec, const tools::ExecutionContext& place, std::string_view tool) const {
    if (auto refused = refusal(place, tool)) return std::unexpected(std::move(*refused));
    auto workdir = resolve_workdir(place, spec.workdir, tool);
    if (!workdir) return std::unexpected(workdir.error());
    const auto& behind = boundary(place.agent_id);
    base::ProcessSpec process{.cwd = std::move(*workdir), .environment = options_.environment};
    auto functions = choose_program(process, spec, behind.confines());
    const auto& home = place.owner_home.empty() ? place.agent_home : place.owner_home;
    for (const auto& [name, value] : {std::pair<const char*, std::string>{"HOLON_RUNTIME", "1"},
                                      {"HOLON_AGENT_ID", place.agent_id.value},
                                      {"HOLON_AGENT_HOME", home.string()}})
        set_variable(process, name, value);
    if (!spec.mark.empty()) set_variable(process, kCallVariable, spec.mark);
    if (spec.tty) add_terminal(process);
    if (spec.timeout_ms) process.timeout = std::chrono::milliseconds(*spec.timeout_ms);
    const auto& metadata = place.workspace.projection_metadata;
    auto enclosed = behind.enclose(
        std::move(process),
        {.execution_root = place.workspace.execution_root,
         .network_log = spec.network_log,
         .agent_home = home,
         .has_operators_network = spec.instructed_by <= domain::AuthorityClass::RuntimeInstruction,
         .worktree_git_dir = metadata ? metadata->git_dir : "",
         .shell_functions = std::move(functions)});
    if (!enclosed) return std::unexpected(not_confined(enclosed.error(), behind, tool));
    return std::move(*enclosed);
}

Shell::Room Shell::reserve_room(const CommandSpec& spec, results::ArtifactSink& sink) const {
    return {.memory_bytes_max =
                memory_bytes(effective_output_tokens(spec.max_output_tokens, options_.output)),
            .stdout_spill = sink.reserve("stdout"),
            .stderr_spill = sink.reserve("stderr")};
}

std::expected<void, domain::ToolError> Shell::make_room(const Room& room) {
    if (const auto made = base::make_folders(room.stdout_spill.parent_path(), 0700); !made)
        return std::unexpected(
            domain::ToolError{.kind = "tool_execution_failed", .message = made.error().message});
    return {};
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

// One command from its preparation to its end. What is under way holds it; its caller does not.
class Shell::Attempt final : public std::enable_shared_from_this<Attempt> {
public:
    class Handle final : public base::ProcessRunner::Handle {
    public:
        explicit Handle(std::weak_ptr<Attempt> attempt) : attempt_(std::move(attempt)) {}
        void cancel() override {
            if (const auto attempt = attempt_.lock()) attempt->cancel();
        }

    private:
        std::weak_ptr<Attempt> attempt_;
    };

    Attempt(Shell& shell, std::string tool, std::move_only_function<void(Finished)> done)
        : shell_(shell), tool_(std::move(tool)), done_(std::move(done)) {}

    void begin(const CommandSpec& spec, const tools::ExecutionContext& place, const Room& room) {
        output_->cmd = spec.cmd;
        output_->max_output_tokens = spec.max_output_tokens;
        output_->confined = shell_.boundary(place.agent_id).confines();
        output_->network_log = spec.network_log;
        output_->stdout_spill = room.stdout_spill;
        output_->stderr_spill = room.stderr_spill;
        shell_.offload<base::ProcessSpec>(
            [&shell = shell_, spec, place, room,
             tool = tool_]() -> std::expected<base::ProcessSpec, domain::ToolError> {
                auto process = shell.prepare(spec, place, tool);
                if (!process) return process;
                if (const auto made = make_room(room); !made) return std::unexpected(made.error());
                process->memory_bytes_max = room.memory_bytes_max;
                process->stdout_spill = room.stdout_spill;
                process->stderr_spill = room.stderr_spill;
                return process;
            },
            [self = shared_from_this()](auto process) { self->start(std::move(process)); });
    }

private:
    void cancel() {
        is_cancelled_ = true;
        if (process_) process_->cancel();
    }

    void start(std::expected<base::ProcessSpec, domain::ToolError> process) {
        if (!process) return done_(std::unexpected(std::move(process).error()));
        if (is_cancelled_)
            return done_(std::unexpected(domain::ToolError{
                .kind = kCancelled, .message = "The command was cancelled before it started."}));
        auto started =
            shell_.runner_.start(*process, [self = shared_from_this()](base::ProcessExit exit) {
                self->process_.reset();
                self->end(std::move(exit));
            });
        if (!started)
            return done_(std::unexpected(spawn_failed(*process, tool_, started.error().message)));
        process_ = *started;
    }

    void end(base::ProcessExit exit) {
        output_->exit = std::move(exit);
        using Output = std::unique_ptr<CommandOutput>;
        shell_.offload<Output>(
            [output = std::move(output_)]() mutable -> std::expected<Output, domain::ToolError> {
                read_denials(*output);
                return std::move(output);
            },
            [self = shared_from_this()](Finished finished) { self->done_(std::move(finished)); });
    }

    Shell& shell_;
    std::string tool_;
    std::move_only_function<void(Finished)> done_;
    std::unique_ptr<CommandOutput> output_{std::make_unique<CommandOutput>()};
    std::shared_ptr<base::ProcessRunner::Handle> process_;
    bool is_cancelled_{false};
};

std::shared_ptr<base::ProcessRunner::Handle> Shell::run(
    const CommandSpec& spec, const tools::ExecutionContext& place, results::ArtifactSink& sink,
    std::string_view tool, std::move_only_function<void(Finished)> done) {
    CommandSpec logged = spec;
    if (boundary(place.agent_id).has_allow_list()) logged.network_log = sink.reserve("network");
    const auto attempt = std::make_shared<Attempt>(*this, std::string(tool), std::move(done));
    attempt->begin(logged, place, reserve_room(spec, sink));
    return std::make_shared<Attempt::Handle>(attempt);
}

tools::CommandWords words_of(std::string cmd, const std::optional<std::string>& workdir,
                             const tools::ExecutionContext& place) {
    return {std::move(cmd), std::filesystem::path(place.workspace.cwd) / workdir.value_or("")};
}

void read_denials(CommandOutput& output) {
    std::error_code failed;
    auto& log = output.network_log;
    if (!log.empty() && std::filesystem::file_size(log, failed) == 0)
        std::filesystem::remove(log, failed);
    if (failed || !std::filesystem::exists(log, failed)) log.clear();
    if (output.confined)
        output.denials = sandbox::denials_of(log, output.exit.exit_code, output.exit.signal);
}

std::vector<sandbox::Denial> denials_of(const domain::ToolError& error) {
    if (error.kind != "policy_denied" || !error.details) return {};
    const auto rule = base::enum_from<sandbox::Rule>(base::string_at(*error.details, "rule"));
    if (!rule) return {};
    return {{*rule, "a command"}};
}

// The two looks at a folder, before and after what runs in between. In the background.
struct Shell::Looks {
    std::filesystem::path root;
    bool is_home{false};  // Of an agent: what the runtime keeps there is not the command's doing.
    bool is_too_large{false};
    std::vector<tools::CommandWords> commands;
    tools::FolderSnapshot before{};
    std::vector<tools::NamedFile> named{};
    Observed observed{};

    tools::FolderSnapshot snapshot() const {
        const std::span<const char* const> own(sandbox::kRuntimeFolders);
        return tools::take_snapshot(root, tools::kObservedEntriesMax,
                                    is_home ? own : std::span<const char* const>());
    }
    void begin() {
        if (!is_too_large) before = snapshot();
        named = tools::named_files(root, commands);
    }
    void end() {
        observed.effects = before.complete ? tools::compare(before, snapshot())
                                           : domain::Effects{.observed = false};
        auto seen = tools::seen_files(root, named, observed.effects);
        if (!seen.files.empty()) observed.seen = std::move(seen);
    }
};

void Shell::observed(const tools::ExecutionContext& place,
                     std::vector<tools::CommandWords> commands,
                     std::move_only_function<void(base::Job finished)> body,
                     std::move_only_function<void(Observed)> done) {
    auto looks = std::make_shared<Looks>();
    looks->root = place.workspace.execution_root;
    looks->is_home = looks->root == place.agent_home || looks->root == place.owner_home;
    looks->is_too_large = std::ranges::find(too_large_, looks->root) != too_large_.end();
    looks->commands = std::move(commands);
    loop_.offload([looks] { looks->begin(); },
                  [this, looks, body = std::move(body), done = std::move(done)]() mutable {
                      if (!looks->before.complete && !looks->is_too_large)
                          too_large_.push_back(looks->root);
                      body([this, looks, done = std::move(done)]() mutable {
                          loop_.offload([looks] { looks->end(); },
                                        [looks, done = std::move(done)]() mutable {
                                            done(std::move(looks->observed));
                                        });
                      });
                  });
}

}  // namespace builtin
