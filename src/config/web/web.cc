#include "config/web/web.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/text.h"

namespace config {
namespace {

using base::ErrorCode;
using base::fail;
using base::Status;

// A query becomes one argument. These would read it as a program.
constexpr auto kSearchShells =
    std::to_array<std::string_view>({"sh", "bash", "zsh", "fish", "cmd", "powershell", "pwsh"});

bool is_provider_name(std::string_view name) {
    const auto fits = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
    };
    return !name.empty() && std::ranges::all_of(name, fits);
}

// Only from below: older versions accepted any number, and a home of theirs must open. What is too
// large counts as the largest.
Status check_positive(const std::optional<std::int64_t>& value, std::string_view place) {
    if (!value || *value >= 1) return {};
    return fail(ErrorCode::InvalidInput, "{}: must be at least 1, got {}", place, *value);
}

Status check_web_hosts(const std::optional<std::vector<std::string>>& hosts,
                       const std::string& place) {
    if (!hosts) return {};
    for (const auto& host : *hosts)
        if (host.empty() || host.find_first_of("/@ \t\r\n") != host.npos)
            return fail(ErrorCode::InvalidInput,
                        "{}: '{}' is no host; write example.com, *.example.com or example.com:8443",
                        place, base::printable(base::to_utf8(host)));
    return {};
}

Status check_search_url(const std::optional<std::string>& url, const std::string& place) {
    if (!url || url->empty() || url->starts_with("https://") || url->starts_with("http://"))
        return {};
    return fail(ErrorCode::InvalidInput, "{}/base_url: must start with http:// or https://", place);
}

Status check_web_provider(const std::string& name, const WebProviderSection& section) {
    const std::string place = base::typed::child_pointer("/web/providers", name);
    if (!is_provider_name(name))
        return fail(ErrorCode::InvalidInput,
                    "{}: a provider is named with a-z, 0-9, '-' and '_' only", place);
    TRY(check_search_url(section.base_url, place));
    if (section.output && section.output->format.value_or("json") != "json")
        return fail(ErrorCode::InvalidInput, "{}/output/format: must be json", place);
    if (section.limits) {
        TRY(check_positive(section.limits->timeout_ms, place + "/limits/timeout_ms"));
        TRY(check_positive(section.limits->max_output_bytes, place + "/limits/max_output_bytes"));
    }
    const bool has_command = section.command && !section.command->argv.empty();
    if (has_command && section.kind != WebSearchKind::Command)
        return fail(ErrorCode::InvalidInput, "{}/command: is for the kind command only", place);
    if (!has_command) return {};
    const std::string program =
        std::filesystem::path(section.command->argv.front()).filename().string();
    if (std::ranges::find(kSearchShells, program) != kSearchShells.end())
        return fail(ErrorCode::InvalidInput,
                    "{}/command/argv: must not start a shell; name the program itself", place);
    return {};
}

template <class T>
void overwrite(T& target, const std::optional<T>& value) {
    if (value) target = *value;
}
void overwrite(std::int64_t& target, const std::optional<std::int64_t>& value, std::int64_t max) {
    if (value) target = std::min(*value, max);
}

WebProvider provider_of(const std::string& name, const WebProviderSection& section,
                        const std::map<std::string, std::string>& api_keys) {
    WebProvider provider{.name = name, .kind = section.kind};
    overwrite(provider.base_url, section.base_url);
    while (provider.base_url.ends_with('/')) provider.base_url.pop_back();
    const auto key = api_keys.find(section.credential_profile.value_or(""));
    if (key != api_keys.end()) provider.api_key = key->second;
    if (section.command) provider.argv = section.command->argv;
    if (section.output) overwrite(provider.mapping, section.output->mapping);
    if (section.limits) {
        overwrite(provider.timeout_ms, section.limits->timeout_ms, kSearchTimeoutMaxMs);
        overwrite(provider.max_output_bytes, section.limits->max_output_bytes,
                  kSearchOutputMaxBytes);
    }
    return provider;
}

}  // namespace

Status check_web(const WebSection& section) {
    if (section.fetch) {
        const auto& fetch = *section.fetch;
        TRY(check_positive(fetch.max_chars, "/web/fetch/max_chars"));
        TRY(check_positive(fetch.max_response_bytes, "/web/fetch/max_response_bytes"));
        TRY(check_positive(fetch.timeout_seconds, "/web/fetch/timeout_seconds"));
        TRY(check_positive(fetch.max_redirects, "/web/fetch/max_redirects"));
        TRY(check_web_hosts(fetch.allowed_hosts, "/web/fetch/allowed_hosts"));
        TRY(check_web_hosts(fetch.denied_hosts, "/web/fetch/denied_hosts"));
    }
    if (section.search) {
        TRY(check_positive(section.search->max_results, "/web/search/max_results"));
        TRY(check_positive(section.search->max_provider_attempts,
                           "/web/search/max_provider_attempts"));
    }
    if (section.providers)
        for (const auto& [name, provider] : *section.providers)
            TRY(check_web_provider(name, provider));
    return {};
}

Web web(const WebSection& section, const std::map<std::string, std::string>& api_keys) {
    Web web;
    if (section.fetch) {
        overwrite(web.fetch.enabled, section.fetch->enabled);
        overwrite(web.fetch.max_chars, section.fetch->max_chars, kFetchCharsMax);
        overwrite(web.fetch.max_response_bytes, section.fetch->max_response_bytes, kFetchBytesMax);
        overwrite(web.fetch.timeout_seconds, section.fetch->timeout_seconds, kFetchTimeoutMaxS);
        overwrite(web.fetch.max_redirects, section.fetch->max_redirects, kFetchRedirectsMax);
        overwrite(web.fetch.allowed_hosts, section.fetch->allowed_hosts);
        overwrite(web.fetch.denied_hosts, section.fetch->denied_hosts);
    }
    if (section.search) {
        overwrite(web.search.enabled, section.search->enabled);
        if (section.search->builtin_provider)
            overwrite(web.search.native_enabled, section.search->builtin_provider->enabled);
        overwrite(web.search.provider, section.search->provider);
        overwrite(web.search.mode, section.search->mode);
        overwrite(web.search.order, section.search->providers);
        overwrite(web.search.max_results, section.search->max_results, kSearchResultsMax);
        overwrite(web.search.max_provider_attempts, section.search->max_provider_attempts,
                  kSearchAttemptsMax);
    }
    if (section.providers)
        for (const auto& [name, provider] : *section.providers)
            web.search.providers.push_back(provider_of(name, provider, api_keys));
    return web;
}

}  // namespace config
