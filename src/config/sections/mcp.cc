#include "config/sections/mcp.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace config {
namespace {

using base::ErrorCode;
using base::fail;
using base::Status;

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

Status check_server(const std::string& name, const McpServerSection& section) {
    const std::string place = base::typed::child_pointer("/mcp/servers", name);
    if (!is_name(name))
        return fail(ErrorCode::InvalidInput,
                    "{}: a server is named with at most {} of a-z, 0-9, '-' and single '_' inside",
                    place, kMcpNameCharsMax);
    if (base::trim(section.command).empty())
        return fail(ErrorCode::InvalidInput, "{}/command: names the program to start", place);
    const auto timeout = section.timeout_ms.value_or(kMcpTimeoutDefaultMs);
    if (timeout < 1 || timeout > kMcpTimeoutMaxMs)
        return fail(ErrorCode::InvalidInput, "{}/timeout_ms: must be 1 to {}, got {}", place,
                    kMcpTimeoutMaxMs, timeout);
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
        McpServer server{.name = name,
                         .command = stored.command,
                         .args = stored.args.value_or(std::vector<std::string>{}),
                         .cwd = (cwd / stored.cwd.value_or("")).lexically_normal(),
                         .enabled = stored.enabled.value_or(true),
                         .timeout_ms = stored.timeout_ms.value_or(kMcpTimeoutDefaultMs),
                         .risk = stored.risk.value_or(domain::RiskLevel::Commands),
                         .allow = tools.allow,
                         .deny = tools.deny.value_or(std::vector<std::string>{})};
        add_environment(server, stored, environment);
        servers.push_back(std::move(server));
    }
    return servers;
}

std::vector<std::string> mcp_secret_names(const McpSection& section) {
    std::vector<std::string> names;
    for (const auto& [name, server] :
         section.servers.value_or(std::map<std::string, McpServerSection>{}))
        for (const auto& [variable, value] : server.env.value_or(Environment{}))
            if (auto named = named_variable(value);
                named &&
                std::ranges::find(kInherited, std::string_view(*named)) == kInherited.end())
                names.push_back(std::move(*named));
    return names;
}

}  // namespace config
