// Which search providers are asked, in which order. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/web/web.h"
#include "exec/tools/web_tools/search/hits.h"

namespace web_tools {

// The provider that needs no setting.
inline constexpr std::string_view kBuiltinSearch = "duckduckgo";

// The providers to ask for `asked` (empty: as configured), most wanted first, no more than the
// settings allow attempts. The first one alone counts in mode single. Fails with a kind
// invalid_tool_input for a name that nobody has.
std::expected<std::vector<config::WebProvider>, SearchFault> chosen_providers(
    const config::WebSearch& settings, const std::string& asked);

}  // namespace web_tools
