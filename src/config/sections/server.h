// Where the runtime listens, and who may control it; from the environment only.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/typed.h"

namespace config {

inline constexpr int kDefaultPort = 7878;
inline constexpr std::size_t kSocketPathMax = 107;  // The limit of the kernel.
inline constexpr std::size_t kTokenBytesMax = 4096;

// When a control token is required over TCP. Auto and Required: always; on a loopback address the
// daemon makes one when none is configured. Disabled: never, on a loopback address that is not
// advertised.
enum class AuthMode { Auto, Required, Disabled };
BOOST_DESCRIBE_ENUM(AuthMode, Auto, Required, Disabled)

struct Server {
    std::string http_addr{"127.0.0.1:7878"};
    bool is_http_addr_set{false};  // By the operator; else it is the default.
    std::optional<std::string> callback_base_url{};
    std::filesystem::path socket_path;
    std::string control_token{};  // A secret; empty: none.
    std::string viewer_token{};   // The same, for clients that may only read.
    // Where the daemon keeps the token that it makes when none is configured.
    std::filesystem::path control_token_file{};
    AuthMode control_auth_mode{AuthMode::Auto};
};

// HOLON_HTTP_ADDR, HOLON_CALLBACK_BASE_URL, HOLON_SOCKET_PATH, HOLON_CONTROL_TOKEN,
// HOLON_VIEWER_TOKEN and HOLON_CONTROL_AUTH_MODE.
base::Result<Server> load_server(const std::filesystem::path& home,
                                 const std::map<std::string, std::string>& environment);

// Trimmed. A blank one, or one that is not allowed in a header, is InvalidInput; `where` names the
// source in the error. The value is not repeated.
base::Result<std::string> check_token(std::string_view text, std::string_view where);

struct HostPort {
    std::string host;  // Without brackets.
    int port{0};       // 0: none was given.
    friend bool operator==(const HostPort&, const HostPort&) = default;
};
// "127.0.0.1:7878", "[::1]:7878", "host", "::1". Nothing for anything else.
std::optional<HostPort> parse_host_port(std::string_view text);
std::string to_text(const HostPort& address);

bool is_ip(std::string_view host);
// localhost, 127.*, ::1. A name that is not known to be local counts as foreign.
bool is_loopback(std::string_view host);

}  // namespace config
