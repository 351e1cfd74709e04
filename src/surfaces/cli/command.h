// The command line, parsed.
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <variant>

#include "service/daemon/log_tail.h"
#include "service/daemon/serve_options.h"
#include "service/service.h"
#include "service/settings.h"
#include "service/views/presentation.h"

namespace cli {

// One table for the whole program; `holon help` prints it.
enum class Exit : int {
    Success = 0,
    Error = 1,  // The command could not be carried out.
    Usage = 2,
    Failed = 3,            // run: the turn failed.
    MaxTurnsExceeded = 4,  // run: the round limit ended it.
    Waiting = 5,           // run: it waits for something and is not done.
    Interrupted = 130,
};

struct RunCommand {
    service::RunRequest request;
    bool json{false};
};
struct StatusCommand {
    std::optional<std::string> agent{};
    bool json{false};
};
struct TranscriptCommand {
    std::optional<std::string> agent{};
    std::int64_t limit{50};
    bool json{false};
};
struct TailCommand {
    std::optional<std::string> agent{};
    std::int64_t limit{20};
    bool json{false};
    bool follow{false};
    views::DisplayMode display{views::DisplayMode::Info};
};
struct EventsCommand {
    std::optional<std::string> agent{};
    std::int64_t after_seq{0};
    std::int64_t limit{128};
    bool follow{false};
};
struct AgentListCommand {
    bool json{false};
};

struct AgentModelGetCommand {
    std::optional<std::string> agent{};
    bool json{false};
};
struct AgentModelSetCommand {
    std::string model;
    std::optional<std::string> agent{};
    bool json{false};
};
struct AgentModelClearCommand {
    std::optional<std::string> agent{};
    bool json{false};
};

struct PromptCommand {
    std::string text;
    std::optional<std::string> agent{};
    bool json{false};
};
// Starts a command as a task, or lists the tasks that are going on.
struct TaskCommand {
    service::TaskRequest request;
    bool list{false};
    std::optional<std::string> agent{};
    bool json{false};
};
// Sets a timer, cancels one, or lists them.
struct TimerCommand {
    service::TimerRequest request;
    std::optional<std::string> cancel{};
    bool list{false};
    std::optional<std::string> agent{};
    bool json{false};
};
struct LifecycleCommand {
    service::LifecycleAction action{service::LifecycleAction::Start};
    std::optional<std::string> agent{};
    bool json{false};
};
struct AbortCommand {
    std::optional<std::string> agent{};
    std::optional<std::string> run_id{};
    bool json{false};
};
struct AgentCreateCommand {
    std::string agent;
    std::optional<std::string> template_name{};
    bool json{false};
};
struct WorkspaceAttachCommand {
    std::string path;
    std::optional<std::string> agent{};
    bool json{false};
};
struct WorkspaceExitCommand {
    std::optional<std::string> agent{};
    bool json{false};
};
struct WorkspaceDetachCommand {
    std::string workspace_id;
    std::optional<std::string> agent{};
    bool json{false};
};
enum class TriggerAction { Show, Rotate, Revoke };
struct TriggerCommand {
    TriggerAction action{TriggerAction::Show};
    std::optional<std::string> agent{};
    bool json{false};
};
struct DebugPromptCommand {
    std::string text;
    std::optional<std::string> agent{};
    domain::TrustLevel trust{domain::TrustLevel::TrustedOperator};
};
struct DebugLatencyCommand {
    std::optional<std::string> agent{};
    std::int64_t limit{10};
    std::int64_t events_limit{5000};
};

// What needs agents: those of the running runtime, or of the store when none runs.
using Command =
    std::variant<RunCommand, StatusCommand, TranscriptCommand, TailCommand, EventsCommand,
                 AgentListCommand, AgentModelGetCommand, AgentModelSetCommand,
                 AgentModelClearCommand, PromptCommand, TaskCommand, TimerCommand, LifecycleCommand,
                 AbortCommand, AgentCreateCommand, WorkspaceAttachCommand, WorkspaceExitCommand,
                 WorkspaceDetachCommand, TriggerCommand, DebugPromptCommand, DebugLatencyCommand>;

// Whether the command is safe on the store when no runtime is up: it only reads, or what it writes
// is one commit that the next runtime takes up.
bool works_without_runtime(const Command& command);

// The runtime itself, in the foreground.
struct ServeCommand {
    service::ServeOptions options;
};
struct DaemonStartCommand {
    service::ServeOptions options;
};
struct DaemonStopCommand {};
struct DaemonStatusCommand {};
struct DaemonRestartCommand {
    service::ServeOptions options;
};
struct DaemonLogsCommand {
    std::int64_t tail{service::kTailLinesDefault};
};
struct DaemonCommand {
    bool json{false};
    std::variant<DaemonStartCommand, DaemonStopCommand, DaemonStatusCommand, DaemonRestartCommand,
                 DaemonLogsCommand>
        action{};
};

struct SettingGetCommand {
    std::string key;
};
struct SettingSetCommand {
    std::string key;
    std::string value;
};
struct SettingUnsetCommand {
    std::string key;
};
struct SettingListCommand {};
struct SettingSchemaCommand {};
struct ModelsCommand {};
struct ProviderSetCommand {
    service::ProviderChange change;
};
struct ProviderGetCommand {
    std::string id;
};
struct ProviderListCommand {};
struct ProviderRemoveCommand {
    std::string id;
};
struct ProviderDoctorCommand {
    std::string id;
    bool probe{false};
};
struct CredentialSetCommand {
    std::string profile;
    std::string kind;
    bool from_stdin{false};
    std::optional<std::string> material{};
};
struct CredentialListCommand {};
struct CredentialRemoveCommand {
    std::string profile;
};
struct DoctorCommand {
    bool probe{false};
};

// What needs the configuration only.
struct SettingsCommand {
    bool json{false};
    std::variant<SettingGetCommand, SettingSetCommand, SettingUnsetCommand, SettingListCommand,
                 SettingSchemaCommand, ModelsCommand, ProviderSetCommand, ProviderGetCommand,
                 ProviderListCommand, ProviderRemoveCommand, ProviderDoctorCommand,
                 CredentialSetCommand, CredentialListCommand, CredentialRemoveCommand,
                 DoctorCommand>
        action{};
};

struct Invocation {
    std::optional<std::string> home{};
    std::variant<Command, SettingsCommand, ServeCommand, DaemonCommand> command{};
};

// Nothing to do but to print `text` and to end: help, version, or a usage error.
struct Stop {
    std::string text;
    Exit exit{Exit::Success};
};

std::expected<Invocation, Stop> parse(int argc, const char* const* argv);

}  // namespace cli
