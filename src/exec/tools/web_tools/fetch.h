// One page of the web: every hop is checked, and its address is the one that was checked.
#pragma once

#include <expected>
#include <functional>
#include <memory>
#include <string>

#include "base/time.h"
#include "config/web/web.h"
#include "domain/tool.h"
#include "exec/tools/tool.h"
#include "exec/tools/web_tools/url.h"
#include "provider/http/http_client.h"

namespace web_tools {

struct Page {
    Url url;                                    // As it was asked for.
    Url final_url;                              // After redirects.
    std::int64_t status{0};                     // Any that is no redirect.
    std::optional<std::string> content_type{};  // As the server sent it.
    std::string body{};                         // At most max_response_bytes.
    bool is_cut{false};                         // The body was longer.
    base::Time fetched_at{};
};

struct FetchFailure {
    domain::ToolError error;
    domain::ResultStatus status{domain::ResultStatus::Error};
};
using Fetched = std::expected<Page, FetchFailure>;

// Used on the loop only. `http` connects without a proxy, since a proxy would look up names itself,
// and serves nothing else.
struct FetchParts {
    provider::HttpClient& http;
    base::Clock& clock;
    config::WebFetch settings{};
    // Whether a connection may be opened; see host_rules.h. Tests have other networks.
    std::function<bool(const Url&, const sockaddr&, const config::WebFetch&)> may_connect;
};

// Fetches `url` and follows redirects; each hop may take `hop_timeout`. `done` comes once, not
// before this returns, and unless `http` is gone first. cancel() of the handle ends it.
std::shared_ptr<tools::Running> fetch(const FetchParts& parts, Url url,
                                      std::chrono::milliseconds hop_timeout,
                                      std::move_only_function<void(Fetched)> done);

}  // namespace web_tools
