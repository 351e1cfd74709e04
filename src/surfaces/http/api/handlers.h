// The handlers of the routes, by subject, and their shared functions.
#pragma once

#include <string>

#include "base/typed.h"
#include "surfaces/http/server/errors.h"
#include "surfaces/http/server/router.h"

namespace http_surface {

using Answer = base::Result<Response>;

// The agent of the path, or the default one. NotFound when it is not a valid agent name.
base::Result<std::string> agent_of(const Context& context, const Request& request);

// The JSON of a body. Unsupported types and broken text are errors with their kinds.
base::Result<json::value> json_of(const Request& request);

// A body as a T: the JSON has to be an object of its shape (invalid_body).
template <class T>
base::Result<T> body_of(const Request& request, base::Unknown unknown = base::Unknown::Ignore) {
    const auto value = TRY(json_of(request));
    auto body = base::from_json<T>(value, unknown);
    if (!body) body.error().kind = "invalid_body";
    return body;
}

// A query number; the fallback when it is absent. `kind` of a failure: invalid_query.
base::Result<std::int64_t> number_of(const Request& request, std::string_view key,
                                     std::int64_t fallback);
base::Result<std::optional<std::int64_t>> cursor_of(const Request& request, std::string_view key);
// Where a stream continues. A reconnecting EventSource repeats its URL, so its last event id takes
// precedence over the URL's after_seq.
base::Result<std::optional<std::int64_t>> stream_cursor(const Request& request);

// The part of a list that the query asks for by `limit` and `before`.
base::Result<service::ListQuery> list_query(const Request& request, std::int64_t limit,
                                            std::int64_t limit_max);
// The same list's next part, as a Link header (RFC 8288); none after the last part.
void add_next_link(Response& response, const Request& request, const std::string& next);

service::Caller caller_of(const Request& request);

namespace reads {
Answer root(const Context&, const Request&);
Answer models(const Context&, const Request&);
Answer agent_list(const Context&, const Request&);
Answer status(const Context&, const Request&);
Answer state(const Context&, const Request&);
Answer briefs(const Context&, const Request&);
Answer transcript(const Context&, const Request&);
Answer tasks(const Context&, const Request&);
Answer timers(const Context&, const Request&);
Answer events(const Context&, const Request&);
Answer event_stream(const Context&, const Request&);
}  // namespace reads

namespace searches {
Answer memory(const Context&, const Request&);
Answer document(const Context&, const Request&);
Answer records(const Context&, const Request&);
}  // namespace searches

namespace deliveries {
Answer enqueue(const Context&, const Request&);
Answer webhook(const Context&, const Request&);
Answer closed_webhook(const Context&, const Request&);
Answer wake_callback(const Context&, const Request&);
Answer enqueue_callback(const Context&, const Request&);
Answer prompt(const Context&, const Request&);
Answer wake(const Context&, const Request&);
}  // namespace deliveries

namespace runs {
Answer list(const Context&, const Request&);
Answer start(const Context&, const Request&);
Answer result(const Context&, const Request&);
Answer interrupt(const Context&, const Request&);
Answer finish(const Context&, const Request&);
}  // namespace runs

namespace controls {
Answer control(const Context&, const Request&);
Answer abort_run(const Context&, const Request&);
Answer compact(const Context&, const Request&);
Answer create(const Context&, const Request&);
Answer start_task(const Context&, const Request&);
Answer stop_task(const Context&, const Request&);
Answer task_input(const Context&, const Request&);
Answer task_output(const Context&, const Request&);
Answer move_agent(const Context&, const Request&);
Answer delete_agent(const Context&, const Request&);
Answer create_timer(const Context&, const Request&);
Answer cancel_timer(const Context&, const Request&);
Answer debug_prompt(const Context&, const Request&);
Answer set_model(const Context&, const Request&);
Answer clear_model(const Context&, const Request&);
Answer attach_workspace(const Context&, const Request&);
Answer exit_workspace(const Context&, const Request&);
Answer undo(const Context&, const Request&);
Answer detach_workspace(const Context&, const Request&);
Answer external_trigger(const Context&, const Request&);
Answer rotate_trigger(const Context&, const Request&);
Answer revoke_trigger(const Context&, const Request&);
Answer webhooks(const Context&, const Request&);
Answer create_webhook(const Context&, const Request&);
Answer rotate_webhook(const Context&, const Request&);
Answer revoke_webhook(const Context&, const Request&);
Answer operator_bindings(const Context&, const Request&);
Answer bind_operator(const Context&, const Request&);
Answer revoke_operator_binding(const Context&, const Request&);
Answer operator_ingress(const Context&, const Request&);
}  // namespace controls

namespace work {
Answer list(const Context&, const Request&);
Answer show(const Context&, const Request&);
Answer create(const Context&, const Request&);
Answer pick(const Context&, const Request&);
Answer block(const Context&, const Request&);
Answer unblock(const Context&, const Request&);
Answer done(const Context&, const Request&);
}  // namespace work

namespace skills {
Answer templates(const Context&, const Request&);
Answer list(const Context&, const Request&);
Answer show(const Context&, const Request&);
Answer install(const Context&, const Request&);
Answer uninstall(const Context&, const Request&);
}  // namespace skills

namespace gates {
Answer list(const Context&, const Request&);
Answer show(const Context&, const Request&);
Answer check(const Context&, const Request&);
Answer release(const Context&, const Request&);
Answer purge(const Context&, const Request&);
}  // namespace gates

namespace mcp_servers {
Answer questions(const Context&, const Request&);
Answer answer(const Context&, const Request&);
Answer prompts(const Context&, const Request&);
Answer expand(const Context&, const Request&);
}  // namespace mcp_servers

namespace runtime {
Answer handshake(const Context&, const Request&);
Answer status(const Context&, const Request&);
Answer readiness(const Context&, const Request&);
Answer shutdown(const Context&, const Request&);
Answer metrics(const Context&, const Request&);
Answer healthz(const Context&, const Request&);
Answer readyz(const Context&, const Request&);
Answer openapi(const Context&, const Request&);
}  // namespace runtime

// For parts of the reference that this runtime does not have yet.
Answer not_supported(const Context&, const Request&);

}  // namespace http_surface
