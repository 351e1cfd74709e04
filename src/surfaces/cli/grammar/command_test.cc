#include "surfaces/cli/grammar/command.h"

#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"

namespace cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::expected<Invocation, Stop> parsed(std::vector<const char*> arguments) {
    arguments.insert(arguments.begin(), "holon");
    return parse(static_cast<int>(arguments.size()), arguments.data());
}

template <class T>
T action(std::vector<const char*> arguments) {
    const auto invocation = parsed(std::move(arguments));
    EXPECT_TRUE(invocation) << invocation.error().text;
    const auto* command = invocation ? std::get_if<Command>(&invocation->command) : nullptr;
    const T* found = command ? std::get_if<T>(command) : nullptr;
    EXPECT_NE(found, nullptr);
    return found ? *found : T{};
}

template <class T>
T setting(std::vector<const char*> arguments) {
    const auto invocation = parsed(std::move(arguments));
    EXPECT_TRUE(invocation) << invocation.error().text;
    const auto* command = invocation ? std::get_if<SettingsCommand>(&invocation->command) : nullptr;
    const T* found = command ? std::get_if<T>(&command->action) : nullptr;
    EXPECT_NE(found, nullptr);
    return found ? *found : T{};
}

Stop stop(std::vector<const char*> arguments) {
    const auto command = parsed(std::move(arguments));
    EXPECT_FALSE(command);
    return command ? Stop{} : command.error();
}

TEST(Parse, ARunTakesAllThatAPromptNeeds) {
    const auto plain = action<RunCommand>({"run", "do it"});
    EXPECT_EQ(base::to_json(plain.request), base::to_json(service::RunRequest{.text = "do it"}));
    EXPECT_FALSE(plain.json);
    const auto full = action<RunCommand>({"run", "--agent=a", "--create-agent", "--resume",
                                          "--trust", "untrusted-external", "--max-turns", "3",
                                          "--workspace-root", "/w", "--cwd", "sub", "--json", "x"});
    EXPECT_EQ(base::to_json(full.request),
              base::to_json(service::RunRequest{.text = "x",
                                                .agent = "a",
                                                .create_agent = true,
                                                .resume = true,
                                                .trust = domain::TrustLevel::UntrustedExternal,
                                                .max_turns = 3,
                                                .workspace_root = "/w",
                                                .cwd = "sub"}));
    EXPECT_TRUE(full.json);
}

TEST(Parse, AResumedRunNeedsAnAgentButNoText) {
    EXPECT_EQ(action<RunCommand>({"run", "--resume", "--agent", "a"}).request.text, "");
    EXPECT_EQ(stop({"run", "--resume"}).exit, Exit::Usage);
    EXPECT_EQ(stop({"run", "--create-agent", "x"}).exit, Exit::Usage);
    EXPECT_EQ(stop({"run", "--continue", "--agent", "a", "x"}).exit, Exit::Usage);
    EXPECT_TRUE(action<RunCommand>({"run", "--continue", "x"}).continues);
    EXPECT_TRUE(action<RunCommand>({"run", "--list"}).list);
    EXPECT_TRUE(action<RunCommand>({"run", "x", "--output-format", "json"}).json);
    EXPECT_TRUE(action<RunCommand>({"run", "x", "--output-format", "stream-json"}).stream_json);
    EXPECT_EQ(stop({"run", "x", "--output-format", "xml"}).exit, Exit::Usage);
    EXPECT_TRUE(parsed({"status", "--plain"})->plain);
    EXPECT_EQ(stop({"status", "--plain", "--json"}).exit, Exit::Usage);
}

TEST(Parse, AMissingWordIsAnErrorThatNamesTheHelp) {
    for (const char* command : {"workspace", "login"}) {
        const Stop stopped = stop({command});
        EXPECT_EQ(stopped.exit, Exit::Usage);
        EXPECT_THAT(stopped.text, AllOf(testing::StartsWith("Error: "), HasSubstr("add --help")));
    }
}

TEST(Parse, ReadersTakeAnAgentALimitAndAHome) {
    EXPECT_EQ(action<StatusCommand>({"status"}).agent, std::nullopt);
    const auto transcript = action<TranscriptCommand>({"transcript", "--agent", "a", "--json"});
    EXPECT_EQ(transcript.agent, "a");
    EXPECT_EQ(transcript.limit, 50);
    EXPECT_TRUE(transcript.json);
    EXPECT_EQ(action<TailCommand>({"tail", "--limit", "3"}).limit, 3);
    const auto events = action<EventsCommand>({"events", "--after-seq", "7"});
    EXPECT_EQ(events.after_seq, 7);
    EXPECT_EQ(events.limit, std::nullopt);
    EXPECT_EQ(parsed({"agent", "list", "--home", "/h"})->home, "/h");
}

// contract: MODEL-01
TEST(Parse, TheModelIsChosenForAnAgentAndNotForAPrompt) {
    EXPECT_EQ(stop({"prompt", "--model", "vllm/m", "x"}).exit, Exit::Usage);
    // A run may set the model of its agent, which keeps it: the same agent-level override.
    EXPECT_EQ(action<RunCommand>({"run", "--model", "vllm/m", "x"}).request.model, "vllm/m");
    const auto set = action<AgentModelSetCommand>({"agent", "model", "set", "vllm/m", "k"});
    EXPECT_EQ(set.model, "vllm/m");
    EXPECT_EQ(set.agent, "k");
    EXPECT_EQ(action<AgentModelGetCommand>({"agent", "model", "get"}).agent, std::nullopt);
    EXPECT_TRUE(action<AgentModelClearCommand>({"agent", "model", "clear", "k", "--json"}).json);
    EXPECT_EQ(stop({"agent", "model", "set"}).exit, Exit::Usage);
}

TEST(Parse, TheConfigurationHasItsCommands) {
    EXPECT_EQ(setting<SettingGetCommand>({"config", "get", "model.default"}).key, "model.default");
    const auto set = setting<SettingSetCommand>({"config", "set", "model.default", "vllm/m"});
    EXPECT_EQ(set.value, "vllm/m");
    setting<SettingUnsetCommand>({"config", "unset", "model.default"});
    setting<SettingListCommand>({"config", "list"});
    setting<SettingSchemaCommand>({"config", "schema"});
    setting<ModelsCommand>({"config", "models", "list"});
    setting<ModelsCommand>({"models"});
    EXPECT_FALSE(setting<DoctorCommand>({"config", "doctor"}).probe);
    EXPECT_TRUE(setting<DoctorCommand>({"doctor", "--probe"}).probe);
    EXPECT_TRUE(
        setting<ProviderDoctorCommand>({"config", "providers", "doctor", "x", "--probe"}).probe);
    const auto change =
        setting<ProviderSetCommand>({"config", "providers", "set", "x", "--transport", "t",
                                     "--base-url", "u", "--credential-source", "env",
                                     "--credential-kind", "api_key", "--credential-env", "E"})
            .change;
    EXPECT_EQ(base::to_json(change),
              base::to_json(service::ProviderChange{.id = "x",
                                                    .transport = "t",
                                                    .base_url = "u",
                                                    .credential_source = "env",
                                                    .credential_kind = "api_key",
                                                    .credential_env = "E"}));
    EXPECT_EQ(setting<ProviderGetCommand>({"config", "providers", "get", "x"}).id, "x");
    setting<ProviderListCommand>({"config", "providers", "list"});
    EXPECT_EQ(setting<ProviderRemoveCommand>({"config", "providers", "remove", "x"}).id, "x");
    const auto credential = setting<CredentialSetCommand>(
        {"config", "credentials", "set", "work", "--kind", "api_key", "--stdin"});
    EXPECT_TRUE(credential.from_stdin);
    setting<CredentialListCommand>({"config", "credentials", "list"});
    setting<CredentialRemoveCommand>({"config", "credentials", "remove", "work"});
    for (const std::vector<const char*>& bad : std::vector<std::vector<const char*>>{
             {"config"},
             {"config", "get"},
             {"config", "providers"},
             {"config", "credentials", "set", "work"},
             {"config", "credentials", "set", "w", "--kind", "k", "--stdin", "--material", "m"}})
        EXPECT_EQ(stop(bad).exit, Exit::Usage);
}

template <class T>
T daemon(std::vector<const char*> arguments) {
    const auto invocation = parsed(std::move(arguments));
    EXPECT_TRUE(invocation) << invocation.error().text;
    const auto* command = invocation ? std::get_if<DaemonCommand>(&invocation->command) : nullptr;
    const T* found = command ? std::get_if<T>(&command->action) : nullptr;
    EXPECT_NE(found, nullptr);
    return found ? *found : T{};
}

TEST(Parse, ServeStartAndRestartTakeTheSameOptions) {
    const std::vector<const char*> options{
        "--access",  "lan",     "--host", "h",          "--port", "9",         "--advertise",
        "https://h", "--token", "t",      "--tls-cert", "c",      "--tls-key", "k"};
    const service::ServeOptions meant{.access = service::Access::Lan,
                                      .host = "h",
                                      .port = 9,
                                      .advertise = "https://h",
                                      .token = "t",
                                      .tls_cert = "c",
                                      .tls_key = "k"};
    const auto with = [&](std::vector<const char*> words) {
        words.insert(words.end(), options.begin(), options.end());
        return words;
    };
    EXPECT_EQ(daemon<DaemonStartCommand>(with({"daemon", "start"})).options, meant);
    EXPECT_EQ(daemon<DaemonRestartCommand>(with({"daemon", "restart"})).options, meant);
    const auto serve = parsed(with({"serve"}));
    ASSERT_TRUE(serve) << serve.error().text;
    EXPECT_EQ(std::get<ServeCommand>(serve->command).options, meant);
    daemon<DaemonStopCommand>({"daemon", "stop"});
    daemon<DaemonStatusCommand>({"daemon", "status"});
    EXPECT_EQ(daemon<DaemonLogsCommand>({"daemon", "logs"}).tail, 80);
    for (const std::vector<const char*>& bad :
         std::vector<std::vector<const char*>>{{"daemon"},
                                               {"serve", "--port", "65536"},
                                               {"serve", "--listen", "127.0.0.1:1", "--port", "2"},
                                               {"serve", "--token", "a", "--token-file", "b"},
                                               {"serve", "--access", "everyone"}})
        EXPECT_EQ(stop(bad).exit, Exit::Usage);
}

TEST(Parse, ADisplayModeHasANameAndANumber) {
    using views::DisplayMode;
    for (const auto& [text, mode] : {std::pair{"info", DisplayMode::Info},
                                     {"3", DisplayMode::Info},
                                     {"verbose", DisplayMode::Verbose},
                                     {"4", DisplayMode::Verbose},
                                     {"DEBUG", DisplayMode::Debug},
                                     {"5", DisplayMode::Debug}})
        EXPECT_EQ(action<TailCommand>({"tail", "-f", "--display", text}).display, mode) << text;
    for (const char* bad : {"trace", "9", ""})
        EXPECT_EQ(stop({"tail", "-f", "--display", bad}).exit, Exit::Usage) << bad;
    EXPECT_EQ(stop({"tail", "--display", "info"}).exit, Exit::Usage);
}

TEST(Parse, ALoginToAnMcpServerNamesIt) {
    const auto login = [](std::vector<const char*> words) {
        return std::get<McpLoginCommand>(
            std::get<McpCommand>(parsed(std::move(words))->command).action);
    };
    EXPECT_EQ(login({"mcp", "login", "tracker"}).server, "tracker");
    EXPECT_EQ(login({"mcp", "login", "tracker", "--scope", "a b"}).scope, "a b");
    EXPECT_TRUE(std::holds_alternative<McpStatusCommand>(
        std::get<McpCommand>(parsed({"mcp", "status", "--json"})->command).action));
    EXPECT_EQ(stop({"mcp"}).exit, Exit::Usage);
    EXPECT_EQ(stop({"mcp", "login"}).exit, Exit::Usage);
    EXPECT_EQ(stop({"mcp", "logout"}).exit, Exit::Usage);
}

TEST(Parse, ABackupMayNameItsFile) {
    const auto backup = [](std::vector<const char*> words) {
        return std::get<StoreBackupCommand>(
            std::get<StoreCommand>(parsed(std::move(words))->command).action);
    };
    EXPECT_EQ(backup({"store", "backup"}).file, std::nullopt);
    EXPECT_EQ(backup({"store", "backup", "a.db", "--json"}).file, "a.db");
    const auto prune = [](std::vector<const char*> words) {
        return std::get<StorePruneCommand>(
            std::get<StoreCommand>(parsed(std::move(words))->command).action);
    };
    EXPECT_FALSE(prune({"store", "prune"}).dry_run);
    EXPECT_TRUE(prune({"store", "prune", "--dry-run"}).dry_run);
    EXPECT_TRUE(std::holds_alternative<StoreStatusCommand>(
        std::get<StoreCommand>(parsed({"store", "status"})->command).action));
    EXPECT_EQ(stop({"store"}).exit, Exit::Usage);
    EXPECT_EQ(stop({"store", "backup", "a.db", "b.db"}).exit, Exit::Usage);
}

TEST(Parse, AnAgentIsRecoveredWithOrWithoutItsMessage) {
    EXPECT_EQ(action<LifecycleCommand>({"agent", "recover", "a"}).action,
              service::LifecycleAction::Recover);
    EXPECT_EQ(action<LifecycleCommand>({"agent", "recover", "a", "--drop-message"}).action,
              service::LifecycleAction::RecoverDropMessage);
}

TEST(Parse, AgentsAloneAreListed) {
    action<AgentListCommand>({"agent"});
    action<AgentListCommand>({"agents"});
    EXPECT_EQ(action<StatusCommand>({"agent", "status", "a"}).agent, "a");
}

TEST(Parse, OnlyWhatIsSafeOnTheStoreWorksWithoutARuntime) {
    const auto works = [](std::vector<const char*> words) {
        return works_without_runtime(std::get<Command>(parsed(std::move(words))->command));
    };
    for (const std::vector<const char*>& safe :
         std::vector<std::vector<const char*>>{{"run", "x"},
                                               {"status"},
                                               {"tail"},
                                               {"transcript"},
                                               {"events"},
                                               {"agent", "list"},
                                               {"agent", "recover", "main"},
                                               {"timer", "--list"},
                                               {"debug", "latency"}})
        EXPECT_TRUE(works(safe)) << safe[0];
    for (const std::vector<const char*>& not_safe :
         std::vector<std::vector<const char*>>{{"prompt", "x"},
                                               {"tail", "-f"},
                                               {"agent", "stop"},
                                               {"timer", "--after-ms", "1"},
                                               {"trigger", "show"},
                                               {"workspace", "exit"}})
        EXPECT_FALSE(works(not_safe)) << not_safe[0];
}

TEST(Parse, ValuesThatDoNotFitAreUsageErrors) {
    EXPECT_EQ(stop({"run", "--max-turns", "0", "x"}).exit, Exit::Usage);
    EXPECT_EQ(stop({"run", "--max-turns", "many", "x"}).exit, Exit::Usage);
    EXPECT_EQ(stop({"run", "--trust", "trusted_operator", "x"}).exit, Exit::Usage);
    EXPECT_EQ(stop({"tail", "--limit", "0"}).exit, Exit::Usage);
    EXPECT_EQ(stop({"status", "--nonsense"}).exit, Exit::Usage);
}

TEST(Parse, AnUnknownCommandNamesTheNearest) {
    const Stop unknown = stop({"statsu"});
    EXPECT_EQ(unknown.exit, Exit::Usage);
    EXPECT_THAT(unknown.text, AllOf(HasSubstr("no command 'statsu'"), HasSubstr("status")));
    EXPECT_THAT(stop({"\x1b[2J"}).text, HasSubstr("\\x1b"));
    EXPECT_EQ(stop({"plan", "runn", "x.yaml"}).text,
              "Error: there is no command 'plan runn' (did you mean run?); see holon help plan\n");
}

TEST(Parse, HelpAndVersionSucceedAndNothingAtAllDoesNot) {
    for (const char* word : {"help", "--help", "-h"}) {
        const Stop help = stop({word});
        EXPECT_EQ(help.exit, Exit::Success) << word;
        EXPECT_THAT(help.text, AllOf(HasSubstr("Examples:"), HasSubstr("HOLON_MODEL"),
                                     HasSubstr("Exit codes:")));
    }
    EXPECT_EQ(stop({"run", "--help"}).exit, Exit::Success);
    EXPECT_THAT(stop({"run", "--help"}).text, HasSubstr("--max-turns"));
    EXPECT_EQ(stop({"--version"}).text, "holon " HOLON_VERSION "\n");
    EXPECT_EQ(stop({}).exit, Exit::Usage);
    EXPECT_THAT(stop({"help", "daemon", "start"}).text, HasSubstr("--access"));
    EXPECT_EQ(stop({"help", "nonsense"}).exit, Exit::Usage);
}

TEST(Help, OfEveryCommandFitsAScreenAndNamesItself) {
    std::vector<std::string> commands;
    const std::string page = stop({"help", "--man"}).text;
    for (std::size_t at = page.find(".SS holon "); at != std::string::npos;
         at = page.find(".SS holon ", at + 1)) {
        std::string path = page.substr(at + 10, page.find('\n', at) - at - 10);
        std::erase(path, '\\');
        commands.push_back(path);
    }
    ASSERT_GT(commands.size(), 80U);
    const std::string overview = stop({"help"}).text;
    for (const auto& path : commands) {
        std::vector<std::string> words{"help"};
        std::istringstream parts(path);
        for (std::string part; parts >> part;) words.push_back(part);
        std::vector<const char*> arguments;
        for (const auto& word : words) arguments.push_back(word.c_str());
        const std::string text = stop(arguments).text;
        EXPECT_THAT(text, HasSubstr("Usage: holon " + path)) << path;
        EXPECT_LE(std::ranges::count(text, '\n'), 24) << path << "\n" << text;
        for (const auto line : base::split_lines(text))
            EXPECT_LE(base::char_count(line), 80U) << path << ": " << line;
        EXPECT_THAT(overview, HasSubstr(words[1])) << "the overview names every command";
    }
    EXPECT_LE(std::ranges::count(overview, '\n'), 24);
}

TEST(Parse, AnUnknownOptionNamesTheNearest) {
    EXPECT_EQ(
        stop({"plan", "run", "x.yaml", "--valt", "v"}).text,
        "Error: holon plan run has no option '--valt' (did you mean --vault?); see holon plan "
        "run --help\n");
    EXPECT_THAT(stop({"run", "--jsno", "x"}).text, HasSubstr("did you mean --json?"));
    EXPECT_EQ(stop({"status", "surplus"}).exit, Exit::Usage);
}

TEST(Parse, TimesAreWrittenAsPeopleDo) {
    EXPECT_EQ(action<TimerCommand>({"timer", "--after", "1h30m"}).request.duration_ms, 5'400'000);
    const auto every = action<TimerCommand>({"timer", "--every", "15m"}).request;
    EXPECT_EQ(every.duration_ms, 900'000);
    EXPECT_EQ(every.interval_ms, 900'000);
    EXPECT_EQ(action<TimerCommand>({"timer", "--at", "09:00"}).at, "09:00");
    EXPECT_EQ(action<TimerCommand>({"timer", "--cron", "0 9 * * *"}).request.cron, "0 9 * * *");
    EXPECT_THAT(stop({"timer", "--after", "soon"}).text, HasSubstr("1h30m"));
    EXPECT_EQ(stop({"timer", "--after", "1h", "--cron", "* * * * *"}).exit, Exit::Usage);
    EXPECT_EQ(stop({"timer"}).exit, Exit::Usage);
}

TEST(Parse, TasksAreStartedListedStoppedAndFed) {
    EXPECT_EQ(action<TaskCommand>({"task", "tests", "--cmd", "make"}).verb, TaskVerb::Start);
    EXPECT_EQ(action<TaskCommand>({"task", "list", "--cmd", "ls"}).verb, TaskVerb::Start)
        << "its summary is free";
    EXPECT_EQ(action<TaskCommand>({"task", "--list"}).verb, TaskVerb::List);
    EXPECT_EQ(action<TaskCommand>({"task", "list"}).verb, TaskVerb::List);
    const auto stopped = action<TaskCommand>({"task", "stop", "t1", "--agent", "a"});
    EXPECT_EQ(stopped.verb, TaskVerb::Stop);
    EXPECT_EQ(stopped.id, "t1");
    EXPECT_EQ(stopped.agent, "a");
    EXPECT_EQ(action<TaskCommand>({"task", "output", "t1"}).verb, TaskVerb::Output);
    EXPECT_EQ(action<TaskCommand>({"task", "input", "t1", "yes"}).text, "yes");
    EXPECT_EQ(stop({"task"}).exit, Exit::Usage);
    EXPECT_EQ(stop({"task", "stop"}).exit, Exit::Usage);
}

TEST(Manual, DescribesEveryCommandAndOption) {
    const auto page = stop({"help", "--man"});
    EXPECT_EQ(page.exit, Exit::Success);
    EXPECT_THAT(page.text, testing::StartsWith(".TH HOLON 1\n"));
    for (const char* part :
         {".SS holon daemon start", "\\-\\-access", ".SS holon config providers set",
          "HOLON_CONTROL_TOKEN", "Exit codes:"})
        EXPECT_THAT(page.text, HasSubstr(part));
}

TEST(Completion, KnowsTheCommandsOfEveryLevelForEachShell) {
    for (const char* shell : {"bash", "zsh", "fish"}) {
        const auto script = stop({"completion", shell});
        EXPECT_EQ(script.exit, Exit::Success);
        for (const char* word : {"daemon", "restart", "after-ms", "providers"})
            EXPECT_THAT(script.text, HasSubstr(word)) << shell;
    }
    // Names of agents, and no files beside them.
    EXPECT_THAT(stop({"completion", "fish"}).text, HasSubstr("-l 'agent' -x -a"));
    EXPECT_EQ(stop({"completion", "tcsh"}).exit, Exit::Usage);
    EXPECT_EQ(stop({"completion"}).exit, Exit::Usage);
}

}  // namespace
}  // namespace cli
