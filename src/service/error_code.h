// The `code` of a failure, in the documents that programs read.
#pragma once

#include <string_view>

#include "base/result.h"

namespace service {

// The kind of the failure, else the class that it belongs to.
inline std::string_view code_of(const base::Error& error) {
    if (!error.kind.empty()) return error.kind;
    switch (error.code) {
        case base::ErrorCode::InvalidInput:
            return "bad_request";
        case base::ErrorCode::Refused:
            return "forbidden";
        case base::ErrorCode::NotFound:
            return "resource_not_found";  // "not_found" says that there is no such route.
        case base::ErrorCode::Conflict:
            return "conflict";
        case base::ErrorCode::Unavailable:
            return "unavailable";
        case base::ErrorCode::Io:
        case base::ErrorCode::Corrupt:
        case base::ErrorCode::Internal:
            return "internal";
    }
    return "internal";
}

}  // namespace service
