// A server over Streamable HTTP: each message is a POST, and what it answers, at once or as a
// stream of events, comes back as lines.
#pragma once

#include "exec/tools/mcp/child.h"
#include "exec/tools/mcp/oauth/authorizer.h"
#include "provider/http/http_client.h"

namespace mcp {

// Of one stream of events; a longer one is given up.
inline constexpr std::size_t kRemoteStreamBytesMax = std::size_t{64} * 1024 * 1024;
// How often the answer of one request is continued after its stream broke.
inline constexpr int kResumesMax = 5;
// How often in a row the stream of a server's own messages is opened without one coming.
inline constexpr int kListensMax = 5;

// Nothing is sent before the first write(). Redirects are not followed. `http` must outlive it, and
// `authorizer`, where there is one: requests then have the token of the operator's login, unless
// the settings have an Authorization header. A request that the server refuses for its token (HTTP
// 401) is sent once more with another one.
std::unique_ptr<Child> remote_child(provider::HttpClient& http, const config::McpServer& server,
                                    ChildEvents events, Authorizer* authorizer = nullptr);

// A value as a header of the protocol: as it is, or in base64 where a header cannot hold it.
std::string header_value(std::string_view value);

}  // namespace mcp
