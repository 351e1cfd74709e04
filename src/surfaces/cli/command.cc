#include "surfaces/cli/command.h"

#include <CLI/CLI.hpp>

#include "base/text.h"
#include "surfaces/cli/gate_options.h"
#include "surfaces/cli/settings_options.h"

namespace cli {
namespace {

constexpr std::string_view kFooter = R"(
Examples:
  holon run "make the failing test pass"
  holon run --agent main --create-agent "read the README and remember what this is"
  holon run --json "list the TODOs" | jq .final_text
  holon transcript --agent main
  holon doctor
  holon config set model.default openrouter/some/model
  holon config credentials set work --kind api_key

Environment:
  HOLON_HOME    where everything is kept (default ~/.holon)
  HOLON_MODEL   provider/model to ask, for instance openrouter/some/model; when unset, the
                first provider that has a key (see holon doctor)

Exit codes:
  0 success   1 error   2 usage   3 the turn failed, or gate check rejected
  4 round limit reached
  5 waiting, not done   130 interrupted (resume with --resume))";

const std::map<std::string, domain::TrustLevel> kTrustLevels{
    {"trusted-operator", domain::TrustLevel::TrustedOperator},
    {"trusted-system", domain::TrustLevel::TrustedSystem},
    {"trusted-integration", domain::TrustLevel::TrustedIntegration},
    {"untrusted-external", domain::TrustLevel::UntrustedExternal}};

constexpr std::int64_t kListMax = 100'000;

void add_run(CLI::App& app, Invocation& invocation) {
    auto run = std::make_shared<RunCommand>();
    auto* sub = app.add_subcommand("run", "Give an agent one prompt and wait for the answer");
    sub->add_option("text", run->request.text, "What to do");
    sub->add_option("--agent", run->request.agent, "Use this agent instead of a temporary one");
    sub->add_flag("--create-agent", run->request.create_agent,
                  "Make the agent if it does not exist");
    sub->add_flag("--resume", run->request.resume,
                  "Go on with what an earlier run of --agent left open");
    sub->add_option("--trust", run->request.trust, "How far the prompt is trusted")
        ->transform(
            CLI::CheckedTransformer(kTrustLevels)
                .description(
                    "{trusted-operator,trusted-system,trusted-integration,untrusted-external}"))
        ->default_str("trusted-operator");
    sub->add_option("--max-turns", run->request.max_turns, "Ask the model at most this often")
        ->check(CLI::Range(std::int64_t{1}, std::int64_t{100'000}));
    sub->add_option("--workspace-root", run->request.workspace_root,
                    "The project folder (default: here)");
    sub->add_option("--cwd", run->request.cwd, "Working directory inside the project");
    sub->add_option("--home", invocation.home, "Use this folder instead of HOLON_HOME");
    sub->add_flag("--no-wait-for-tasks")
        ->description("Do not wait for background tasks (there are none yet)");
    sub->add_flag("--json", run->json, "Print one JSON document and nothing else");
    sub->callback([&invocation, run] {
        if (run->request.text.empty() && !run->request.resume) throw CLI::RequiredError("TEXT");
        if (run->request.create_agent && !run->request.agent)
            throw CLI::RequiresError("--create-agent", "--agent");
        if (run->request.resume && !run->request.agent)
            throw CLI::RequiresError("--resume", "--agent");
        invocation.command = Command(*run);
    });
}

template <class T>
std::shared_ptr<T> add_reader(CLI::App& app, Invocation& invocation, const char* name,
                              const char* help) {
    auto action = std::make_shared<T>();
    auto* sub = app.add_subcommand(name, help);
    sub->add_option("--agent", action->agent, "The agent (default: HOLON_AGENT_ID, else main)");
    sub->add_option("--home", invocation.home, "Use this folder instead of HOLON_HOME");
    if constexpr (requires { action->limit; })
        sub->add_option("--limit", action->limit, "How many at most")
            ->check(CLI::Range(std::int64_t{1}, kListMax))
            ->capture_default_str();
    if constexpr (requires { action->after_seq; })
        sub->add_option("--after-seq", action->after_seq, "Only events behind this one")
            ->capture_default_str();
    if constexpr (requires { action->json; })
        sub->add_flag("--json", action->json, "Print JSON, also on a terminal");
    sub->callback([&invocation, action] { invocation.command = Command(*action); });
    return action;
}

// `holon agent model …`; the agent is named behind the command.
template <class T>
std::shared_ptr<T> add_agent_model(CLI::App& group, Invocation& invocation, const char* name,
                                   const char* help) {
    auto action = std::make_shared<T>();
    auto* sub = group.add_subcommand(name, help);
    if constexpr (requires { action->model; })
        sub->add_option("model", action->model, "provider/model")->required();
    sub->add_option("agent", action->agent, "The agent (default: HOLON_AGENT_ID, else main)");
    sub->add_option("--home", invocation.home, "Use this folder instead of HOLON_HOME");
    sub->add_flag("--json", action->json, "Print JSON, also on a terminal");
    sub->callback([&invocation, action] { invocation.command = Command(*action); });
    return action;
}

void add_agents(CLI::App& app, Invocation& invocation) {
    auto* agent = app.add_subcommand("agent", "Work with agents");
    agent->require_subcommand(1);
    auto list = std::make_shared<AgentListCommand>();
    auto* sub = agent->add_subcommand("list", "List all agents");
    sub->add_flag("--json", list->json, "Print JSON, also on a terminal");
    sub->add_option("--home", invocation.home, "Use this folder instead of HOLON_HOME");
    sub->callback([&invocation, list] { invocation.command = Command(*list); });
    auto* model = agent->add_subcommand("model", "Which model an agent asks");
    model->require_subcommand(1);
    model->footer("\nExample:\n  holon agent model set xai/grok-4 main");
    add_agent_model<AgentModelGetCommand>(*model, invocation, "get", "Show the model of an agent");
    add_agent_model<AgentModelSetCommand>(*model, invocation, "set",
                                          "Give one agent its own model, from its next turn on");
    add_agent_model<AgentModelClearCommand>(*model, invocation, "clear",
                                            "Let it ask the default model again");
}

// What to say to a word that is no command, or nothing when it is one.
std::optional<Stop> unknown_command(const CLI::App& app, std::string_view word) {
    std::vector<std::string> names;
    for (const auto* known : app.get_subcommands({})) names.push_back(known->get_name());
    if (word.empty() || word.starts_with('-') || std::ranges::find(names, word) != names.end())
        return std::nullopt;
    const std::string near = base::nearest(word, names);
    return Stop{
        fmt::format("Error: there is no command '{}'{}; see holon help\n", base::printable(word),
                    near.empty() ? "" : " (did you mean " + near + "?)"),
        Exit::Usage};
}

}  // namespace

std::expected<Invocation, Stop> parse(int argc, const char* const* argv) {
    Invocation invocation;
    CLI::App app("holon keeps agents alive: it runs model turns with tools and loses no work",
                 "holon");
    app.set_version_flag("-V,--version", "holon " HOLON_VERSION);
    app.footer(std::string(kFooter));
    app.require_subcommand(1);
    add_run(app, invocation);
    add_reader<StatusCommand>(app, invocation, "status",
                              "Show an agent: status, workspace, model, token use");
    add_reader<TranscriptCommand>(app, invocation, "transcript",
                                  "Show what was said and done, round by round");
    add_reader<TailCommand>(app, invocation, "tail",
                            "Show the newest briefs: what the agent told its operator");
    add_reader<EventsCommand>(app, invocation, "events",
                              "Print an agent's events, one JSON object a line");
    add_agents(app, invocation);
    add_settings(app, invocation);
    add_gate(app, invocation);
    app.add_subcommand("help", "Show this help");
    const std::string_view word = argc > 1 ? argv[1] : "";
    if (word == "help") return std::unexpected(Stop{app.help(), Exit::Success});
    if (auto stop = unknown_command(app, word)) return std::unexpected(*stop);
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
