// The tools by which an agent reads the web: WebFetch and WebSearch.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/os/asio_loop.h"
#include "base/os/process.h"
#include "base/time.h"
#include "config/web/web.h"
#include "exec/tools/tool.h"
#include "exec/tools/web_tools/fetch.h"

namespace web_tools {

// Both are used on the loop, which must outlive them.
struct WebFetchParts {
    base::AsioLoop& loop;
    base::Clock& clock;
    config::WebFetch settings{};
    provider::HttpOptions http{};  // Its proxy is not used.
    // As in FetchParts; null: the rules of host_rules.h.
    std::function<bool(const Url&, const sockaddr&, const config::WebFetch&)> may_connect{};
};
std::unique_ptr<tools::Tool> web_fetch(WebFetchParts parts);

struct WebSearchParts {
    base::AsioLoop& loop;
    base::Clock& clock;
    base::ProcessRunner& processes;
    config::WebSearch settings{};
    provider::HttpOptions http{};
    // Of command providers; no secret is in it.
    std::vector<std::pair<std::string, std::string>> environment{};
};
std::unique_ptr<tools::Tool> web_search(WebSearchParts parts);

}  // namespace web_tools
