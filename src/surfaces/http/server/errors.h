// The JSON of a failure: {"ok":false,"error":…,"code":…} and its status, from one table.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "surfaces/http/server/exchange.h"

namespace http_surface {

unsigned status_of(const base::Error& error);

// The error's `kind` becomes `code`, its details further members.
Response error_response(const base::Error& error);

// A failure of the request itself, before any service was asked.
Response refusal(unsigned status, std::string_view code, std::string_view message);

}  // namespace http_surface
