#include "surfaces/http/api/answers.h"
#include "surfaces/http/api/bodies.h"
#include "surfaces/http/api/handlers.h"

#include "base/text.h"

namespace http_surface::controls {
namespace {

std::unexpected<base::Error> invalid(std::string message) {
    return std::unexpected(base::Error{base::ErrorCode::InvalidInput, std::move(message)});
}

const std::string& task_of(const Request& request) {
    return request.params.find("task_id")->second;
}

template <class T>
Response answer_with(const T& body) {
    return json_response(base::to_json(body));
}

Answer show_trigger(const Context& context, const Request& request, bool rotate) {
    const auto agent = TRY(agent_of(context, request));
    TRY(body_of<TrustBody>(request, base::Unknown::Reject));
    auto trigger = TRY(context.service.external_trigger(agent, rotate, caller_of(request)));
    trigger["ok"] = true;
    trigger["agent_id"] = agent;
    return json_response(trigger);
}

}  // namespace

Answer control(const Context& context, const Request& request) {
    const auto agent = TRY(agent_of(context, request));
    const auto body = TRY(body_of<ControlBody>(request));
    TRY(context.service.set_lifecycle(agent, body.action, caller_of(request)));
    return answer_with(Ok{});
}

Answer abort_run(const Context& context, const Request& request) {
    const auto agent = TRY(agent_of(context, request));
    const auto body = TRY(body_of<AbortBody>(request));
    const std::string mode = body.mode.value_or("stop_after_abort");
    if (mode != "stop_after_abort" && mode != "pause_after_abort")
        return invalid("mode must be stop_after_abort (or its old name pause_after_abort)");
    const auto aborted = TRY(context.service.abort_run(agent, body.run_id, caller_of(request)));
    Aborted answer{.agent_id = agent,
                   .run_id = body.run_id,
                   .mode = "stop_after_abort",
                   .admission_context = std::string(base::enum_name(request.rights.admission))};
    if (const auto run = base::string_at(aborted, "run_id"); !run.empty()) answer.run_id = run;
    if (body.trust) answer.provided_trust = base::enum_name(*body.trust);
    return answer_with(answer);
}

Answer compact(const Context& context, const Request& request) {
    const auto agent = TRY(agent_of(context, request));
    TRY(body_of<TrustBody>(request));
    const auto made = TRY(context.service.compact_conversation(agent, caller_of(request)));
    ConversationCompacted answer{
        .compacted = base::bool_at(made, "compacted"),
        .agent_id = agent,
        .compacted_rounds = base::int_at(made, "compacted_rounds"),
        .shortened_results = base::int_at(made, "shortened_results"),
        .previous_estimated_tokens = base::int_at(made, "previous_estimated_tokens"),
        .projected_estimated_tokens = base::int_at(made, "projected_estimated_tokens")};
    if (auto reason = base::string_at(made, "reason"); !reason.empty())
        answer.reason = std::move(reason);
    return answer_with(answer);
}

Answer create(const Context& context, const Request& request) {
    const auto& name = request.params.find("agent_id")->second;
    if (!domain::is_agent_id(name))
        return invalid("an agent's name has letters, digits, '.', '-' and '_', at most 64");
    const auto body = TRY(body_of<CreateBody>(request));
    const auto identity =
        TRY(context.service.create_agent(name, body.template_, caller_of(request)));
    return answer_with(identity);
}

Answer start_task(const Context& context, const Request& request) {
    const auto agent = TRY(agent_of(context, request));
    const auto body = TRY(body_of<TaskBody>(request, base::Unknown::Reject));
    const auto task = TRY(context.service.start_task(agent,
                                                     {.summary = body.summary,
                                                      .cmd = body.cmd,
                                                      .workdir = body.workdir,
                                                      .shell = body.shell,
                                                      .login = body.login,
                                                      .tty = body.tty,
                                                      .accepts_input = body.accepts_input,
                                                      .yield_time_ms = body.yield_time_ms,
                                                      .max_output_tokens = body.max_output_tokens,
                                                      .trust = body.trust},
                                                     caller_of(request)));
    return answer_with(task);
}

Answer stop_task(const Context& context, const Request& request) {
    const auto agent = TRY(agent_of(context, request));
    TRY(body_of<TrustBody>(request, base::Unknown::Reject));
    return answer_with(TRY(context.service.stop_task(agent, task_of(request), caller_of(request))));
}

Answer task_input(const Context& context, const Request& request) {
    const auto agent = TRY(agent_of(context, request));
    const auto body = TRY(body_of<TaskInputBody>(request, base::Unknown::Reject));
    return answer_with(TRY(
        context.service.send_task_input(agent, task_of(request), body.text, caller_of(request))));
}

Answer task_output(const Context& context, const Request& request) {
    const auto agent = TRY(agent_of(context, request));
    return json_response(TRY(context.service.task_output(agent, task_of(request))));
}

Answer move_agent(const Context& context, const Request& request) {
    const auto agent = TRY(agent_of(context, request));
    const auto body = TRY(body_of<MoveBody>(request, base::Unknown::Reject));
    if (!body.path.starts_with('/'))
        return invalid("path must be absolute, a folder on the daemon's machine");
    return answer_with(TRY(context.service.move_agent(agent, body.path, caller_of(request))));
}

Answer delete_agent(const Context& context, const Request& request) {
    const auto agent = TRY(agent_of(context, request));
    TRY(body_of<TrustBody>(request, base::Unknown::Reject));
    TRY(context.service.delete_agent(agent, caller_of(request)));
    return answer_with(Ok{});
}

Answer create_timer(const Context& context, const Request& request) {
    const auto agent = TRY(agent_of(context, request));
    const auto body = TRY(body_of<TimerBody>(request));
    if (body.duration_ms < 0 || body.interval_ms.value_or(1) < 1)
        return std::unexpected(base::Error{
            base::ErrorCode::InvalidInput,
            "duration_ms must be 0 or more, and interval_ms 1 or more", "invalid_body"});
    const auto timer = TRY(context.service.create_timer(agent,
                                                        {.duration_ms = body.duration_ms,
                                                         .interval_ms = body.interval_ms,
                                                         .summary = body.summary,
                                                         .trust = body.trust,
                                                         .at = body.at,
                                                         .cron = body.cron,
                                                         .time_zone = body.time_zone},
                                                        caller_of(request)));
    return answer_with(timer);
}

Answer cancel_timer(const Context& context, const Request& request) {
    const auto agent = TRY(agent_of(context, request));
    TRY(body_of<TrustBody>(request));
    const auto& timer = request.params.find("timer_id")->second;
    return answer_with(TRY(context.service.cancel_timer(agent, timer, caller_of(request))));
}

Answer debug_prompt(const Context& context, const Request& request) {
    const auto agent = TRY(agent_of(context, request));
    const auto body = TRY(body_of<DebugPromptBody>(request));
    const auto trust = body.trust.value_or(domain::TrustLevel::TrustedOperator);
    return answer_with(PromptDump{
        .agent_id = agent, .dump = TRY(context.service.debug_prompt(agent, body.text, trust))});
}

Answer set_model(const Context& context, const Request& request) {
    const auto agent = TRY(agent_of(context, request));
    const auto body = TRY(body_of<ModelBody>(request));
    constexpr std::array<std::string_view, 4> kEfforts{"low", "medium", "high", "xhigh"};
    if (body.reasoning_effort) {
        if (std::ranges::find(kEfforts, *body.reasoning_effort) == kEfforts.end())
            return invalid("reasoning_effort must be low, medium, high or xhigh");
        return std::unexpected(base::Error{base::ErrorCode::Unavailable,
                                           "this runtime cannot set a reasoning effort yet",
                                           "not_supported"});
    }
    return answer_with(ModelChanged{.agent_id = agent,
                                    .model = TRY(context.service.set_model(agent, body.model))});
}

Answer clear_model(const Context& context, const Request& request) {
    const auto agent = TRY(agent_of(context, request));
    TRY(body_of<TrustBody>(request));
    return answer_with(
        ModelChanged{.agent_id = agent, .model = TRY(context.service.clear_model(agent))});
}

Answer attach_workspace(const Context& context, const Request& request) {
    const auto agent = TRY(agent_of(context, request));
    const auto body = TRY(body_of<AttachBody>(request, base::Unknown::Reject));
    const auto entry = TRY(context.service.attach_workspace(agent, body.path, caller_of(request)));
    return answer_with(Attached{.agent_id = agent,
                                .workspace_id = entry.workspace_id,
                                .workspace_anchor = entry.workspace_anchor});
}

Answer exit_workspace(const Context& context, const Request& request) {
    const auto agent = TRY(agent_of(context, request));
    TRY(body_of<TrustBody>(request, base::Unknown::Reject));
    TRY(context.service.exit_workspace(agent, caller_of(request)));
    return answer_with(Done{.agent_id = agent});
}

Answer undo(const Context& context, const Request& request) {
    const auto agent = TRY(agent_of(context, request));
    const auto body = TRY(body_of<service::UndoRequest>(request, base::Unknown::Reject));
    return answer_with(TRY(context.service.undo(agent, body, caller_of(request))));
}

Answer detach_workspace(const Context& context, const Request& request) {
    const auto agent = TRY(agent_of(context, request));
    const auto body = TRY(body_of<DetachBody>(request, base::Unknown::Reject));
    TRY(context.service.detach_workspace(agent, body.workspace_id, caller_of(request)));
    return answer_with(Detached{.agent_id = agent, .workspace_id = body.workspace_id});
}

Answer external_trigger(const Context& context, const Request& request) {
    return show_trigger(context, request, false);
}

Answer rotate_trigger(const Context& context, const Request& request) {
    return show_trigger(context, request, true);
}

Answer revoke_trigger(const Context& context, const Request& request) {
    const auto agent = TRY(agent_of(context, request));
    TRY(body_of<TrustBody>(request, base::Unknown::Reject));
    TRY(context.service.revoke_trigger(agent, caller_of(request)));
    return answer_with(Done{.agent_id = agent});
}

Answer webhooks(const Context& context, const Request& request) {
    const auto agent = TRY(agent_of(context, request));
    return answer_with(TRY(context.service.webhooks(agent)));
}

Answer create_webhook(const Context& context, const Request& request) {
    const auto agent = TRY(agent_of(context, request));
    const auto body = TRY(body_of<service::WebhookRequest>(request, base::Unknown::Reject));
    return answer_with(TRY(context.service.create_webhook(agent, body, caller_of(request))));
}

Answer rotate_webhook(const Context& context, const Request& request) {
    const auto agent = TRY(agent_of(context, request));
    const auto body = TRY(body_of<RotateWebhookBody>(request, base::Unknown::Reject));
    const auto& webhook = request.params.find("webhook_id")->second;
    return answer_with(
        TRY(context.service.rotate_webhook(agent, webhook, body.secret, caller_of(request))));
}

Answer revoke_webhook(const Context& context, const Request& request) {
    const auto agent = TRY(agent_of(context, request));
    TRY(body_of<TrustBody>(request, base::Unknown::Reject));
    const auto& webhook = request.params.find("webhook_id")->second;
    return answer_with(TRY(context.service.revoke_webhook(agent, webhook, caller_of(request))));
}

}  // namespace http_surface::controls
