// commands.*: programs that were configured under a name, run as ExecCommand runs them.
#include <algorithm>
#include <map>

#include "base/text.h"
#include "exec/tools/builtin/builtin.h"
#include "exec/tools/plan_tools/vault_tool.h"

namespace plan_tools {
namespace {

constexpr const char* kCategory = "commands";
constexpr std::size_t kErrorOutputChars = 400;

struct ListArgs {};
BOOST_DESCRIBE_STRUCT(ListArgs, (), ())

struct ListedCommand {
    std::string name;
    std::string description;
    std::vector<std::string> parameters;
};
BOOST_DESCRIBE_STRUCT(ListedCommand, (), (name, description, parameters))
struct ListResult {
    std::vector<ListedCommand> commands;
};
BOOST_DESCRIBE_STRUCT(ListResult, (), (commands))

struct RunArgs {
    std::string name;
    std::map<std::string, std::string> args;
    bool allowFailure{false};
};
BOOST_DESCRIBE_STRUCT(RunArgs, (), (name, args, allowFailure))
constexpr auto describe_fields(const RunArgs*) {
    return std::to_array<base::FieldDoc>(
        {{"name", "A command of commands.list.", R"("minLength":1)"},
         {"args", "A value for each of its parameters.", R"("default":{})", true},
         {"allowFailure", "Give the exit status as a result instead of failing on it.",
          R"("default":false)", true}});
}

// Calls `piece` with each plain part of `text` and each "{name}" in it.
void each_piece(std::string_view text,
                const std::function<void(std::string_view plain, std::string_view name)>& piece) {
    while (!text.empty()) {
        const std::size_t open = text.find('{');
        const std::size_t close = open == std::string_view::npos ? open : text.find('}', open);
        if (close == std::string_view::npos || close == open + 1) return piece(text, "");
        piece(text.substr(0, open), text.substr(open + 1, close - open - 1));
        text.remove_prefix(close + 1);
    }
}

std::vector<std::string> parameters(const NamedCommand& command) {
    std::vector<std::string> names;
    for (const auto& argument : command.argv)
        each_piece(argument, [&](std::string_view, std::string_view name) {
            if (!name.empty() && std::ranges::find(names, name) == names.end())
                names.emplace_back(name);
        });
    return names;
}

// A value is put in whole and never read again: braces in it mean nothing.
std::vector<std::string> filled(const NamedCommand& command,
                                const std::map<std::string, std::string>& values) {
    std::vector<std::string> argv;
    for (const auto& argument : command.argv) {
        std::string text;
        each_piece(argument, [&](std::string_view plain, std::string_view name) {
            text += plain;
            if (!name.empty()) text += values.at(std::string(name));
        });
        argv.push_back(std::move(text));
    }
    return argv;
}

std::string shown_line(const std::vector<std::string>& argv) {
    std::string line;
    for (const auto& argument : argv) {
        const bool plain =
            !argument.empty() &&
            argument.find_first_of(" \t\n'\"\\$`*?;&|<>()[]{}#!~") == std::string::npos;
        line += (line.empty() ? "" : " ") + (plain ? argument : fmt::format("'{}'", argument));
    }
    return base::printable(base::to_utf8(line));
}

class CommandsRun final : public tools::Tool {
public:
    explicit CommandsRun(const Kit& kit) : shell_(kit.host.shell), commands_(kit.host.commands) {}
    const tools::ToolSpec& spec() const override { return spec_; }

    std::optional<domain::ToolError> check(const json::value& args) const override {
        const auto decoded = base::from_json<RunArgs>(args);
        if (!decoded)  // A preview may be asked before the schema was checked.
            return tools::invalid_input(spec_.name, "", decoded.error().message, "Send a name.");
        const RunArgs& wanted = *decoded;
        const NamedCommand* command = find(wanted.name);
        if (!command) {
            std::vector<std::string> names;
            for (const auto& known : commands_) names.push_back(known.name);
            const std::string near = base::nearest(wanted.name, names);
            return domain::ToolError{
                .kind = "not_found",
                .message = fmt::format("There is no command named {}.", vault::shown(wanted.name)),
                .recovery_hint = near.empty() ? "See commands.list for those there are."
                                              : fmt::format("Did you mean {}?", near)};
        }
        const auto names = parameters(*command);
        for (const auto& name : names)
            if (!wanted.args.contains(name))
                return tools::invalid_input(
                    spec_.name, "args", fmt::format("{} needs the argument {}.", wanted.name, name),
                    "Give a value for each parameter.");
        for (const auto& [name, value] : wanted.args) {
            if (std::ranges::find(names, name) == names.end())
                return tools::invalid_input(
                    spec_.name, "args",
                    fmt::format("{} has no parameter {}.", wanted.name, vault::shown(name)),
                    "See commands.list for its parameters.");
            if (value.contains('\0'))
                return tools::invalid_input(spec_.name, "args",
                                            fmt::format("The argument {} has a zero byte.", name),
                                            "Send text.");
        }
        return std::nullopt;
    }

    std::shared_ptr<tools::Running> start(const domain::ToolCall& call,
                                          const tools::ExecutionContext& place,
                                          results::ArtifactSink& sink, tools::Done done) override {
        const auto args = base::from_json<RunArgs>(call.args).value();
        const NamedCommand& command = *find(args.name);  // check() has found it.
        auto argv = filled(command, args.args);
        builtin::CommandSpec spec{.cmd = shown_line(argv),
                                  .argv = std::move(argv),
                                  .instructed_by = call.authority_class};
        spec.timeout_ms = command.timeout_ms;
        if (call.timeout_ms && (!spec.timeout_ms || *call.timeout_ms < *spec.timeout_ms))
            spec.timeout_ms = call.timeout_ms;
        return builtin::start_command(
            shell_, std::move(spec), spec_.name, place, sink,
            [name = args.name, lenient = args.allowFailure,
             done = std::move(done)](tools::Outcome outcome) mutable {
                done(lenient ? std::move(outcome)
                             : held_to_success(std::move(outcome), "The command " + name));
            });
    }

    std::vector<std::string> paths(const json::value&,
                                   const tools::ExecutionContext& place) const override {
        return {place.workspace.cwd};
    }

    base::Result<json::object> preview(const json::value& args,
                                       const tools::ExecutionContext&) const override {
        if (const auto fault = check(args))
            return base::fail(base::ErrorCode::InvalidInput, "{}", fault->message);
        const auto wanted = base::from_json<RunArgs>(args).value();
        return json::object{
            {"commands", json::array{shown_line(filled(*find(wanted.name), wanted.args))}}};
    }

private:
    const NamedCommand* find(const std::string& name) const {
        const auto found = std::ranges::find(commands_, name, &NamedCommand::name);
        return found == commands_.end() ? nullptr : &*found;
    }

    builtin::Shell& shell_;
    std::vector<NamedCommand> commands_;
    const tools::ToolSpec spec_{.name = "commands.run",
                                .description = "Run a configured command by its name.",
                                .family = tools::Family::LocalEnvironment,
                                .risk = domain::RiskLevel::Commands,
                                .category = kCategory,
                                .runs_behind = tools::RunsBehind::AgentsBoundary,
                                .plans_only = true,
                                .input_schema = base::schema_of<RunArgs>(),
                                .output_schema = builtin::command_schema(),
                                .render = builtin::render_command,
                                .user_message = builtin::command_message};
};

}  // namespace

tools::Outcome held_to_success(tools::Outcome outcome, const std::string& name) {
    if (!outcome.completed || outcome.status != domain::ResultStatus::Ok) return outcome;
    const auto* output = dynamic_cast<const builtin::CommandOutput*>(outcome.completed->get());
    if (!output || output->exit.exit_code == 0) return outcome;
    const auto& err = output->exit.err;
    const std::string tail = err.spilled ? err.tail : err.head;
    domain::ToolError error{
        .kind = "command_failed",
        .message =
            output->exit.exit_code
                ? fmt::format("{} ended with status {}.", name, *output->exit.exit_code)
                : fmt::format("{} was ended by signal {}.", name, output->exit.signal.value_or(0)),
        .details =
            json::object{
                {"name", name},
                {"stderr",
                 base::printable(base::last_chars(base::to_utf8(tail), kErrorOutputChars), true)}},
        .recovery_hint = "Check its error output, or call it with allowFailure: true."};
    if (output->exit.exit_code) error.details->as_object()["exit_status"] = *output->exit.exit_code;
    outcome.completed = std::unexpected(std::move(error));
    return outcome;
}

void add_commands(tools::Registry& registry, const Kit& kit) {
    for (const auto& command : kit.host.commands)
        CHECK(!command.name.empty() && !command.argv.empty(), "a command has a name and a program");
    registry.add(compute_tool(
        kit,
        about<ListArgs, ListResult>("commands.list", kCategory,
                                    "List the commands that are configured."),
        [commands = kit.host.commands](const Request&) -> vault::Outcome<Answer> {
            ListResult result;
            for (const auto& command : commands)
                result.commands.push_back({command.name, command.description, parameters(command)});
            return answer(fmt::format("There are {} commands", commands.size()), result);
        }));
    registry.add(std::make_unique<CommandsRun>(kit));
}

}  // namespace plan_tools
