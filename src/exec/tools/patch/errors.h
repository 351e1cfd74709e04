// The failures of the patch tool, with messages that say what to send next.
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "domain/tool.h"

namespace patch {

template <class T>
using Outcome = std::expected<T, domain::ToolError>;
using Failure = std::unexpected<domain::ToolError>;

// An error of `kind`; the hint is left out when empty. Texts become valid UTF-8.
Failure failure(std::string_view kind, std::string_view message, json::object details,
                std::string_view hint);

struct At {
    std::size_t line{0};  // In the patch, from 1; 0 when no line is to blame.
    std::string_view path{};
};

// `invalid_patch_syntax`: the text breaks `rule`. The hint says how that rule is kept.
Failure syntax_failure(std::string_view rule, std::string_view message, At at = {});

// `unsupported_git_patch_feature`, for the header line `line`.
Failure unsupported_feature(std::string_view line);

// Text of a file or patch as a short JSON string: valid UTF-8, cut where it is long.
json::string preview(std::string_view bytes);

}  // namespace patch
