// Why a vault refused or failed a request. Kinds map to the codes of plans in the dispatcher.
#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "domain/tool.h"

namespace vault {

template <class T>
using Outcome = std::expected<T, domain::ToolError>;
using Failure = std::unexpected<domain::ToolError>;

// `path` is shown in the message and kept in the details; it may be any bytes.
Failure invalid(std::string_view path, std::string_view why,
                std::string_view hint);                        // VALIDATION_ERROR
Failure escapes(std::string_view path, std::string_view why);  // POLICY_DENIED
Failure denied(std::string_view path, std::string_view why,
               std::string_view hint);   // POLICY_DENIED
Failure missing(std::string_view path);  // NOT_FOUND
Failure conflict(std::string_view path, std::string_view why, std::string_view hint);  // CONFLICT
// CONFLICT that passes when another program has finished; `busy` in the details.
Failure busy(std::string_view path);
bool is_busy(const domain::ToolError& error);
Failure unfit(std::string_view path, std::string_view why,
              std::string_view hint);                                      // PRECONDITION_FAILED
Failure broken(std::string_view doing, std::string_view path, int error);  // INTERNAL_ERROR
Failure stopped();                                                         // CANCELLED

// The errno of the operating system for `path`, as one of the above.
Failure refused(std::string_view doing, std::string_view path, int error);

// A path in a form that is safe to show: valid UTF-8, no control characters, of bounded length.
std::string shown(std::string_view path);

}  // namespace vault
