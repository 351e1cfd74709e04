#include "surfaces/cli/grammar/options.h"

namespace cli {
namespace {

constexpr std::int64_t kRunsListedMax = 1000;
constexpr std::int64_t kApprovalHoursMax = 24 * 30;

template <class T>
Added<T> add(CLI::App& group, Invocation& invocation, const char* name, const char* help) {
    const auto added = add_to<PlanCommand, T>(group, invocation, name, help);
    constexpr bool kReadsFiles =
        std::is_same_v<T, PlanVerifyCommand> || std::is_same_v<T, PlanReplayCommand>;
    if constexpr (requires { added.action->run; } && !std::is_same_v<T, PlanSaveCommand>)
        added.sub
            ->add_option("run", added.action->run,
                         kReadsFiles
                             ? "Its id, the beginning of it, last, or a folder with its files"
                             : "Its id, the beginning of it, or last")
            ->required();
    return added;
}

void add_place(CLI::App& sub, PlanSource& source) {
    sub.add_option("--vault", source.vault, "The folder the plan works in (default: here)");
    sub.add_option("--param", source.params, "name=value for $vars.params.name; may be repeated");
    sub.add_option("--policy", source.policy_file,
                   "A JSON file that overrides parts of the policy (see docs/plans.md)");
    sub.add_option("--active-file", source.active_file, "The note that editor tools work on");
    sub.add_option("--selection", source.selection,
                   "What is selected in it: start:end, counted in characters");
    sub.add_option("--cursor", source.cursor, "Where the cursor is in it, counted in characters");
}

void add_file(CLI::App& sub, PlanSource& source) {
    sub.add_option("file", source.file, "A plan in JSON or YAML; - reads standard input")
        ->required();
}

void add_running(CLI::App& plan, Invocation& invocation) {
    const auto check =
        add<PlanCheckCommand>(plan, invocation, "check", "Report all faults of a plan");
    add_file(*check.sub, check.action->source);
    const auto preview = add<PlanPreviewCommand>(plan, invocation, "preview",
                                                 "Show what a plan would do, without running it");
    preview.sub
        ->add_option("file", preview.action->source.file,
                     "A plan in JSON or YAML, - for standard input, or a stored run")
        ->required();
    add_place(*preview.sub, preview.action->source);
    const auto run = add<PlanRunCommand>(plan, invocation, "run",
                                         "Run a plan; ask first when it changes anything");
    add_file(*run.sub, run.action->source);
    add_place(*run.sub, run.action->source);
    run.sub->add_flag("--yes", run.action->yes, "Approve it without asking");
    run.sub->add_flag("--dry-run", run.action->dry_run, "The same as preview");
    const auto make = add<PlanMakeCommand>(
        plan, invocation, "make", "Ask a model for a plan and show what it would do; runs nothing");
    make.sub
        ->add_option("goal", make.action->request.goal, "What the plan should do, in your words")
        ->required();
    make.sub->add_option("--model", make.action->request.model,
                         "Ask this model: provider/model (default: the configured one)");
    make.sub->add_option("--vault", make.action->request.vault,
                         "The folder the plan is for (default: here)");
    make.sub->add_option("--out", make.action->out, "Write the plan to this file");
    make.sub->add_flag("--force", make.action->force, "Overwrite the file of --out without asking");
    make.sub->add_option("--save", make.action->save,
                         "Save the plan under this name, as an action");
    const auto action = add<PlanRunCommand>(plan, invocation, "run-action", "Run a saved plan");
    action.sub->add_option("name", action.action->source.action, "Its name")->required();
    add_place(*action.sub, action.action->source);
    action.sub->add_flag("--yes", action.action->yes, "Approve it without asking");
    action.sub->add_flag("--dry-run", action.action->dry_run, "Show what it would do");
}

void add_runs(CLI::App& plan, Invocation& invocation) {
    const auto approve =
        add<PlanApproveCommand>(plan, invocation, "approve", "Approve a run that waits for it");
    approve.sub->add_option("--hours", approve.action->hours, "How long the approval is valid")
        ->check(CLI::Range(std::int64_t{1}, kApprovalHoursMax))
        ->capture_default_str();
    const auto reject =
        add<PlanRejectCommand>(plan, invocation, "reject", "End a run before it begins");
    reject.sub->add_option("--reason", reject.action->reason, "Why");
    const auto resume =
        add<PlanResumeCommand>(plan, invocation, "resume",
                               "Begin an approved run, or resume an interrupted or failed one");
    resume.sub->add_flag("--yes", resume.action->yes, "Approve it first, if necessary");
    const auto cancel =
        add<PlanCancelCommand>(plan, invocation, "cancel", "Cancel a run and all its calls");
    cancel.sub->add_option("--reason", cancel.action->reason, "Why");
    add<PlanStatusCommand>(plan, invocation, "status", "Show the status of a run");
    const auto list = add<PlanListCommand>(plan, invocation, "list", "List runs, newest first");
    list.sub->add_option("--limit", list.action->limit, "How many at most")
        ->check(CLI::Range(std::int64_t{1}, kRunsListedMax))
        ->capture_default_str();
    list.sub->add_option("--before", list.action->before, kBeforeHelp);
    add<PlanShowCommand>(plan, invocation, "show", "Show all records of a run");
    add<PlanVerifyCommand>(plan, invocation, "verify",
                           "Verify order, pairing, approval and integrity of a run's files");
    add<PlanReplayCommand>(plan, invocation, "replay",
                           "Decide a run again from its files; report differences");
    const auto revert =
        add<PlanRevertCommand>(plan, invocation, "revert", "Undo the changes of a run");
    revert.sub->add_flag("--yes", revert.action->yes, "Revert without asking");
}

void add_prune(CLI::App& plan, Invocation& invocation) {
    const auto prune =
        add<PlanPruneCommand>(plan, invocation, "prune", "Delete old runs and their records");
    prune.sub->add_option("--older-than", prune.action->older_than,
                          "Runs that ended longer ago: 30d, 12h, 90m (default: as configured)");
    prune.sub->add_flag("--dry-run", prune.action->dry_run, "Only list them");
}

void add_actions(CLI::App& plan, Invocation& invocation) {
    const auto save =
        add<PlanSaveCommand>(plan, invocation, "save", "Save a plan under a name, as an action");
    save.sub->add_option("name", save.action->name, "Its name")->required();
    auto* run = save.sub->add_option("--run", save.action->run, "The plan of this run");
    auto* file = save.sub->add_option("--file", save.action->file, "The plan in this file");
    run->excludes(file);
    save.sub->add_option("--description", save.action->description, "What it does");
    add<PlanActionsCommand>(plan, invocation, "actions", "List saved plans");
    const auto out = add<PlanExportCommand>(plan, invocation, "export",
                                            "Print a saved plan as one JSON document");
    out.sub->add_option("name", out.action->name, "Its name")->required();
    const auto in = add<PlanImportCommand>(plan, invocation, "import",
                                           "Save a plan that was exported; it is checked first");
    in.sub->add_option("file", in.action->file, "The file; - reads standard input")->required();
    in.sub->add_option("--name", in.action->name, "Save it under another name");
    const auto forget = add<PlanForgetCommand>(plan, invocation, "forget", "Remove a saved plan");
    forget.sub->add_option("name", forget.action->name, "Its name")->required();
}

}  // namespace

void add_plans(CLI::App& app, Invocation& invocation) {
    auto* plan = app.add_subcommand("plan", "Make, check, preview, run and verify plans");
    plan->require_subcommand(1);
    plan->footer(
        "\nExamples:\n"
        "  holon plan make \"give every idea in Ideas.md its own note\" --out ideas.json\n"
        "  holon plan check tidy.yaml\n"
        "  holon plan run tidy.yaml --vault ~/notes\n"
        "  holon plan verify last\n"
        "  holon plan revert last\n"
        "  holon plan save weekly --run last && holon plan run-action weekly --yes\n"
        "\nExit codes:\n"
        "  0 success   1 error   2 usage   3 the run failed or succeeded only in part; the\n"
        "  files are not valid; a replay differs; not all could be undone   5 waits for approval\n"
        "  6 the plan has faults, nothing was run   130 cancelled");
    add_running(*plan, invocation);
    add_runs(*plan, invocation);
    add_prune(*plan, invocation);
    add_actions(*plan, invocation);
    auto* approvals = add<ApprovalsCommand>(app, invocation, "approvals",
                                            "List what waits for your approval, and ask yes or no")
                          .sub;
    approvals->footer("\nExample:\n  holon approvals");
    const auto tools =
        add<ToolsCommand>(app, invocation, "tools", "List the tools that plans and agents can use");
    tools.sub->add_option("name", tools.action->name, "Only this one, with its schemas");
}

}  // namespace cli
