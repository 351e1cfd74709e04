#include "surfaces/cli/grammar/options.h"

#include "base/calendar/calendar.h"

namespace cli {
namespace {

using domain::SignatureScheme;
const std::map<std::string, SignatureScheme> kSignatures{{"none", SignatureScheme::None},
                                                         {"github", SignatureScheme::Github},
                                                         {"gitlab", SignatureScheme::Gitlab},
                                                         {"stripe", SignatureScheme::Stripe}};

// A length of time as people write it, in milliseconds.
template <class Ms>
CLI::Option* add_duration(CLI::App& sub, const char* name, Ms& milliseconds, const char* help) {
    return sub.add_option_function<std::string>(
        name,
        [name, &milliseconds](const std::string& text) {
            const auto parsed = calendar::parse_duration_ms(text);
            if (!parsed) throw CLI::ValidationError(name, parsed.error().message);
            milliseconds = *parsed;
        },
        help);
}

void add_task_verb(CLI::App& task, Invocation& invocation, TaskVerb verb, const char* name,
                   const char* help) {
    const auto added = add_command<TaskCommand>(task, invocation, name, help);
    added.action->verb = verb;
    if (verb == TaskVerb::List) return;
    added.sub->add_option("task_id", added.action->id, "The id that 'task list' shows")->required();
    if (verb == TaskVerb::Input)
        added.sub->add_option("text", added.action->text, "What it reads; a newline is added")
            ->required();
}

void add_task(CLI::App& app, Invocation& invocation) {
    const auto task = add_command<TaskCommand>(
        app, invocation, "task",
        "Run a command as a background task; the agent receives its result");
    task.sub->require_subcommand(0, 1);
    auto& request = task.action->request;
    auto* summary = task.sub->add_option("summary", request.summary, "The purpose of the task");
    auto* cmd = task.sub->add_option("--cmd", request.cmd, "The command");
    task.sub->add_option("--workdir", request.workdir, "The folder it runs in");
    task.sub->add_option("--shell", request.shell, "The shell that runs it");
    task.sub->add_option("--login", request.login, "As a login shell")->capture_default_str();
    task.sub->add_flag("--tty", request.tty, "Give it a terminal");
    task.sub->add_flag("--accepts-input", request.accepts_input, "Let 'task input' write to it");
    task.sub->add_option("--yield-time-ms", request.yield_time_ms, "Wait this long for its end")
        ->check(CLI::NonNegativeNumber);
    task.sub->add_option("--max-output-tokens", request.max_output_tokens, "Show at most this much")
        ->check(CLI::PositiveNumber);
    auto* list = task.sub->add_flag_callback("--list", [] {}, "The same as task list");
    task.sub->footer(
        "\nExamples:\n"
        "  holon task \"nightly tests\" --cmd \"make test\"\n"
        "  holon task stop task_0123");
    task.sub->callback([&invocation, sub = task.sub, action = task.action, summary, cmd, list] {
        if (!sub->get_subcommands().empty()) return;
        if (list->count() > 0) action->verb = TaskVerb::List;
        if (list->count() == 0 && summary->count() == 0) throw CLI::RequiredError("SUMMARY");
        if (list->count() == 0 && cmd->count() == 0) throw CLI::RequiredError("--cmd");
        invocation.command = Command(*action);
    });
    add_task_verb(*task.sub, invocation, TaskVerb::List, "list", "List the running tasks");
    add_task_verb(*task.sub, invocation, TaskVerb::Output, "output",
                  "Show a task and the end of its output");
    add_task_verb(*task.sub, invocation, TaskVerb::Stop, "stop", "Stop a task; again: by force");
    add_task_verb(*task.sub, invocation, TaskVerb::Input, "input",
                  "Write to the standard input of a task");
}

void add_timer(CLI::App& app, Invocation& invocation) {
    const auto timer = add_command<TimerCommand>(app, invocation, "timer",
                                                 "Wake an agent later, once or repeatedly");
    auto& request = timer.action->request;
    auto* after = add_duration(*timer.sub, "--after", request.duration_ms,
                               "Time until the first wake-up: 90s, 1h30m, 2d");
    auto* after_ms = timer.sub->add_option("--after-ms", request.duration_ms, "The same in ms")
                         ->check(CLI::NonNegativeNumber);
    auto* every = add_duration(*timer.sub, "--every", request.interval_ms,
                               "Then repeat at this interval: 15m");
    timer.sub->add_option("--every-ms", request.interval_ms, "The same in ms")
        ->check(CLI::PositiveNumber)
        ->excludes(every);
    auto* at = timer.sub->add_option("--at", timer.action->at,
                                     "The first wake-up: 09:00 or \"2026-12-24 18:00\"");
    auto* cron =
        timer.sub->add_option("--cron", request.cron, "Whenever this fits: \"0 9 * * mon-fri\"");
    timer.sub->add_option("--time-zone", request.time_zone,
                          "Of --at and --cron, such as Europe/Berlin (default: yours)");
    timer.sub->add_option("--summary", request.summary, "The purpose of the timer");
    auto* cancel = timer.sub->add_option("--cancel", timer.action->cancel, "Cancel this timer");
    auto* list = timer.sub->add_flag("--list", timer.action->list, "Show the timers");
    const std::vector choices{after, after_ms, at, cron, cancel, list};
    for (std::size_t i = 0; i < choices.size(); ++i)
        for (std::size_t j = i + 1; j < choices.size(); ++j) choices[i]->excludes(choices[j]);
    timer.sub->footer(
        "\nExamples:\n"
        "  holon timer --after 1h30m --summary \"check the build\"\n"
        "  holon timer --cron \"0 9 * * mon-fri\" --summary \"read the mail\"\n"
        "  holon timer --list");
    timer.sub->callback([&invocation, action = timer.action, choices, every] {
        const bool is_any =
            std::ranges::any_of(choices, [](const auto* one) { return one->count() > 0; });
        // An interval alone begins with its first end.
        if (!is_any && every->count() > 0)
            action->request.duration_ms = *action->request.interval_ms;
        if (!is_any && every->count() == 0)
            throw CLI::RequiredError("one of --after, --every, --at, --cron, --cancel and --list");
        invocation.command = Command(*action);
    });
}

void add_undo(CLI::App& app, Invocation& invocation) {
    const auto undo = add_command<UndoCommand>(
        app, invocation, "undo", "Undo the patches of the agent's last turn that made any");
    undo.sub
        ->add_option("--patches", undo.action->request.patches, "Only this many, the newest first")
        ->check(CLI::PositiveNumber);
    undo.sub->add_flag("--dry-run", undo.action->request.dry_run, "Only list the files");
    undo.sub->footer(
        "\nNothing is changed when a file was changed since. The agent's next prompt\n"
        "says what was undone.\n\nExample:\n  holon undo --agent main --dry-run");
}

void add_workspaces(CLI::App& app, Invocation& invocation) {
    auto* workspace = app.add_subcommand("workspace", "Projects that an agent may work on");
    workspace->require_subcommand(1);
    workspace->footer("\nExample:\n  holon workspace attach ~/src/project --agent main");
    const auto attach = add_command<WorkspaceAttachCommand>(*workspace, invocation, "attach",
                                                            "Let an agent use a folder");
    attach.sub->add_option("path", attach.action->path, "The folder")->required();
    add_command<WorkspaceExitCommand>(*workspace, invocation, "exit",
                                      "Go back to the agent's own folder");
    const auto detach = add_command<WorkspaceDetachCommand>(*workspace, invocation, "detach",
                                                            "No longer let an agent use a folder");
    detach.sub
        ->add_option("workspace_id", detach.action->workspace_id, "The id that attach printed")
        ->required();
}

void add_trigger(CLI::App& app, Invocation& invocation) {
    auto* trigger = app.add_subcommand("trigger", "The URL by which others may wake an agent");
    trigger->require_subcommand(1);
    trigger->footer(
        "\nExample:\n  curl -X POST \"$(holon trigger show --json | jq -r .trigger_url)\"");
    struct Entry {
        const char* name;
        const char* help;
        TriggerAction action;
    };
    for (const Entry& entry :
         {Entry{"show", "Print the URL; anyone who has it can wake the agent", TriggerAction::Show},
          Entry{"rotate", "Replace the URL; the old one stops working", TriggerAction::Rotate},
          Entry{"revoke", "Revoke the URL", TriggerAction::Revoke}})
        add_command<TriggerCommand>(*trigger, invocation, entry.name, entry.help).action->action =
            entry.action;
}

void add_webhooks(CLI::App& app, Invocation& invocation) {
    auto* group = app.add_subcommand(
        "webhook", "URLs with secrets by which external systems send messages to an agent");
    group->require_subcommand(1);
    group->footer(
        "\nExamples:\n"
        "  holon webhook create --agent main --signature github\n"
        "  pass show whsec | holon webhook create --signature stripe --secret-stdin\n"
        "  holon webhook revoke github --agent main");
    const auto create = add_command<WebhookCommand>(
        *group, invocation, "create", "Make one; its URL and secret are printed only once");
    create.action->action = WebhookAction::Create;
    auto& request = create.action->request;
    create.sub->add_option("--name", request.name, "What it is called; default: its signature");
    create.sub->add_option("--signature", request.signature, "How the sender signs deliveries")
        ->transform(CLI::CheckedTransformer(kSignatures).description("{none,github,gitlab,stripe}"))
        ->default_str("none");
    create.sub->add_flag("--secret-stdin", create.action->secret_stdin,
                         "Read the signing secret from standard input; default: make one");
    create.sub
        ->add_option("--rate-per-minute", request.rate_per_minute,
                     "Deliveries it accepts in a minute; default: webhooks.rate_per_minute")
        ->check(CLI::PositiveNumber);
    create.sub
        ->add_option("--max-bytes", request.body_bytes_max,
                     "Bytes of one delivery; default: webhooks.body_bytes_max")
        ->check(CLI::PositiveNumber);
    add_command<WebhookCommand>(*group, invocation, "list", "Show them, without their secrets");
    const auto rotate = add_command<WebhookCommand>(
        *group, invocation, "rotate", "Replace URL and secret; the old ones stop working");
    rotate.action->action = WebhookAction::Rotate;
    rotate.sub->add_option("webhook", rotate.action->webhook, "Its name or id")->required();
    rotate.sub->add_flag("--secret-stdin", rotate.action->secret_stdin,
                         "Read the new signing secret from standard input");
    const auto revoke = add_command<WebhookCommand>(*group, invocation, "revoke",
                                                    "Close it; its URL stops working");
    revoke.action->action = WebhookAction::Revoke;
    revoke.sub->add_option("webhook", revoke.action->webhook, "Its name or id")->required();
}

// The old spelling of agent start, stop and abort.
void add_old_control(CLI::App& app, Invocation& invocation) {
    auto* control = app.add_subcommand("control", "Old form of holon agent start, stop, abort");
    control->require_subcommand(1);
    using service::LifecycleAction;
    add_command<LifecycleCommand>(*control, invocation, "start", "See holon agent start")
        .action->action = LifecycleAction::Start;
    add_command<LifecycleCommand>(*control, invocation, "stop", "See holon agent stop")
        .action->action = LifecycleAction::Stop;
    add_command<AbortCommand>(*control, invocation, "abort", "See holon agent abort");
}

}  // namespace

void add_control(CLI::App& app, Invocation& invocation) {
    const auto prompt = add_command<PromptCommand>(app, invocation, "prompt",
                                                   "Send a message to an agent of the daemon");
    prompt.sub->add_option("text", prompt.action->text, "The message; - is standard input")
        ->required();
    prompt.sub->add_flag("--wait", prompt.action->wait, "Wait for the answer and print it");
    prompt.sub->footer("\nExample:\n  holon prompt --wait \"how far are you?\"");
    add_task(app, invocation);
    add_timer(app, invocation);
    add_undo(app, invocation);
    add_workspaces(app, invocation);
    add_trigger(app, invocation);
    add_webhooks(app, invocation);
    add_old_control(app, invocation);
}

}  // namespace cli
