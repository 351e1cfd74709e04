// Whether something listens. Opens a connection and closes it again; sends nothing.
#pragma once

#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace service {

using namespace std::chrono_literals;

inline constexpr std::chrono::milliseconds kLocalProbeTimeout = 200ms;
inline constexpr std::chrono::milliseconds kRemoteProbeTimeout = 5s;

// Where model servers are found on a machine by custom.
struct LocalModelServer {
    int port;
    std::string_view name;
};
inline constexpr auto kLocalModelServers =
    std::to_array<LocalModelServer>({{8000, "vLLM"}, {11434, "Ollama"}});

// Blocks: for the look-up of a name as long as the system takes, then up to `timeout` for each
// address.
bool is_reachable(const std::string& host, int port, std::chrono::milliseconds timeout);

struct Endpoint {
    std::string host;
    int port{0};
    friend bool operator==(const Endpoint&, const Endpoint&) = default;
};
// Of an http or https URL; nothing for any other text.
std::optional<Endpoint> endpoint_of(std::string_view url);

}  // namespace service
