#include "surfaces/http/api/answers.h"
#include "surfaces/http/api/bodies.h"
#include "surfaces/http/api/handlers.h"

#include "base/text.h"

namespace http_surface::work {
namespace {

constexpr std::int64_t kItemsShown = 50;
constexpr std::int64_t kItemsShownMax = 200;

const std::string& item_of(const Request& request) {
    return request.params.find("work_item_id")->second;
}

Answer change(const Context& context, const Request& request,
              const service::WorkItemChange& change) {
    return json_response(TRY(context.service.change_work_item(
        TRY(agent_of(context, request)), item_of(request), change, caller_of(request))));
}

Answer plain_change(const Context& context, const Request& request, service::WorkAction action) {
    TRY(body_of<TrustBody>(request, base::Unknown::Reject));
    return change(context, request, {.action = action});
}

}  // namespace

Answer list(const Context& context, const Request& request) {
    service::WorkItemsQuery query;
    query.limit = std::min(TRY(number_of(request, "limit", kItemsShown)), kItemsShownMax);
    if (const auto after = request.query.find("after"); after != request.query.end())
        query.after = after->second;
    if (const auto wanted = request.query.find("filter"); wanted != request.query.end()) {
        const auto filter = base::enum_from<service::WorkFilter>(wanted->second);
        if (!filter)
            return std::unexpected(
                base::Error{base::ErrorCode::InvalidInput,
                            "'filter' is all, open, runnable, blocked, waiting_for_operator or "
                            "completed",
                            "invalid_query"});
        query.filter = *filter;
    }
    return json_response(
        base::to_json(TRY(context.service.work_items(TRY(agent_of(context, request)), query))));
}

Answer show(const Context& context, const Request& request) {
    return json_response(
        TRY(context.service.work_item(TRY(agent_of(context, request)), item_of(request))));
}

Answer create(const Context& context, const Request& request) {
    const auto agent = TRY(agent_of(context, request));
    const auto body = TRY(body_of<WorkItemBody>(request));
    if (base::trim(body.objective).empty())
        return std::unexpected(base::Error{base::ErrorCode::InvalidInput,
                                           "objective must not be blank", "invalid_body"});
    return json_response(
        base::to_json(TRY(context.service.create_work_item(agent,
                                                           {.objective = body.objective,
                                                            .plan_status = body.plan_status,
                                                            .plan = body.plan,
                                                            .trust = body.trust},
                                                           caller_of(request)))));
}

Answer pick(const Context& context, const Request& request) {
    return plain_change(context, request, service::WorkAction::Pick);
}

Answer block(const Context& context, const Request& request) {
    const auto body = TRY(body_of<WorkBlockBody>(request, base::Unknown::Reject));
    return change(context, request,
                  {.action = service::WorkAction::Block,
                   .text = body.blocked_by,
                   .recheck_after_ms = body.recheck_after});
}

Answer unblock(const Context& context, const Request& request) {
    return plain_change(context, request, service::WorkAction::Unblock);
}

Answer done(const Context& context, const Request& request) {
    return plain_change(context, request, service::WorkAction::Done);
}

}  // namespace http_surface::work
