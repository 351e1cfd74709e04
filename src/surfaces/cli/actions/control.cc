#include "base/calendar/calendar.h"
#include "base/text.h"
#include "surfaces/cli/actions/actions.h"
#include "surfaces/cli/actions/follow.h"
#include "surfaces/show/columns.h"
#include "surfaces/show/table.h"
#include "surfaces/show/times.h"
#include "surfaces/show/words.h"

namespace cli {
namespace {

constexpr std::int64_t kShownMax = 200;

std::string next_fire(const domain::Timer& timer) {
    return timer.next_fire_at ? show::local_time(*timer.next_fire_at) : "-";
}

Exit list_tasks(const std::string& agent, bool json, const Context& context) {
    const auto tasks = context.service.tasks(agent, kShownMax);
    if (!tasks) return report(context.terminal, tasks.error());
    if (wants_json(context, json)) return answer(context, json, json_list(*tasks), "");
    show::Rows rows;
    for (const auto& task : *tasks)
        rows.push_back({task.id.value, std::string(base::enum_name(task.status)),
                        age_of(task.updated_at, context),
                        base::printable(task.summary.value_or(""))});
    if (rows.empty())
        context.terminal.note("No task is running.");
    else
        context.terminal.print_line(show::table(rows, out_columns(context.terminal)));
    return Exit::Success;
}

// "every 15m", "0 9 * * * (Europe/Berlin)"
std::string repetition(const domain::Timer& timer) {
    if (timer.cron)
        return fmt::format("{} ({})", base::printable(*timer.cron),
                           base::printable(timer.time_zone.value_or("UTC")));
    return timer.interval_ms ? "every " + show::duration_text(*timer.interval_ms) : "once";
}

Exit list_timers(const std::string& agent, bool json, const Context& context) {
    const auto timers = context.service.timers(agent, {.limit = kShownMax});
    if (!timers) return report(context.terminal, timers.error());
    if (wants_json(context, json)) return answer(context, json, json_list(timers->items), "");
    show::Rows rows;
    for (const auto& timer : timers->items)
        rows.push_back({timer.id.value, std::string(base::enum_name(timer.status)),
                        next_fire(timer), repetition(timer),
                        base::printable(timer.summary.value_or(""))});
    if (rows.empty())
        context.terminal.note("There are no timers.");
    else
        context.terminal.print_line(show::table(rows, out_columns(context.terminal)));
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
    const auto newest = command.wait ? context.service.newest_event(agent) : 0;
    if (!newest) return report(context.terminal, newest.error());
    const auto message = context.service.prompt(agent, command.text, context.caller);
    if (!message) return report(context.terminal, message.error());
    if (command.wait)
        return wait_for_answer(
            {.agent = agent, .message = *message, .after_seq = *newest, .json = command.json},
            context);
    return answer(context, command.json,
                  json::object{{"ok", true}, {"agent_id", agent}, {"message_id", *message}},
                  fmt::format("Sent to agent {0}. Follow it with: holon tail -f --agent {0}",
                              base::printable(agent)));
}

namespace {

Exit show_output(const TaskCommand& command, const std::string& agent, const Context& context) {
    const auto output = context.service.task_output(agent, command.id);
    if (!output) return report(context.terminal, output.error());
    const json::value task(*output);
    std::string text =
        fmt::format("task {} · {} · {}", show::pointer_text(task, "/task_id"),
                    show::pointer_text(task, "/status"), show::pointer_text(task, "/summary"));
    if (const auto status = show::pointer_text(task, "/exit_status"); status != "-")
        text += " · exit " + status;
    if (const auto shown = base::string_at(task, "output_preview"); !shown.empty())
        text += "\n" + base::printable(shown, true);
    return answer(context, command.json, task, text);
}

}  // namespace

Exit on(const TaskCommand& command, const Context& context) {
    const std::string agent = agent_of(command.agent, context);
    if (command.verb == TaskVerb::List) return list_tasks(agent, command.json, context);
    if (command.verb == TaskVerb::Output) return show_output(command, agent, context);
    service::TaskRequest request = command.request;
    if (request.workdir) request.workdir = (context.cwd / *request.workdir).lexically_normal();
    const auto task = command.verb == TaskVerb::Stop
                          ? context.service.stop_task(agent, command.id, context.caller)
                      : command.verb == TaskVerb::Input
                          ? context.service.send_task_input(agent, command.id, command.text + "\n",
                                                            context.caller)
                          : context.service.start_task(agent, request, context.caller);
    if (!task) return report(context.terminal, task.error());
    std::string text = fmt::format("task {} is {}", task->id, base::enum_name(task->status));
    if (command.verb == TaskVerb::Start)
        text += fmt::format("; agent {} will receive its result", base::printable(agent));
    return answer(context, command.json, base::to_json(*task), text);
}

Exit on(const TimerCommand& command, const Context& context) {
    const std::string agent = agent_of(command.agent, context);
    if (command.list) return list_timers(agent, command.json, context);
    if (command.cancel)
        return answer_timer(context.service.cancel_timer(agent, *command.cancel, context.caller),
                            command.json, context);
    service::TimerRequest request = command.request;
    if ((command.at || request.cron) && !request.time_zone)
        request.time_zone = calendar::local_zone();
    if (command.at) {
        const auto at = calendar::next_local(*command.at, *request.time_zone, context.clock.now());
        if (!at) return report(context.terminal, at.error());
        request.at = *at;
    }
    return answer_timer(context.service.create_timer(agent, request, context.caller), command.json,
                        context);
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

Exit on(const UndoCommand& command, const Context& context) {
    const std::string agent = agent_of(command.agent, context);
    const auto undone = context.service.undo(agent, command.request, context.caller);
    if (!undone) return report(context.terminal, undone.error());
    return answer(context, command.json, base::to_json(*undone), show::undone_text(*undone));
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
    return answer(context, command.json, *trigger, show::pointer_text(*trigger, "/trigger_url"));
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
