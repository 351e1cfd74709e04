// What the commands of `holon plan` share, and one function for each of them.
#pragma once

#include "service/plans_json.h"
#include "surfaces/cli/cli.h"

namespace cli {

// One run of a command: its options, and whether scripts or people read the answer.
struct PlanCall {
    const PlanContext& context;
    bool json;
    bool wants_json() const { return json || !context.terminal.is_for_people(); }
};

template <class T>
void print_json(const PlanCall& call, const T& value) {
    call.context.terminal.print_line(base::pretty_json(service::plan_json(value)));
}

// What has been approved, and what begins it.
std::string approved_text(const domain::PlanRun& run);
// Prints the status of a run, and gives the exit code that follows from it.
Exit print_status(const PlanCall& call, const domain::PlanRun& run);
json::array fault_list(const std::vector<service::PlanFault>& faults);

// A file, or standard input for "-".
base::Result<std::string> read_input(const Terminal& terminal, const std::string& file);
base::Result<service::PlanRequest> request_of(const PlanSource& source, const Terminal& terminal);

base::Result<Exit> on(const PlanMakeCommand& command, const PlanCall& call);  // make.cc

base::Result<Exit> on(const ApprovalsCommand& command, const PlanCall& call);  // approvals.cc

base::Result<Exit> on(const PlanStatusCommand& command, const PlanCall& call);  // after.cc
base::Result<Exit> on(const PlanListCommand& command, const PlanCall& call);
base::Result<Exit> on(const PlanShowCommand& command, const PlanCall& call);
base::Result<Exit> on(const PlanVerifyCommand& command, const PlanCall& call);
base::Result<Exit> on(const PlanReplayCommand& command, const PlanCall& call);
base::Result<Exit> on(const PlanRevertCommand& command, const PlanCall& call);

base::Result<Exit> on(const PlanSaveCommand& command, const PlanCall& call);  // actions.cc
base::Result<Exit> on(const PlanActionsCommand& command, const PlanCall& call);
base::Result<Exit> on(const PlanExportCommand& command, const PlanCall& call);
base::Result<Exit> on(const PlanImportCommand& command, const PlanCall& call);
base::Result<Exit> on(const PlanForgetCommand& command, const PlanCall& call);
base::Result<Exit> on(const PlanPruneCommand& command, const PlanCall& call);
base::Result<Exit> on(const ToolsCommand& command, const PlanCall& call);

// A run's journal is read whole to show what it has done so far.
inline constexpr std::int64_t kRecordsCaughtUp = 1'000'000;

}  // namespace cli
