#include "config/sections/mcp.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace config {
namespace {

using base::ErrorCode;
using base::fail;
using base::Status;

constexpr std::int64_t kPortMax = 65'535;

// A server is an external program: it does not get other variables.
constexpr auto kInherited = std::to_array<const char*>(
    {"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "LC_CTYPE", "TERM", "TZ",
     "TMPDIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"});

bool is_name(std::string_view name) {
    const auto fits = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
    };
    return !name.empty() && name.size() <= kMcpNameCharsMax && std::ranges::all_of(name, fits) &&
           !name.contains("__") && !name.starts_with('_') && !name.ends_with('_');
}

// The variable that "$NAME" names, or empty for literal text.
std::optional<std::string> named_variable(std::string_view value) {
    if (value.size() < 2 || value[0] != '$' || value[1] == '$') return std::nullopt;
    return std::string(value.substr(1));
}

bool is_header_name(std::string_view name) {
    const auto fits = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '-' || c == '_';
    };
    return !name.empty() && std::ranges::all_of(name, fits);
}

bool has_line_break(std::string_view value) {
    return value.find_first_of(std::string_view("\0\r\n", 3)) != value.npos;
}

// The variable in the value of a header, alone or after a scheme, and what stands before it.
std::optional<std::pair<std::string, std::string>> variable_in_header(std::string_view value) {
    const auto blank = value.rfind(' ');
    const auto word = blank == value.npos ? value : value.substr(blank + 1);
    auto variable = named_variable(word);
    if (!variable) return std::nullopt;
    return std::pair(std::string(value.substr(0, value.size() - word.size())),
                     std::move(*variable));
}

// Scopes, as RFC 6749 writes them.
bool is_scope(std::string_view text) {
    return std::ranges::all_of(
        text, [](char c) { return c >= 0x20 && c <= 0x7e && c != '"' && c != '\\'; });
}

Status check_oauth(const McpOauthSection& oauth, bool has_url, const std::string& place) {
    if (!has_url) return fail(ErrorCode::InvalidInput, "{}/oauth: is for a url only", place);
    const auto port = oauth.callback_port.value_or(0);
    if (oauth.callback_port && (port < 1 || port > kPortMax))
        return fail(ErrorCode::InvalidInput, "{}/oauth/callback_port: must be 1 to {}, got {}",
                    place, kPortMax, port);
    if (!is_scope(oauth.scope.value_or("")) || !is_scope(oauth.client_id.value_or("")))
        return fail(ErrorCode::InvalidInput,
                    "{}/oauth: client_id and scope are printable ASCII without quotes", place);
    const auto& secret = oauth.client_secret;
    if (secret && !oauth.client_id)
        return fail(ErrorCode::InvalidInput, "{}/oauth/client_secret: needs client_id", place);
    if (secret && !named_variable(*secret))
        return fail(ErrorCode::InvalidInput,
                    "{}/oauth/client_secret: must be $NAME, the variable with the secret", place);
    return {};
}

Status check_server(const std::string& name, const McpServerSection& section) {
    const std::string place = base::typed::child_pointer("/mcp/servers", name);
    if (!is_name(name))
        return fail(ErrorCode::InvalidInput,
                    "{}: a server is named with at most {} of a-z, 0-9, '-' and single '_' inside",
                    place, kMcpNameCharsMax);
    const bool has_command = !base::trim(section.command.value_or("")).empty();
    const bool has_url = section.url && !section.url->empty();
    if (has_command == has_url)
        return fail(ErrorCode::InvalidInput,
                    "{}: needs either command, the program to start, or url, the address of a "
                    "server over HTTP",
                    place);
    if (has_url && !section.url->starts_with("https://") && !section.url->starts_with("http://"))
        return fail(ErrorCode::InvalidInput, "{}/url: must start with https:// or http://", place);
    if (has_url && (section.args || section.env || section.cwd))
        return fail(ErrorCode::InvalidInput, "{}: args, env and cwd are for a command only", place);
    if (section.headers && !has_url)
        return fail(ErrorCode::InvalidInput, "{}/headers: are for a url only", place);
    for (const auto& [header, value] : section.headers.value_or(Environment{}))
        if (!is_header_name(header) || has_line_break(value))
            return fail(ErrorCode::InvalidInput, "{}/headers: '{}' cannot be sent", place,
                        base::printable(header));
    if (section.oauth) TRY(check_oauth(*section.oauth, has_url, place));
    const auto timeout = section.timeout_ms.value_or(kMcpTimeoutDefaultMs);
    if (timeout < 1 || timeout > kMcpTimeoutMaxMs)
        return fail(ErrorCode::InvalidInput, "{}/timeout_ms: must be 1 to {}, got {}", place,
                    kMcpTimeoutMaxMs, timeout);
    const auto start = section.start_timeout_ms.value_or(kMcpStartTimeoutDefaultMs);
    if (start < 1 || start > kMcpTimeoutMaxMs)
        return fail(ErrorCode::InvalidInput, "{}/start_timeout_ms: must be 1 to {}, got {}", place,
                    kMcpTimeoutMaxMs, start);
    for (const auto& [variable, value] : section.env.value_or(Environment{}))
        if (variable.empty() || variable.contains('=') || variable.contains('\0') ||
            value.contains('\0'))
            return fail(ErrorCode::InvalidInput, "{}/env: the variable '{}' cannot be set", place,
                        base::printable(variable));
    return {};
}

void add_environment(McpServer& server, const McpServerSection& section,
                     const Environment& environment) {
    Environment all;
    for (const char* name : kInherited)
        if (const auto found = environment.find(name); found != environment.end())
            all[name] = found->second;
    for (const auto& [name, value] : section.env.value_or(Environment{})) {
        const auto variable = named_variable(value);
        if (!variable) {
            all[name] = value.starts_with("$$") ? value.substr(1) : value;
            continue;
        }
        const auto found = environment.find(*variable);
        if (found == environment.end() || found->second.empty())
            server.fault = fmt::format(
                "the environment variable {} is not set; it is named by "
                "mcp.servers.{}.env",
                base::printable(*variable), server.name);
        else
            all[name] = found->second;
    }
    server.environment.assign(all.begin(), all.end());
}

void add_headers(McpServer& server, const McpServerSection& section,
                 const Environment& environment) {
    for (const auto& [name, value] : section.headers.value_or(Environment{})) {
        const auto variable = variable_in_header(value);
        if (!variable) {
            server.headers.emplace_back(name, value.starts_with("$$") ? value.substr(1) : value);
            continue;
        }
        const auto found = environment.find(variable->second);
        if (found == environment.end() || found->second.empty() || has_line_break(found->second))
            server.fault = fmt::format(
                "the environment variable {} is not set to one line; it is named by "
                "mcp.servers.{}.headers",
                base::printable(variable->second), server.name);
        else
            server.headers.emplace_back(name, variable->first + found->second);
    }
}

void add_oauth(McpServer& server, const McpServerSection& section, const Environment& environment) {
    if (!section.oauth) return;
    const auto& oauth = *section.oauth;
    server.oauth = {.client_id = oauth.client_id.value_or(""),
                    .scope = oauth.scope.value_or(""),
                    .callback_port = oauth.callback_port.value_or(0)};
    const auto variable = named_variable(oauth.client_secret.value_or(""));
    const auto found = variable ? environment.find(*variable) : environment.end();
    if (found != environment.end()) server.oauth.client_secret = found->second;
}

}  // namespace

Status check_mcp(const McpSection& section) {
    if (!section.servers) return {};
    if (section.servers->size() > kMcpServersMax)
        return fail(ErrorCode::InvalidInput, "/mcp/servers: at most {}, got {}", kMcpServersMax,
                    section.servers->size());
    for (const auto& [name, server] : *section.servers) {
        const auto status = check_server(name, server);
        if (!status) return status;
    }
    return {};
}

std::vector<McpServer> mcp_servers(const McpSection& section, const Environment& environment,
                                   const std::filesystem::path& cwd) {
    std::vector<McpServer> servers;
    if (!section.servers) return servers;
    for (const auto& [name, stored] : *section.servers) {
        const auto tools = stored.tools.value_or(McpToolsSection{});
        McpServer server{
            .name = name,
            .command = stored.command.value_or(""),
            .url = stored.url.value_or(""),
            .start_timeout_ms = stored.start_timeout_ms.value_or(kMcpStartTimeoutDefaultMs),
            .args = stored.args.value_or(std::vector<std::string>{}),
            .cwd = (cwd / stored.cwd.value_or("")).lexically_normal(),
            .enabled = stored.enabled.value_or(true),
            .timeout_ms = stored.timeout_ms.value_or(kMcpTimeoutDefaultMs),
            .risk = stored.risk.value_or(domain::RiskLevel::Commands),
            .allow = tools.allow,
            .deny = tools.deny.value_or(std::vector<std::string>{})};
        add_environment(server, stored, environment);
        add_headers(server, stored, environment);
        add_oauth(server, stored, environment);
        servers.push_back(std::move(server));
    }
    return servers;
}

std::vector<std::string> mcp_secret_names(const McpSection& section) {
    std::vector<std::string> names;
    const auto add = [&](std::string name) {
        if (std::ranges::find(kInherited, std::string_view(name)) == kInherited.end())
            names.push_back(std::move(name));
    };
    for (const auto& [name, server] :
         section.servers.value_or(std::map<std::string, McpServerSection>{})) {
        for (const auto& [variable, value] : server.env.value_or(Environment{}))
            if (auto named = named_variable(value)) add(std::move(*named));
        for (const auto& [header, value] : server.headers.value_or(Environment{}))
            if (auto named = variable_in_header(value)) add(std::move(named->second));
        if (server.oauth)
            if (auto named = named_variable(server.oauth->client_secret.value_or("")))
                add(std::move(*named));
    }
    return names;
}

}  // namespace config
