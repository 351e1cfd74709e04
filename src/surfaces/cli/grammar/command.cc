#include "surfaces/cli/grammar/command.h"

#include "base/text.h"
#include "surfaces/cli/grammar/manual.h"
#include "surfaces/cli/grammar/options.h"

namespace cli {
namespace {

constexpr std::string_view kFooter = R"(
Examples:
  holon run "make the failing test pass"
  holon run --agent main --create-agent "read the README and remember what this is"
  holon run --json "list the TODOs" | jq .final_text
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
transcript, holon tail -f, holon serve; in this order.

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

void add_run(CLI::App& app, Invocation& invocation) {
    auto run = std::make_shared<RunCommand>();
    auto* sub = app.add_subcommand("run", "Give an agent one prompt and wait for the answer");
    sub->add_option("text", run->request.text, "What to do");
    sub->add_option("--agent", run->request.agent, "Use this agent instead of a temporary one");
    sub->add_flag("--create-agent", run->request.create_agent,
                  "Create the agent if it does not exist");
    sub->add_option("--template", run->request.template_,
                    "What to create the agent from; see holon templates list");
    sub->add_flag("--resume", run->request.resume, "Resume the open work of --agent");
    add_trust(*sub, run->request.trust);
    sub->add_option("--max-turns", run->request.max_turns, "Ask the model at most this often")
        ->check(CLI::Range(std::int64_t{1}, std::int64_t{100'000}));
    sub->add_option("--workspace-root", run->request.workspace_root,
                    "The project folder (default: here)");
    sub->add_option("--cwd", run->request.cwd, "Working directory inside the project");
    sub->add_option("--home", invocation.home, "Use this folder instead of HOLON_HOME");
    add_sandbox(*sub, invocation);
    sub->add_flag_callback(
        "--no-wait-for-tasks", [run] { run->request.wait_for_tasks = false; },
        "Exit when the agent sleeps; background tasks of --agent continue");
    sub->add_flag("--json", run->json, "Print one JSON document and nothing else");
    sub->callback([&invocation, run] {
        if (run->request.text.empty() && !run->request.resume) throw CLI::RequiredError("TEXT");
        if (run->request.create_agent && !run->request.agent)
            throw CLI::RequiresError("--create-agent", "--agent");
        if (run->request.template_ && !run->request.create_agent)
            throw CLI::RequiresError("--template", "--create-agent");
        if (run->request.resume && !run->request.agent)
            throw CLI::RequiresError("--resume", "--agent");
        invocation.command = Command(*run);
    });
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
        bool operator()(const TaskCommand& task) const { return task.list; }
        bool operator()(const TimerCommand& timer) const { return timer.list; }
        // Each is one commit, which the next daemon acts on.
        bool operator()(const WorkCommand&) const { return true; }
        bool operator()(const WaitListCommand&) const { return true; }
        bool operator()(const TemplatesCommand&) const { return true; }
        bool operator()(const SkillCommand&) const { return true; }
        bool operator()(const LifecycleCommand& lifecycle) const {
            return lifecycle.action == service::LifecycleAction::Recover ||
                   lifecycle.action == service::LifecycleAction::RecoverDropMessage;
        }
        bool operator()(const AbortCommand&) const { return false; }
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
        bool operator()(const DebugPromptCommand&) const { return true; }
        bool operator()(const DebugLatencyCommand&) const { return true; }
    };
    return std::visit(Works{}, command);
}

std::expected<Invocation, Stop> parse(int argc, const char* const* argv) {
    Invocation invocation;
    CLI::App app("holon keeps agents alive: it runs model turns with tools and loses no work",
                 "holon");
    app.set_version_flag("-V,--version", "holon " HOLON_VERSION);
    app.footer(std::string(kFooter));
    app.require_subcommand(1);
    add_run(app, invocation);
    add_readers(app, invocation);
    add_agents(app, invocation);
    add_control(app, invocation);
    add_work(app, invocation);
    add_skills(app, invocation);
    add_daemon(app, invocation);
    add_plans(app, invocation);
    add_settings(app, invocation);
    add_gate(app, invocation);
    add_store(app, invocation);
    app.add_subcommand("completion", "Print completions for bash, zsh or fish");
    app.add_subcommand("help", "Show this help, that of a command, or the manual page (--man)");
    const std::span words(argv + 1, static_cast<std::size_t>(std::max(argc - 1, 0)));
    if (auto stop = about_the_program(app, words)) return std::unexpected(*stop);
    if (auto stop = unknown_command(app, words)) return std::unexpected(*stop);
    if (argc <= 1) return std::unexpected(Stop{app.help(), Exit::Usage});
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        std::ostringstream out, err;
        const int code = app.exit(error, out, err);
        return std::unexpected(
            Stop{out.str() + err.str(), code == 0 ? Exit::Success : Exit::Usage});
    }
    return invocation;
}

}  // namespace cli
