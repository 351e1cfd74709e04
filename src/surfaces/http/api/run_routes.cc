#include "surfaces/http/api/answers.h"
#include "surfaces/http/api/bodies.h"
#include "surfaces/http/api/handlers.h"
#include "surfaces/http/live/held_runs.h"

namespace http_surface::runs {
namespace {

constexpr std::int64_t kRunsDefault = 20;

const std::string& run_of(const Request& request) {
    return request.params.find("run_id")->second;
}

}  // namespace

Answer start(const Context& context, const Request& request) {
    const auto body = TRY(body_of<service::RunRequest>(request, base::Unknown::Reject));
    return Response{.held_run = TRY(HeldRun::start(context.service, body, caller_of(request)))};
}

Answer list(const Context& context, const Request& request) {
    const auto limit = TRY(number_of(request, "limit", kRunsDefault));
    json::array runs;
    for (const auto& run : TRY(context.service.recent_runs(limit)))
        runs.push_back(base::to_json(run));
    return json_response(runs);
}

Answer result(const Context& context, const Request& request) {
    return json_response(base::to_json(TRY(context.service.run_result(run_of(request)))));
}

Answer interrupt(const Context& context, const Request& request) {
    const auto body = TRY(body_of<InterruptBody>(request));
    TRY(context.service.interrupt_run(run_of(request), body.reason));
    return json_response(base::to_json(Ok{}));
}

Answer finish(const Context& context, const Request& request) {
    TRY(context.service.finish_run(run_of(request)));
    return json_response(base::to_json(Ok{}));
}

}  // namespace http_surface::runs
