// Which destinations a confined command may reach through the proxy. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <netinet/in.h>
#include <sys/socket.h>

namespace sandbox {

struct Destination {
    std::string host;  // Lower case; an address in brackets has lost them.
    int port{0};
    friend bool operator==(const Destination&, const Destination&) = default;
};

// "host:port", "[::1]:port" or "host" with `port_default`. Empty for text that is neither a name
// nor an address.
std::optional<Destination> parse_destination(std::string_view text, int port_default);

// `rules`: "example.com" (ports 80 and 443), "example.com:8443", "*.example.com" (names below it,
// not itself), each also with a port.
bool is_allowed(const Destination& destination, const std::vector<std::string>& rules);

// Addresses of this machine and of private networks. A listed name that resolves to one is treated
// as an attack, unless the list names the address itself.
bool is_private(const sockaddr& address);
bool is_address(const std::string& host);

// The destination that the head of a request names: CONNECT host:port, or METHOD http://host/path.
struct Request {
    Destination destination;
    bool is_tunnel{false};
    std::string forwarded;  // The head to send to the destination; empty for a tunnel.
};
std::optional<Request> parse_request(std::string_view head);

}  // namespace sandbox
