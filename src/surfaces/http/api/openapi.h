// The OpenAPI 3.1 document, made of the table of routes and of the types of their bodies.
#pragma once

#include <span>

#include "base/json.h"
#include "surfaces/http/server/router.h"

namespace http_surface {

json::object openapi_document(std::span<const Route> routes);

}  // namespace http_surface
