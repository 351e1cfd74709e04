// The command line, parsed.
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "service/daemon/access/serve_options.h"
#include "service/daemon/log_tail.h"
#include "service/gate.h"
#include "service/plans.h"
#include "service/service.h"
#include "service/settings.h"
#include "service/views/presentation.h"

namespace cli {

// One table for the whole program; `holon help` prints it.
enum class Exit : int {
    Success = 0,
    Error = 1,  // The command failed.
    Usage = 2,
    Failed = 3,            // The turn, plan or check failed; the document is rejected.
    MaxTurnsExceeded = 4,  // run: the turn reached the round limit.
    Waiting = 5,           // run: the agent waits and is not done; plan: waits for approval.
    Faults = 6,            // plan: the plan has faults; nothing was run.
    Interrupted = 130,
};

struct RunCommand {
    service::RunRequest request;
    bool json{false};
    bool stream_json{false};
    bool continues{false};  // The last temporary run, instead of a new one.
    bool list{false};       // Only lists temporary runs.
    std::int64_t limit{20};
};
struct StatusCommand {
    std::optional<std::string> agent{};
    bool json{false};
};
struct TranscriptCommand {
    std::optional<std::string> agent{};
    std::int64_t limit{50};
    std::string before{};
    bool json{false};
};
struct TailCommand {
    std::optional<std::string> agent{};
    std::int64_t limit{20};
    std::string before{};
    bool json{false};
    bool follow{false};
    views::DisplayMode display{views::DisplayMode::Info};
};
struct EventsCommand {
    std::optional<std::string> agent{};
    std::int64_t after_seq{0};
    std::optional<std::int64_t> limit{};  // All unless given.
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
    bool wait{false};  // For the answer.
    std::optional<std::string> agent{};
    bool json{false};
};
// Starts a command as a task, or works with those that there are.
enum class TaskVerb { Start, List, Stop, Output, Input };
struct TaskCommand {
    service::TaskRequest request;
    TaskVerb verb{TaskVerb::Start};
    std::string id{};
    std::string text{};  // The input.
    std::optional<std::string> agent{};
    bool json{false};
};
// Sets a timer, cancels one, or lists them.
struct TimerCommand {
    service::TimerRequest request;
    std::optional<std::string> at{};  // As it was written; see calendar::next_local.
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
struct CompactCommand {
    std::optional<std::string> agent{};
    bool json{false};
};
struct UndoCommand {
    service::UndoRequest request{};
    std::optional<std::string> agent{};
    bool json{false};
};
struct AgentCreateCommand {
    std::string agent;
    std::optional<std::string> template_name{};
    std::optional<std::string> workspace{};
    bool json{false};
};
struct AgentMoveCommand {
    std::string agent;
    std::string path;
    bool json{false};
};
struct AgentDeleteCommand {
    std::string agent;
    bool yes{false};
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
enum class WorkVerb { Add, List, Show, Pick, Block, Unblock, Done, Plan };
struct WorkCommand {
    WorkVerb verb{WorkVerb::List};
    std::string id{};
    std::string text{};  // The objective, or what the item waits for.
    service::WorkFilter filter{service::WorkFilter::All};
    std::optional<std::string> after{};
    std::int64_t limit{50};
    std::optional<std::int64_t> recheck_after_ms{};
    std::optional<std::string> agent{};
    bool json{false};
};
struct TemplatesCommand {
    bool json{false};
};
enum class SkillVerb { List, Show, Install, Uninstall };
struct SkillCommand {
    SkillVerb verb{SkillVerb::List};
    std::string name{};  // Or a path, URL or package, to install it.
    bool builtin{false};
    bool remote{false};
    bool copy{false};
    std::optional<std::string> skill{};
    std::optional<std::string> agent{};
    bool json{false};
};
struct MemorySearchCommand {
    std::string text;
    bool all_workspaces{false};
    std::int64_t limit{10};
    std::optional<std::string> agent{};
    bool json{false};
};
struct MemoryShowCommand {
    std::string source_ref;
    std::int64_t max_chars{domain::kMemoryCharsMax};
    std::optional<std::string> agent{};
    bool json{false};
};
struct SearchCommand {
    std::string text;
    std::string only_agent{};  // Empty: all agents.
    std::string since{};       // A length of time or a time; empty: always.
    std::int64_t limit{20};
    bool json{false};
};
struct WaitListCommand {
    std::optional<std::string> agent{};
    bool json{false};
};
enum class TriggerAction { Show, Rotate, Revoke };
struct TriggerCommand {
    TriggerAction action{TriggerAction::Show};
    std::optional<std::string> agent{};
    bool json{false};
};
enum class WebhookAction { Create, List, Rotate, Revoke };
struct WebhookCommand {
    WebhookAction action{WebhookAction::List};
    std::string webhook;  // The name or id, to rotate or revoke it.
    service::WebhookRequest request{};
    bool secret_stdin{false};
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
    std::int64_t limit{10};           // Turns.
    std::int64_t events_limit{5000};  // At most this many of the newest are read.
};

// Commands on agents: those of the daemon, or of the store when no daemon runs.
using Command =
    std::variant<RunCommand, StatusCommand, TranscriptCommand, TailCommand, EventsCommand,
                 AgentListCommand, AgentModelGetCommand, AgentModelSetCommand,
                 AgentModelClearCommand, PromptCommand, TaskCommand, TimerCommand, WorkCommand,
                 TemplatesCommand, SkillCommand, MemorySearchCommand, MemoryShowCommand,
                 SearchCommand, WaitListCommand, LifecycleCommand, AbortCommand, CompactCommand,
                 UndoCommand, AgentCreateCommand, AgentMoveCommand, AgentDeleteCommand,
                 WorkspaceAttachCommand, WorkspaceExitCommand, WorkspaceDetachCommand,
                 TriggerCommand, WebhookCommand, DebugPromptCommand, DebugLatencyCommand>;

// Is the command safe on the store when no daemon runs? It only reads, or what it writes is one
// commit that the next daemon uses.
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
    bool follow{false};
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
// The key is asked for, or read from standard input; never an argument.
struct LoginCommand {
    std::string provider;
    std::optional<std::string> model{};
};

// Commands that need only the configuration.
struct SettingsCommand {
    bool json{false};
    std::variant<SettingGetCommand, SettingSetCommand, SettingUnsetCommand, SettingListCommand,
                 SettingSchemaCommand, ModelsCommand, ProviderSetCommand, ProviderGetCommand,
                 ProviderListCommand, ProviderRemoveCommand, ProviderDoctorCommand,
                 CredentialSetCommand, CredentialListCommand, CredentialRemoveCommand,
                 DoctorCommand, LoginCommand>
        action{};
};

// A plan and where it runs, as it was named on the command line.
struct PlanSource {
    std::string file{};  // "-": standard input. Empty for an action.
    std::optional<std::string> action{};
    std::optional<std::string> vault{};
    std::vector<std::string> params{};  // name=value
    std::optional<std::string> policy_file{};
    std::optional<std::string> active_file{};
    std::optional<std::string> selection{};  // start:end, in characters of the active file
    std::optional<std::int64_t> cursor{};
};
struct PlanCheckCommand {
    PlanSource source;
};
struct PlanPreviewCommand {
    PlanSource source;
};
struct PlanRunCommand {
    PlanSource source;
    bool yes{false};
    bool dry_run{false};
};
struct PlanMakeCommand {
    service::PlanMakeRequest request;
    bool force{false};                  // Overwrite the file.
    std::optional<std::string> out{};   // The file for the plan.
    std::optional<std::string> save{};  // The action to keep it as.
};
struct PlanApproveCommand {
    std::string run;
    std::int64_t hours{24};
};
struct PlanRejectCommand {
    std::string run;
    std::string reason{"rejected by the operator"};
};
struct PlanResumeCommand {
    std::string run;
    bool yes{false};
};
struct PlanCancelCommand {
    std::string run;
    std::string reason{"cancelled by the operator"};
};
struct PlanStatusCommand {
    std::string run;
};
struct PlanListCommand {
    std::int64_t limit{20};
    std::string before{};
};
struct PlanShowCommand {
    std::string run;
};
struct PlanVerifyCommand {
    std::string run;
};
struct PlanReplayCommand {
    std::string run;
};
struct PlanRevertCommand {
    std::string run;
    bool yes{false};
};
struct PlanSaveCommand {
    std::string name;
    std::optional<std::string> run{};
    std::optional<std::string> file{};
    std::string description{};
};
struct PlanActionsCommand {};
struct PlanExportCommand {
    std::string name;
};
struct PlanImportCommand {
    std::string file;
    std::optional<std::string> name{};
};
struct PlanPruneCommand {
    std::optional<std::string> older_than{};
    bool dry_run{false};
};
struct PlanForgetCommand {
    std::string name;
};
struct ApprovalsCommand {};
struct ToolsCommand {
    std::optional<std::string> name{};
};

// Commands that need the tools and the store of plans.
struct PlanCommand {
    bool json{false};
    std::variant<PlanCheckCommand, PlanPreviewCommand, PlanRunCommand, PlanMakeCommand,
                 PlanApproveCommand, PlanRejectCommand, PlanResumeCommand, PlanCancelCommand,
                 PlanStatusCommand, PlanListCommand, PlanShowCommand, PlanVerifyCommand,
                 PlanReplayCommand, PlanRevertCommand, PlanSaveCommand, PlanActionsCommand,
                 PlanExportCommand, PlanImportCommand, PlanForgetCommand, PlanPruneCommand,
                 ApprovalsCommand, ToolsCommand>
        action{};
};

struct GateCheckCommand {
    std::string file;
};
struct GateListCommand {
    std::optional<domain::GatePlace> place{};
    std::int64_t limit{50};
    std::string before{};
};
struct GateShowCommand {
    std::string document_id;
};
struct GateReleaseCommand {
    std::string document_id;
    std::string reason;
};
struct GatePurgeCommand {
    service::PurgeRequest request;
};

// Commands that need the store and the folders of the gate.
struct GateCommand {
    bool json{false};
    std::variant<GateCheckCommand, GateListCommand, GateShowCommand, GateReleaseCommand,
                 GatePurgeCommand>
        action{};
};

struct StoreBackupCommand {
    std::optional<std::string> file{};  // A new one in the home unless named.
};

struct StoreCheckCommand {};
struct StoreRepairCommand {};
struct StoreStatusCommand {};
struct StorePruneCommand {
    bool dry_run{false};
};

// What needs the file of the database only.
struct StoreCommand {
    bool json{false};
    std::variant<StoreBackupCommand, StoreCheckCommand, StoreRepairCommand, StoreStatusCommand,
                 StorePruneCommand>
        action{};
};

struct McpStatusCommand {};
struct McpLoginCommand {
    std::string server;
    std::string scope{};
};
struct McpLogoutCommand {
    std::string server;
};

// What needs the settings, the credentials and the network only.
struct McpCommand {
    bool json{false};
    std::variant<McpStatusCommand, McpLoginCommand, McpLogoutCommand> action{};
};

struct McpQuestionsCommand {};
struct McpAnswerCommand {
    std::string id;
    std::vector<std::string> values{};  // name=value
    bool decline{false};
};
struct McpPromptsCommand {};
struct McpPromptCommand {
    std::string server;
    std::string name;
    std::vector<std::string> values{};  // name=value
};

// What needs servers that run: those of the daemon, or, for prompts, of this process.
struct McpLiveCommand {
    bool json{false};
    std::variant<McpQuestionsCommand, McpAnswerCommand, McpPromptsCommand, McpPromptCommand>
        action{};
};

// The console. `connect` names a runtime elsewhere.
struct TuiCommand {
    std::optional<std::string> agent{};
    bool continues{false};  // With the agent that was shown last.
    std::optional<std::string> alternate_screen{};
    std::optional<std::string> connect{};
    std::optional<std::string> token{};
    std::optional<std::string> token_file{};
};

struct Invocation {
    std::optional<std::string> home{};
    std::optional<std::string> sandbox{};  // "none" or "bubblewrap"; absent: as the home says.
    bool plain{false};                     // Text, also in a pipe.
    std::variant<Command, SettingsCommand, ServeCommand, DaemonCommand, PlanCommand, GateCommand,
                 StoreCommand, McpCommand, McpLiveCommand, TuiCommand>
        command{};
};

// Nothing to do but to print `text` and to end: help, version, or a usage error.
struct Stop {
    std::string text;
    Exit exit{Exit::Success};
};

std::expected<Invocation, Stop> parse(int argc, const char* const* argv);

}  // namespace cli
