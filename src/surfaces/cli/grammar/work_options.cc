#include "surfaces/cli/grammar/options.h"

namespace cli {
namespace {

Added<WorkCommand> add_verb(CLI::App& work, Invocation& invocation, WorkVerb verb, const char* name,
                            const char* help) {
    auto added = add_command<WorkCommand>(work, invocation, name, help);
    added.action->verb = verb;
    if (auto* limit = added.sub->get_option_no_throw("--limit"); limit && verb != WorkVerb::List)
        added.sub->remove_option(limit);
    return added;
}

Added<WorkCommand> add_change(CLI::App& work, Invocation& invocation, WorkVerb verb,
                              const char* name, const char* help) {
    auto added = add_verb(work, invocation, verb, name, help);
    added.sub->add_option("work_item_id", added.action->id, "The id that 'work list' shows")
        ->required();
    return added;
}

}  // namespace

void add_work(CLI::App& app, Invocation& invocation) {
    auto* work = app.add_subcommand("work", "Objectives that an agent works through by itself");
    work->require_subcommand(1);
    work->footer(
        "\nExamples:\n"
        "  holon work add \"fix the flaky login test\"\n"
        "  holon work list --filter open\n"
        "  holon work block work_0123 \"waiting for the review\"");
    const auto add =
        add_verb(*work, invocation, WorkVerb::Add, "add", "Give an agent a new objective");
    add.sub->add_option("objective", add.action->text, "What is to be achieved")->required();
    const auto list =
        add_verb(*work, invocation, WorkVerb::List, "list", "List work items, newest change first");
    list.sub->add_option("--filter", list.action->filter, "Which of them")
        ->transform(CLI::CheckedTransformer(
                        std::map<std::string, service::WorkFilter>{
                            {"all", service::WorkFilter::All},
                            {"open", service::WorkFilter::Open},
                            {"runnable", service::WorkFilter::Runnable},
                            {"blocked", service::WorkFilter::Blocked},
                            {"waiting_for_operator", service::WorkFilter::WaitingForOperator},
                            {"completed", service::WorkFilter::Completed}})
                        .description("{all,open,runnable,blocked,waiting_for_operator,completed}"))
        ->default_str("all");
    list.sub->add_option("--after", list.action->after, "Continue after this page");
    add_change(*work, invocation, WorkVerb::Show, "show", "Show one work item");
    add_change(*work, invocation, WorkVerb::Pick, "pick", "Make it the agent's current one");
    const auto block = add_change(*work, invocation, WorkVerb::Block, "block",
                                  "Have it wait; the agent is reminded later");
    block.sub->add_option("reason", block.action->text, "What it waits for")->required();
    block.sub
        ->add_option("--recheck-after-ms", block.action->recheck_after_ms,
                     "When to remind the agent (default: one hour)")
        ->check(CLI::PositiveNumber);
    add_change(*work, invocation, WorkVerb::Unblock, "unblock", "Let it continue");
    add_change(*work, invocation, WorkVerb::Done, "done", "Mark it as completed");
    add_change(*work, invocation, WorkVerb::Plan, "plan", "Open its plan in $EDITOR");

    auto* wait = app.add_subcommand("wait", "What an agent waits for");
    wait->require_subcommand(1);
    wait->footer("\nExample:\n  holon wait list --agent main");
    add_command<WaitListCommand>(*wait, invocation, "list", "List the open waits of an agent");
}

}  // namespace cli
