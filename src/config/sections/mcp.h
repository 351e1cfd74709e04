// MCP servers: external programs whose tools agents and plans may use. Only operators name them; no
// model and no server can.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/typed.h"
#include "domain/tool.h"

namespace config {

using Environment = std::map<std::string, std::string>;

inline constexpr std::int64_t kMcpTimeoutDefaultMs = 60'000;
inline constexpr std::int64_t kMcpTimeoutMaxMs = 3'600'000;
// From its start, or the first request to it, until it has listed its tools.
inline constexpr std::int64_t kMcpStartTimeoutDefaultMs = 60'000;
inline constexpr std::size_t kMcpServersMax = 32;
// Of a server's name. With two underscores inside, a tool's name could not be split again.
inline constexpr std::size_t kMcpNameCharsMax = 24;

// As it is written in config.json.
struct McpToolsSection {
    std::optional<std::vector<std::string>> allow{};
    std::optional<std::vector<std::string>> deny{};
};
BOOST_DESCRIBE_STRUCT(McpToolsSection, (), (allow, deny))
struct McpOauthSection {
    std::optional<std::string> client_id{};
    std::optional<std::string> client_secret{};
    std::optional<std::string> scope{};
    std::optional<std::int64_t> callback_port{};
};
BOOST_DESCRIBE_STRUCT(McpOauthSection, (), (client_id, client_secret, scope, callback_port))
struct McpServerSection {
    std::optional<std::string> command{};
    std::optional<std::string> url{};
    std::optional<std::map<std::string, std::string>> headers{};
    std::optional<std::int64_t> start_timeout_ms{};
    std::optional<std::vector<std::string>> args{};
    std::optional<std::map<std::string, std::string>> env{};
    std::optional<std::string> cwd{};
    std::optional<bool> enabled{};
    std::optional<std::int64_t> timeout_ms{};
    std::optional<domain::RiskLevel> risk{};
    std::optional<McpToolsSection> tools{};
    std::optional<McpOauthSection> oauth{};
};
BOOST_DESCRIBE_STRUCT(McpServerSection, (),
                      (command, url, headers, start_timeout_ms, args, env, cwd, enabled, timeout_ms,
                       risk, tools, oauth))
struct McpSection {
    std::optional<std::map<std::string, McpServerSection>> servers{};
};
BOOST_DESCRIBE_STRUCT(McpSection, (), (servers))

base::Status check_mcp(const McpSection& section);

// How to log in to a server that wants it; `client_secret` is a secret.
struct McpOauth {
    std::string client_id{};  // Empty: holon registers itself.
    std::string client_secret{};
    std::string scope{};            // Empty: what the server asks for.
    std::int64_t callback_port{0};  // Where the browser comes back to; 0: any free one.
};

// A server as it is to be started, or reached. `environment` and `headers` hold secrets: they are
// never printed or logged.
struct McpServer {
    std::string name;
    std::string command{};
    std::string url{};  // Not empty: the server is reached over HTTP, and nothing is started.
    std::vector<std::pair<std::string, std::string>> headers{};
    std::int64_t start_timeout_ms{kMcpStartTimeoutDefaultMs};
    std::vector<std::string> args{};
    std::vector<std::pair<std::string, std::string>> environment{};  // The whole of it.
    std::filesystem::path cwd{};
    bool enabled{true};
    std::int64_t timeout_ms{kMcpTimeoutDefaultMs};  // For one call.
    domain::RiskLevel risk{domain::RiskLevel::Commands};
    std::optional<std::vector<std::string>> allow{};  // None: all but `deny`.
    std::vector<std::string> deny{};
    McpOauth oauth{};
    std::string fault{};  // Why it cannot be started, or empty.
};

// With the few variables that any program needs (PATH, HOME, the language) and those that its `env`
// sets; "$NAME" there and in `headers` is the value of that variable, "$$" a dollar sign; in
// headers also after a scheme: "Bearer $NAME".
std::vector<McpServer> mcp_servers(const McpSection& section, const Environment& environment,
                                   const std::filesystem::path& cwd);

// The variables that servers get by name, except those that every program has. They are secrets:
// commands do not get them.
std::vector<std::string> mcp_secret_names(const McpSection& section);

}  // namespace config
