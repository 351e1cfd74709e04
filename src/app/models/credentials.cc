#include "app/models/credentials.h"

#include "app/trigger_key.h"
#include "base/log/log.h"
#include "base/scan/secrets.h"
#include "exec/tools/mcp/oauth/grant.h"
#include "provider/openai_codex/login.h"

namespace app {

std::vector<std::string> credentials_of(const config::Config& config) {
    auto list = config.credentials;
    if (const auto login = provider::read_codex_login(config.codex_home))
        list.push_back(login->access_token);
    for (const auto& [name, value] : config.telemetry.headers) list.push_back(value);
    if (const auto key = known_trigger_key(config.home)) list.push_back(*key);
    for (const auto& server : config.mcp_servers) {
        if (server.url.empty()) continue;
        const auto grant = mcp::load_grant(config.home, server.name);
        if (!grant || !*grant) continue;
        list.push_back((*grant)->access_token);
        list.push_back((*grant)->refresh_token.value_or(""));
        list.push_back((*grant)->client_secret.value_or(""));
    }
    return list;
}

void guard_credentials(const config::Config& config) {
    scan::know(credentials_of(config));
    scan::set_suspects(config.redact_patterns ? scan::Suspects::Redact : scan::Suspects::Keep);
    base::set_log_filter(
        [](std::string text) { return scan::without_credentials(std::move(text)); });
}

}  // namespace app
