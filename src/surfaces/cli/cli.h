// Executes one command line against the service.
#pragma once

#include "base/time.h"
#include "service/backups.h"
#include "service/daemon/daemon.h"
#include "service/mcp.h"
#include "service/plans.h"
#include "service/run_client.h"
#include "service/service.h"
#include "surfaces/cli/grammar/command.h"
#include "surfaces/cli/view/terminal.h"

namespace cli {

struct Context {
    service::Service& service;
    const Terminal& terminal;
    base::Clock& clock;
    std::string default_agent;
    service::Caller caller{};
    std::filesystem::path cwd{};            // Where relative paths of the command line start.
    std::filesystem::path workspace_dir{};  // The project that the operator works in.
    // Makes the run of a RunCommand, so that a signal can interrupt it. Null: one of its own.
    service::RunClient* run_client{nullptr};
};

struct DaemonContext {
    service::Daemon& daemon;
    const Terminal& terminal;
    base::Clock& clock;
};

struct SettingsContext {
    service::Settings& settings;
    const Terminal& terminal;
};

struct PlanContext {
    service::Plans& plans;
    const Terminal& terminal;
    base::Clock& clock;
    std::filesystem::path drafts;    // Where plans without a given file are kept.
    std::string user;                // The approver of approvals given here.
    service::McpLive* mcp{nullptr};  // Whose questions `holon approvals` shows, too.
};

struct GateContext {
    service::Gate& gate;
    const Terminal& terminal;
};

struct StoreContext {
    service::Backups& backups;
    const Terminal& terminal;
};

struct McpContext {
    service::Mcp& mcp;
    const Terminal& terminal;
};

struct McpLiveContext {
    service::McpLive& mcp;
    const Terminal& terminal;
};

// On a terminal people get sentences and tables; piped or with --json the output is JSON.
Exit execute(const Command& command, const Context& context);
Exit execute(const DaemonCommand& command, const DaemonContext& context);
Exit execute(const SettingsCommand& command, const SettingsContext& context);
Exit execute(const PlanCommand& command, const PlanContext& context);
Exit execute(const GateCommand& command, const GateContext& context);
Exit execute(const StoreCommand& command, const StoreContext& context);
Exit execute(const McpCommand& command, const McpContext& context);
Exit execute(const McpLiveCommand& command, const McpLiveContext& context);

// One answer in its two forms, for scripts and for people, and the exit code.
struct Answer {
    json::value data;
    std::string text;
    Exit exit{Exit::Success};
};
using Answered = base::Result<Answer>;
Exit give(const Terminal& terminal, bool json, const Answered& answer);

// "Error: …" on standard error.
Exit report(const Terminal& terminal, const base::Error& error);

// `exit`, or an error when the output could not be written.
Exit settle(const Terminal& terminal, Exit exit);

// The document that a program gets instead of a result: {ok: false, error, code}.
json::object error_document(const base::Error& error);
// The same as report(), and for a run in JSON the document on standard output.
Exit report(const Command& command, const Terminal& terminal, const base::Error& error);

}  // namespace cli
