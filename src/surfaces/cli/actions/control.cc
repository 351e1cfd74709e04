#include "base/text.h"
#include "surfaces/cli/actions/actions.h"

namespace cli {
namespace {

constexpr std::int64_t kShownMax = 200;

std::string next_fire(const domain::Timer& timer) {
    return timer.next_fire_at ? base::to_text(*timer.next_fire_at) : "-";
}

Exit list_tasks(const std::string& agent, bool json, const Context& context) {
    const auto tasks = context.service.tasks(agent, kShownMax);
    if (!tasks) return report(context.terminal, tasks.error());
    if (wants_json(context, json)) return answer(context, json, json_list(*tasks), "");
    for (const auto& task : *tasks)
        context.terminal.print_line(fmt::format(
            "{:<36} {:<10} {:<9} {}", task.id, base::enum_name(task.status),
            age_of(task.updated_at, context), base::printable(task.summary.value_or(""))));
    if (tasks->empty()) context.terminal.note("No task is running.");
    return Exit::Success;
}

Exit list_timers(const std::string& agent, bool json, const Context& context) {
    const auto timers = context.service.timers(agent, {.limit = kShownMax});
    if (!timers) return report(context.terminal, timers.error());
    if (wants_json(context, json)) return answer(context, json, json_list(timers->items), "");
    for (const auto& timer : timers->items)
        context.terminal.print_line(fmt::format("{:<36} {:<10} {:<27} {}", timer.id,
                                                base::enum_name(timer.status), next_fire(timer),
                                                base::printable(timer.summary.value_or(""))));
    if (timers->items.empty()) context.terminal.note("There are no timers.");
    return Exit::Success;
}

Exit answer_timer(const base::Result<domain::Timer>& timer, bool json, const Context& context) {
    if (!timer) return report(context.terminal, timer.error());
    return answer(context, json, base::to_json(*timer),
                  fmt::format("timer {} is {}, next at {}", timer->id,
                              base::enum_name(timer->status), next_fire(*timer)));
}

}  // namespace

Exit on(const PromptCommand& command, const Context& context) {
    const std::string agent = agent_of(command.agent, context);
    const auto message = context.service.prompt(agent, command.text, context.caller);
    if (!message) return report(context.terminal, message.error());
    return answer(context, command.json,
                  json::object{{"ok", true}, {"agent_id", agent}, {"message_id", *message}},
                  fmt::format("Sent to agent {0}. Follow it with: holon tail -f --agent {0}",
                              base::printable(agent)));
}

Exit on(const TaskCommand& command, const Context& context) {
    const std::string agent = agent_of(command.agent, context);
    if (command.list) return list_tasks(agent, command.json, context);
    service::TaskRequest request = command.request;
    if (request.workdir) request.workdir = (context.cwd / *request.workdir).lexically_normal();
    const auto task = context.service.start_task(agent, request, context.caller);
    if (!task) return report(context.terminal, task.error());
    return answer(context, command.json, base::to_json(*task),
                  fmt::format("task {} is {}; agent {} will receive its result", task->id,
                              base::enum_name(task->status), base::printable(agent)));
}

Exit on(const TimerCommand& command, const Context& context) {
    const std::string agent = agent_of(command.agent, context);
    if (command.list) return list_timers(agent, command.json, context);
    if (command.cancel)
        return answer_timer(context.service.cancel_timer(agent, *command.cancel, context.caller),
                            command.json, context);
    return answer_timer(context.service.create_timer(agent, command.request, context.caller),
                        command.json, context);
}

// A relative path starts in the folder of this shell, not in that of the daemon.
Exit on(const WorkspaceAttachCommand& command, const Context& context) {
    const std::string agent = agent_of(command.agent, context);
    const std::string path = (context.cwd / command.path).lexically_normal();
    const auto entry = context.service.attach_workspace(agent, path, context.caller);
    if (!entry) return report(context.terminal, entry.error());
    return answer(context, command.json,
                  json::object{{"ok", true},
                               {"agent_id", agent},
                               {"workspace_id", entry->workspace_id},
                               {"workspace_anchor", entry->workspace_anchor}},
                  fmt::format("agent {} may use {} (workspace {})", base::printable(agent),
                              base::printable(entry->workspace_anchor), entry->workspace_id));
}

Exit on(const WorkspaceExitCommand& command, const Context& context) {
    const std::string agent = agent_of(command.agent, context);
    const auto done = context.service.exit_workspace(agent, context.caller);
    if (!done) return report(context.terminal, done.error());
    return answer(context, command.json, json::object{{"ok", true}, {"agent_id", agent}},
                  fmt::format("agent {} works in its own folder again", base::printable(agent)));
}

Exit on(const WorkspaceDetachCommand& command, const Context& context) {
    const std::string agent = agent_of(command.agent, context);
    const auto done = context.service.detach_workspace(agent, command.workspace_id, context.caller);
    if (!done) return report(context.terminal, done.error());
    return answer(
        context, command.json,
        json::object{{"ok", true}, {"agent_id", agent}, {"workspace_id", command.workspace_id}},
        fmt::format("workspace {} was detached from agent {}",
                    base::printable(command.workspace_id), base::printable(agent)));
}

Exit on(const TriggerCommand& command, const Context& context) {
    const std::string agent = agent_of(command.agent, context);
    if (command.action == TriggerAction::Revoke) {
        const auto done = context.service.revoke_trigger(agent, context.caller);
        if (!done) return report(context.terminal, done.error());
        return answer(
            context, command.json, json::object{{"ok", true}, {"agent_id", agent}},
            fmt::format("agent {} can no longer be woken by URL", base::printable(agent)));
    }
    const bool rotate = command.action == TriggerAction::Rotate;
    const auto trigger = context.service.external_trigger(agent, rotate, context.caller);
    if (!trigger) return report(context.terminal, trigger.error());
    return answer(context, command.json, *trigger, pointer_text(*trigger, "/trigger_url"));
}

namespace {

Exit list_webhooks(const WebhookCommand& command, const std::string& agent,
                   const Context& context) {
    const auto webhooks = context.service.webhooks(agent);
    if (!webhooks) return report(context.terminal, webhooks.error());
    if (wants_json(context, command.json))
        return answer(context, command.json, json_list(*webhooks), "");
    for (const auto& one : *webhooks)
        context.terminal.print_line(fmt::format(
            "{:<20} {:<8} {:<8} {:>7} deliveries, last {}", one.name,
            base::enum_name(one.signature), base::enum_name(one.status), one.delivery_count,
            one.last_delivered_at ? age_of(*one.last_delivered_at, context) : "never"));
    if (webhooks->empty())
        context.terminal.note(
            fmt::format("Agent {0} has no webhook. Make one with: holon webhook create --agent {0}",
                        base::printable(agent)));
    return Exit::Success;
}

std::string webhook_text(const service::WebhookView& webhook) {
    std::string text = fmt::format("url      {}", webhook.webhook_url.value_or("-"));
    if (webhook.secret) text += fmt::format("\nsecret   {}", *webhook.secret);
    return text + "\nBoth are shown only now; enter them where the sender asks for them.";
}

}  // namespace

Exit on(const WebhookCommand& command, const Context& context) {
    const std::string agent = agent_of(command.agent, context);
    if (command.action == WebhookAction::List) return list_webhooks(command, agent, context);
    std::optional<std::string> secret;
    if (command.secret_stdin) {
        auto read = context.terminal.read_secret("Signing secret: ");
        if (!read) return report(context.terminal, read.error());
        secret = std::move(*read);
    }
    if (command.action == WebhookAction::Revoke) {
        const auto revoked = context.service.revoke_webhook(agent, command.webhook, context.caller);
        if (!revoked) return report(context.terminal, revoked.error());
        return answer(context, command.json, base::to_json(*revoked),
                      fmt::format("webhook {} of agent {} is closed",
                                  base::printable(revoked->name), base::printable(agent)));
    }
    service::WebhookRequest request = command.request;
    request.secret = secret;
    const auto made =
        command.action == WebhookAction::Create
            ? context.service.create_webhook(agent, request, context.caller)
            : context.service.rotate_webhook(agent, command.webhook, secret, context.caller);
    if (!made) return report(context.terminal, made.error());
    return answer(context, command.json, base::to_json(*made), webhook_text(*made));
}

}  // namespace cli
