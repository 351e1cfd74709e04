// Which hosts and addresses of the network may be reached. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <sys/socket.h>

#include "config/web/web.h"
#include "exec/tools/web_tools/url.h"

namespace web_tools {

// "example.com" (any port), "example.com:8443", "*.example.com" (names below it, not itself).
bool matches_rule(const Url& url, const std::vector<std::string>& rules);

// Why the settings do not allow this host, or nothing. The address that its name leads to is judged
// by may_connect().
std::optional<std::string> host_refusal(const Url& url, const config::WebFetch& settings);

// Where clouds hand out credentials to their machines. Never reached, whatever is allowed.
bool is_metadata(const sockaddr& address);

// Whether a connection to `address` may be opened for `url`. Loopback, private and link-local
// addresses only where an allow rule names the host.
bool may_connect(const Url& url, const sockaddr& address, const config::WebFetch& settings);

}  // namespace web_tools
