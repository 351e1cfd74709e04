#include "surfaces/cli/grammar/options.h"

namespace cli {
namespace {

using domain::SignatureScheme;
const std::map<std::string, SignatureScheme> kSignatures{{"none", SignatureScheme::None},
                                                         {"github", SignatureScheme::Github},
                                                         {"gitlab", SignatureScheme::Gitlab},
                                                         {"stripe", SignatureScheme::Stripe}};

void add_task(CLI::App& app, Invocation& invocation) {
    const auto task = add_command<TaskCommand>(
        app, invocation, "task",
        "Run a command as a background task; the agent receives its result");
    auto& request = task.action->request;
    auto* summary = task.sub->add_option("summary", request.summary, "The purpose of the task");
    auto* cmd = task.sub->add_option("--cmd", request.cmd, "The command");
    task.sub->add_option("--workdir", request.workdir, "The folder it runs in");
    task.sub->add_option("--shell", request.shell, "The shell that runs it");
    task.sub->add_option("--login", request.login, "As a login shell")->capture_default_str();
    task.sub->add_flag("--tty", request.tty, "Give it a terminal");
    task.sub->add_option("--yield-time-ms", request.yield_time_ms, "Wait this long for its end")
        ->check(CLI::NonNegativeNumber);
    task.sub->add_option("--max-output-tokens", request.max_output_tokens, "Show at most this much")
        ->check(CLI::PositiveNumber);
    auto* list = task.sub->add_flag("--list", task.action->list, "List the running tasks");
    task.sub->footer("\nExample:\n  holon task \"nightly tests\" --cmd \"make test\"");
    task.sub->callback([&invocation, action = task.action, summary, cmd, list] {
        if (list->count() == 0 && summary->count() == 0) throw CLI::RequiredError("SUMMARY");
        if (list->count() == 0 && cmd->count() == 0) throw CLI::RequiredError("--cmd");
        invocation.command = Command(*action);
    });
}

void add_timer(CLI::App& app, Invocation& invocation) {
    const auto timer = add_command<TimerCommand>(app, invocation, "timer",
                                                 "Wake an agent later, once or repeatedly");
    auto& request = timer.action->request;
    auto* after =
        timer.sub->add_option("--after-ms", request.duration_ms, "Time until the first wake-up")
            ->check(CLI::NonNegativeNumber);
    timer.sub->add_option("--every-ms", request.interval_ms, "Then repeat at this interval")
        ->check(CLI::PositiveNumber);
    timer.sub->add_option("--summary", request.summary, "The purpose of the timer");
    auto* cancel = timer.sub->add_option("--cancel", timer.action->cancel, "Cancel this timer");
    auto* list = timer.sub->add_flag("--list", timer.action->list, "Show the timers");
    after->excludes(cancel)->excludes(list);
    cancel->excludes(list);
    timer.sub->footer(
        "\nExamples:\n"
        "  holon timer --after-ms 3600000 --summary \"check the build\"\n"
        "  holon timer --list");
    timer.sub->callback([&invocation, action = timer.action, after, cancel, list] {
        if (after->count() + cancel->count() + list->count() == 0)
            throw CLI::RequiredError("--after-ms");
        invocation.command = Command(*action);
    });
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
        "  pass show stripe/whsec | holon webhook create --signature stripe --secret-stdin\n"
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
    prompt.sub->add_option("text", prompt.action->text, "The message")->required();
    prompt.sub->footer("\nExample:\n  holon prompt \"how far are you?\" && holon tail -f");
    add_task(app, invocation);
    add_timer(app, invocation);
    add_workspaces(app, invocation);
    add_trigger(app, invocation);
    add_webhooks(app, invocation);
    add_old_control(app, invocation);
}

}  // namespace cli
