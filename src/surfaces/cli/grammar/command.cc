#include "surfaces/cli/grammar/command.h"

#include "base/text.h"
#include "surfaces/cli/grammar/help.h"
#include "surfaces/cli/grammar/manual.h"
#include "surfaces/cli/grammar/options.h"

namespace cli {
namespace {

constexpr std::string_view kFooter = R"(
Examples:
  holon run "make the failing test pass"
  holon run --agent main --create-agent "read the README and remember what this is"
  holon run --json "list the TODOs" | jq .final_text
  holon tui
  holon daemon start && holon prompt "how far are you?" && holon tail -f
  holon transcript --agent main
  holon doctor
  holon config set model.default openrouter/some/model
  holon config credentials set work --kind api_key
  holon plan preview tidy.yaml --vault ~/notes
  holon plan run tidy.yaml --vault ~/notes

Environment:
  HOLON_HOME    where everything is kept (default ~/.holon)
  HOLON_MODEL   provider/model to ask, for instance openrouter/some/model; when unset, the
                first provider that has a key (see holon doctor)
  HOLON_CONTROL_TOKEN
                the control token of a runtime that asks for one

Something is wrong: holon run --json, holon daemon status, holon daemon logs, holon status, tail and
transcript, holon tui, holon serve; in this order.

Exit codes:
  0 success   1 error   2 usage
  3 the turn or plan failed, or went only in part; gate check rejected the document
  4 round limit reached   5 waiting, not done (a plan: for approval)   6 the plan has faults
  130 interrupted (resume with --resume, or holon plan resume))";

const std::map<std::string, domain::TrustLevel> kTrustLevels{
    {"trusted-operator", domain::TrustLevel::TrustedOperator},
    {"trusted-system", domain::TrustLevel::TrustedSystem},
    {"trusted-integration", domain::TrustLevel::TrustedIntegration},
    {"untrusted-external", domain::TrustLevel::UntrustedExternal}};

// Which options make no sense together.
void check_run(const RunCommand& run) {
    const auto& request = run.request;
    if (request.create_agent && !request.agent)
        throw CLI::RequiresError("--create-agent", "--agent");
    if (request.template_ && !request.create_agent)
        throw CLI::RequiresError("--template", "--create-agent");
    if (request.resume && !request.agent && !run.continues)
        throw CLI::RequiresError("--resume", "--agent");
    if (run.continues && request.agent) throw CLI::ExcludesError("--continue", "--agent");
}

void add_run(CLI::App& app, Invocation& invocation) {
    auto run = std::make_shared<RunCommand>();
    auto& request = run->request;
    auto* sub = app.add_subcommand("run", "Give an agent one prompt and wait for the answer");
    sub->add_option("text", request.text,
                    "What to do; what is piped in is added, and - is only that");
    sub->add_option("--agent", request.agent, "Use this agent instead of a temporary one");
    sub->add_flag("--create-agent", request.create_agent, "Create the agent if it does not exist");
    sub->add_option("--template", request.template_,
                    "What to create the agent from; see holon templates list");
    sub->add_flag("--continue", run->continues, "Continue the last run without --agent");
    sub->add_flag("--list", run->list, "List the runs without --agent that are kept");
    sub->add_option("--limit", run->limit, "How many to list")
        ->check(CLI::Range(std::int64_t{1}, service::kRecentRunsMax))
        ->capture_default_str();
    sub->add_flag("--resume", request.resume, "Resume the interrupted work of --agent");
    sub->add_option("--model", request.model, "Ask this model: provider/model; the agent keeps it");
    add_trust(*sub, request.trust);
    sub->add_option("--max-turns", request.max_turns, "Ask the model at most this often")
        ->check(CLI::Range(std::int64_t{1}, std::int64_t{100'000}));
    sub->add_option("--workspace-root", request.workspace_root,
                    "The project folder (default: here)");
    sub->add_option("--cwd", request.cwd, "Working directory inside the project");
    sub->add_option("--home", invocation.home, kHomeHelp);
    add_sandbox(*sub, invocation);
    sub->add_flag_callback(
        "--no-wait-for-tasks", [run] { run->request.wait_for_tasks = false; },
        "Do not wait for background tasks of --agent");
    sub->add_option_function<std::string>(
           "--output-format",
           [run](const std::string& format) {
               run->json = format == "json";
               run->stream_json = format == "stream-json";
           },
           "How the result is printed")
        ->check(CLI::IsMember({"text", "json", "stream-json"}));
    sub->add_flag("--json", run->json, "The same as --output-format json");
    sub->add_flag("--plain", invocation.plain, kPlainHelp);
    sub->callback([&invocation, run] {
        check_run(*run);
        invocation.command = Command(*run);
    });
    sub->footer(
        "\nExamples:\n"
        "  holon run \"make the failing test pass\"\n"
        "  git diff | holon run \"review this\"\n"
        "  holon run --continue \"now write the tests\"");
}

// Where a task is started, its summary may be any word, also one that names a command.
void free_summary(CLI::App& app, std::span<const char* const> words) {
    const bool starts = !words.empty() && std::string_view(words[0]) == "task" &&
                        std::ranges::any_of(words, [](std::string_view word) {
                            return word == "--cmd" || word.starts_with("--cmd=");
                        });
    if (!starts) return;
    auto* task = app.get_subcommand("task");
    for (auto* verb : task->get_subcommands({})) task->remove_subcommand(verb);
}

// The error for an option that the command does not have; nothing when something else is wrong.
std::optional<Stop> unknown_option(const CLI::App& app, std::span<const char* const> words) {
    const CLI::App* command = &app;
    for (const std::string_view word : words) {
        if (word == "--") return std::nullopt;
        const auto subs = command->get_subcommands(
            [&](const CLI::App* sub) { return sub->check_name(std::string(word)); });
        if (!subs.empty()) command = subs.front();
        if (!word.starts_with("--")) continue;
        const std::string name(word.substr(2, word.find('=') - 2));
        std::vector<std::string> known;
        for (const auto* option : command->get_options())
            for (const auto& one : option->get_lnames()) known.push_back(one);
        if (std::ranges::find(known, name) != known.end()) continue;
        const std::string near = base::nearest(name, known);
        return Stop{
            fmt::format("Error: {} has no option '--{}'{}; see {} --help\n", path_of(*command),
                        base::printable(name),
                        near.empty() ? "" : " (did you mean --" + near + "?)", path_of(*command)),
            Exit::Usage};
    }
    return std::nullopt;
}

// The error for the first of `words` that is not a command although one is required, or nothing
// when all are. `above` are the words before them.
std::optional<Stop> unknown_command(const CLI::App& app, std::span<const char* const> words,
                                    const std::string& above = "") {
    const std::string_view word = words.empty() ? "" : words[0];
    std::vector<std::string> names;
    for (const auto* known : app.get_subcommands({})) {
        names.push_back(known->get_name());
        for (const auto& alias : known->get_aliases()) names.push_back(alias);
    }
    if (word.empty() || word.starts_with('-') || app.get_require_subcommand_min() == 0)
        return std::nullopt;
    if (std::ranges::find(names, word) != names.end())
        return unknown_command(*app.get_subcommand(std::string(word)), words.subspan(1),
                               above + std::string(word) + " ");
    const std::string near = base::nearest(word, names);
    return Stop{
        fmt::format("Error: there is no command '{}{}'{}; see holon help{}\n", above,
                    base::printable(word), near.empty() ? "" : " (did you mean " + near + "?)",
                    above.empty() ? "" : " " + std::string(base::trim(above))),
        Exit::Usage};
}

// `holon help`, `help COMMAND…`, `help --man` and `completion SHELL`: text made from the table of
// commands. Nothing when it is another command.
std::optional<Stop> about_the_program(const CLI::App& app, std::span<const char* const> words) {
    const std::string_view word = words.empty() ? "" : words[0];
    if (word == "completion") {
        const auto text = completion(app, words.size() == 2 ? words[1] : "");
        if (!text.empty()) return Stop{text, Exit::Success};
        return Stop{"Error: name a shell: holon completion bash, zsh or fish\n", Exit::Usage};
    }
    if (word != "help") return std::nullopt;
    if (words.size() == 2 && std::string_view(words[1]) == "--man")
        return Stop{man_page(app), Exit::Success};
    const CLI::App* topic = &app;
    for (const char* name : words.subspan(1)) {
        const auto named = topic->get_subcommands(
            [&](const CLI::App* candidate) { return candidate->check_name(name); });
        topic = named.empty() ? nullptr : named.front();
        if (!topic)
            return Stop{fmt::format("Error: there is no command '{}'; see holon help\n",
                                    base::printable(name)),
                        Exit::Usage};
    }
    return Stop{topic->help(), Exit::Success};
}

}  // namespace

void add_trust(CLI::App& sub, domain::TrustLevel& trust) {
    sub.add_option("--trust", trust, "How far the prompt is trusted")
        ->transform(
            CLI::CheckedTransformer(kTrustLevels)
                .description(
                    "{trusted-operator,trusted-system,trusted-integration,untrusted-external}"))
        ->default_str("trusted-operator");
}

bool works_without_runtime(const Command& command) {
    struct Works {
        bool operator()(const PromptCommand&) const { return false; }
        bool operator()(const TaskCommand& task) const {
            return task.verb == TaskVerb::List || task.verb == TaskVerb::Output;
        }
        bool operator()(const TimerCommand& timer) const { return timer.list; }
        // Each is one commit, which the next daemon acts on.
        bool operator()(const WorkCommand&) const { return true; }
        bool operator()(const WaitListCommand&) const { return true; }
        bool operator()(const TemplatesCommand&) const { return true; }
        bool operator()(const SkillCommand&) const { return true; }
        bool operator()(const MemorySearchCommand&) const { return true; }
        bool operator()(const MemoryShowCommand&) const { return true; }
        bool operator()(const SearchCommand&) const { return true; }
        bool operator()(const LifecycleCommand& lifecycle) const {
            return lifecycle.action == service::LifecycleAction::Recover ||
                   lifecycle.action == service::LifecycleAction::RecoverDropMessage;
        }
        bool operator()(const AbortCommand&) const { return false; }
        bool operator()(const CompactCommand&) const { return true; }
        bool operator()(const UndoCommand&) const { return true; }
        bool operator()(const WorkspaceAttachCommand&) const { return false; }
        bool operator()(const WorkspaceExitCommand&) const { return false; }
        bool operator()(const WorkspaceDetachCommand&) const { return false; }
        bool operator()(const TriggerCommand&) const { return false; }
        bool operator()(const WebhookCommand&) const { return false; }
        bool operator()(const TailCommand& tail) const { return !tail.follow; }
        bool operator()(const EventsCommand& events) const { return !events.follow; }
        bool operator()(const RunCommand&) const { return true; }
        bool operator()(const StatusCommand&) const { return true; }
        bool operator()(const TranscriptCommand&) const { return true; }
        bool operator()(const AgentListCommand&) const { return true; }
        bool operator()(const AgentModelGetCommand&) const { return true; }
        bool operator()(const AgentModelSetCommand&) const { return true; }
        bool operator()(const AgentModelClearCommand&) const { return true; }
        bool operator()(const AgentCreateCommand&) const { return true; }
        bool operator()(const AgentMoveCommand&) const { return true; }
        bool operator()(const AgentDeleteCommand&) const { return true; }
        bool operator()(const DebugPromptCommand&) const { return true; }
        bool operator()(const DebugLatencyCommand&) const { return true; }
    };
    return std::visit(Works{}, command);
}

namespace {

using Add = void (*)(CLI::App& app, Invocation& invocation);

// Commands whose options one function adds. A process that runs one of them needs no other.
constexpr std::pair<std::string_view, Add> kAlone[] = {
    {"run", add_run},     {"agent", add_agents},    {"daemon", add_daemon}, {"serve", add_daemon},
    {"tui", add_tui},     {"plan", add_plans},      {"gate", add_gate},     {"mcp", add_mcp},
    {"store", add_store}, {"config", add_settings}, {"work", add_work}};

void add_commands(CLI::App& app, Invocation& invocation, std::span<const char* const> words) {
    const std::string_view first = words.empty() ? "" : words.front();
    for (const auto& [command, add] : kAlone)
        if (command == first) return add(app, invocation);
    for (const Add add :
         {add_run, add_readers, add_agents, add_control, add_work, add_skills, add_searches,
          add_daemon, add_tui, add_plans, add_settings, add_gate, add_store, add_mcp})
        add(app, invocation);
    app.add_subcommand("completion", "Print completions for bash, zsh or fish");
    app.add_subcommand("help", "Show this help, that of a command, or the manual page (--man)");
    free_summary(app, words);
}

}  // namespace

std::expected<Invocation, Stop> parse(int argc, const char* const* argv) {
    Invocation invocation;
    CLI::App app("holon keeps agents alive: it runs model turns with tools and loses no work",
                 "holon");
    app.set_version_flag("-V,--version", "holon " HOLON_VERSION);
    app.footer(std::string(kFooter));
    app.formatter(help_formatter());
    app.require_subcommand(1);
    const std::span words(argv + 1, static_cast<std::size_t>(std::max(argc - 1, 0)));
    add_commands(app, invocation, words);
    if (auto stop = about_the_program(app, words)) return std::unexpected(*stop);
    if (auto stop = unknown_command(app, words)) return std::unexpected(*stop);
    if (argc <= 1) return std::unexpected(Stop{app.help(), Exit::Usage});
    try {
        app.parse(argc, argv);
    } catch (const CLI::ExtrasError& error) {
        if (auto stop = unknown_option(app, words)) return std::unexpected(*stop);
        return std::unexpected(Stop{fmt::format("Error: {}\n", error.what()), Exit::Usage});
    } catch (const CLI::ParseError& error) {
        std::ostringstream out, err;
        if (app.exit(error, out, err) == 0)
            return std::unexpected(Stop{out.str() + err.str(), Exit::Success});
        return std::unexpected(
            Stop{fmt::format("Error: {}; add --help to see how it is used\n", error.what()),
                 Exit::Usage});
    }
    return invocation;
}

}  // namespace cli
