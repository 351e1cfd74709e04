// After a plan run: showing, verifying, replaying and reverting it.
#include "base/text.h"
#include "surfaces/cli/plan/call.h"
#include "surfaces/cli/plan/progress.h"
#include "surfaces/cli/plan/view.h"
#include "surfaces/show/columns.h"
#include "surfaces/show/table.h"
#include "surfaces/show/times.h"

namespace cli {

base::Result<Exit> on(const PlanStatusCommand& command, const PlanCall& call) {
    const auto run = TRY(call.context.plans.run(command.run));
    const bool executing = TRY(call.context.plans.is_executing(command.run));
    if (call.wants_json()) {
        auto out = service::plan_run_json(run);
        out["isCarried"] = executing;
        call.context.terminal.print_line(base::pretty_json(out));
    } else {
        call.context.terminal.print_line(base::printable(run.goal));
        call.context.terminal.print_line(run_summary(run));
        if (run.status == domain::PlanRunStatus::Running)
            call.context.terminal.print_line(
                executing ? "A process is executing it."
                          : "It was interrupted; no process is executing it.");
    }
    return Exit::Success;
}

base::Result<Exit> on(const PlanListCommand& command, const PlanCall& call) {
    const auto runs = TRY(call.context.plans.runs({command.limit, command.before}));
    json::array list;
    show::Rows rows;
    for (const auto& run : runs.items) {
        if (call.wants_json()) {
            list.push_back(service::plan_run_json(run));
            continue;
        }
        const auto age = std::chrono::duration_cast<std::chrono::seconds>(call.context.clock.now() -
                                                                          run.created_at);
        rows.push_back(
            {run.run_id.value, std::string(base::enum_name(run.status)),
             show::age_text(age.count()),
             fmt::format("{}/{}", run.counts.succeeded, run.counts.steps),
             base::printable(base::collapse_whitespace(run.goal)) +
                 (run.owner ? " (agent " + base::printable(run.owner->agent_id.value) + ")" : "")});
    }
    if (call.wants_json())
        call.context.terminal.print_line(base::pretty_json(list));
    else if (rows.empty())
        call.context.terminal.note("There are no runs.");
    else
        call.context.terminal.print_line(show::table(rows, out_columns(call.context.terminal)));
    tell_next(call.context.terminal, runs.next);
    return Exit::Success;
}

base::Result<Exit> on(const PlanShowCommand& command, const PlanCall& call) {
    call.context.terminal.print_line(base::pretty_json(TRY(call.context.plans.show(command.run))));
    return Exit::Success;
}

base::Result<Exit> on(const PlanVerifyCommand& command, const PlanCall& call) {
    const auto verdict = TRY(call.context.plans.verify(command.run));
    if (call.wants_json()) {
        print_json(call, verdict);
    } else {
        for (const auto& fault : verdict.faults)
            call.context.terminal.print_line(styled(call.context.terminal, Style::Red, "✗ ") +
                                             base::printable(fault));
        for (const auto& unknown : verdict.unknown_outcomes)
            call.context.terminal.print_line("? unknown outcome: " + base::printable(unknown));
        if (verdict.ok)
            call.context.terminal.print_line(
                fmt::format("Verified: {} calls with their results, {} events, {} approved "
                            "changes, one unbroken "
                            "chain.",
                            verdict.calls, verdict.events, verdict.approved_calls));
        if (verdict.ok && !verdict.authenticated)
            call.context.terminal.print_line(
                "! This home has no such record: the files agree with each other, and who wrote "
                "them is not known.");
    }
    return verdict.ok ? Exit::Success : Exit::Failed;
}

base::Result<Exit> on(const PlanReplayCommand& command, const PlanCall& call) {
    const auto replay = TRY(call.context.plans.replay(command.run));
    if (call.wants_json()) {
        print_json(call, replay);
    } else {
        for (const auto& one : replay.divergences)
            call.context.terminal.print_line(base::printable(one));
        if (replay.ok)
            call.context.terminal.print_line(fmt::format(
                "The replay decided the same: {} recorded results served.", replay.served));
    }
    return replay.ok ? Exit::Success : Exit::Failed;
}

base::Result<Exit> on(const PlanRevertCommand& command, const PlanCall& call) {
    const auto& terminal = call.context.terminal;
    const auto run = TRY(call.context.plans.run(command.run));
    if (!command.yes) {
        if (!terminal.in_is_terminal || !terminal.err_is_terminal)
            return base::fail(base::ErrorCode::Refused,
                              "there is no terminal to confirm on; add --yes to revert run {}",
                              run.run_id);
        Progress progress(nullptr);
        for (const auto& record : TRY(call.context.plans.records(command.run, 0, kRecordsCaughtUp)))
            progress.note(record);
        for (const auto& line : changes_text(progress)) terminal.note("  " + line);
        if (!terminal.confirm(fmt::format("Undo the changes of run {} ({})? [y/N] ", run.run_id,
                                          base::printable(run.goal))))
            return Exit::Interrupted;
    }
    service::PlanObserver nobody;
    const auto reverted = TRY(call.context.plans.revert(command.run, call.context.user, nobody));
    if (call.wants_json()) {
        json::object out{{"restored", base::to_json(reverted.restored)},
                         {"notRestored", base::to_json(reverted.not_restored)},
                         {"noWayBack", base::to_json(reverted.no_way_back)}};
        if (reverted.run) out["run"] = service::plan_run_json(*reverted.run);
        terminal.print_line(base::pretty_json(out));
    } else {
        for (const auto& one : reverted.restored) terminal.print_line("✓ " + base::printable(one));
        for (const auto& one : reverted.not_restored)
            terminal.print_line(styled(terminal, Style::Red, "✗ ") + base::printable(one));
        for (const auto& one : reverted.no_way_back)
            terminal.print_line(styled(terminal, Style::Yellow, "! ") + base::printable(one) +
                                " cannot be undone");
        if (!reverted.run && reverted.no_way_back.empty())
            terminal.print_line("The run changed nothing.");
    }
    return reverted.not_restored.empty() && reverted.no_way_back.empty() ? Exit::Success
                                                                         : Exit::Failed;
}

}  // namespace cli
