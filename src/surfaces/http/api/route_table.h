// How lines of the tables of routes are written.
#pragma once

#include "surfaces/http/server/router.h"

namespace http_surface {

using Handler = base::Result<Response> (*)(const Context&, const Request&);

constexpr Route get(std::string_view pattern, std::string_view summary, Handler handle,
                    json::object (*response)(), std::span<const QueryDoc> query = {}) {
    return {.pattern = pattern,
            .summary = summary,
            .handle = handle,
            .response_schema = response,
            .query = query};
}

constexpr Route post(std::string_view pattern, std::string_view summary, Handler handle,
                     json::object (*request)(), json::object (*response)()) {
    return {.method = Method::Post,
            .pattern = pattern,
            .body = BodyRule::Json,
            .summary = summary,
            .handle = handle,
            .request_schema = request,
            .response_schema = response};
}

constexpr Route of_history(Route route) {
    route.is_replay = true;
    return route;
}

}  // namespace http_surface
