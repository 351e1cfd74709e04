#include "service/daemon/access/access.h"

#include "base/os/files.h"
#include "base/text.h"

namespace service {
namespace {

using base::ErrorCode;
using base::fail;

bool is_remote(Access access) {
    return access == Access::Lan || access == Access::Tailnet;
}

bool is_any_address(std::string_view host) {
    return host == "0.0.0.0" || host == "::";
}

base::Result<config::HostPort> parse_listen(const std::string& text) {
    const auto address = config::parse_host_port(text);
    if (!address || address->port == 0 ||
        (!config::is_ip(address->host) && address->host != "localhost"))
        return fail(ErrorCode::InvalidInput,
                    "--listen must be an address and a port, such as 127.0.0.1:7878, got '{}'",
                    base::printable(text));
    return *address;
}

base::Result<config::HostPort> parse_host(const std::string& text) {
    const auto host = config::parse_host_port(text);
    if (!host)
        return fail(ErrorCode::InvalidInput, "--host must be a name or an address, got '{}'",
                    base::printable(text));
    return *host;
}

base::Result<config::HostPort> choose_listen(const ServeOptions& options,
                                             const config::Server& server) {
    const auto configured = config::parse_host_port(server.http_addr)
                                .value_or(config::HostPort{"127.0.0.1", config::kDefaultPort});
    if (options.listen) return parse_listen(*options.listen);
    int port = options.port ? static_cast<int>(*options.port) : configured.port;
    if (options.access == Access::Local)
        return options.port ? config::HostPort{"127.0.0.1", port} : configured;
    if (options.access == Access::Tunnel) return config::HostPort{"127.0.0.1", port};
    const auto host = TRY(parse_host(options.host.value_or("")));
    if (!options.port && host.port != 0) port = host.port;
    return config::HostPort{config::is_ip(host.host) ? host.host : "0.0.0.0", port};
}

base::Result<std::optional<std::string>> choose_advertised(const ServeOptions& options,
                                                           const config::HostPort& listen,
                                                           bool has_tls) {
    if (options.advertise) return TRY(check_advertised(*options.advertise));
    if (!is_remote(options.access)) return std::nullopt;
    auto host = TRY(parse_host(options.host.value_or("")));
    host.port = listen.port;
    return TRY(check_advertised((has_tls ? "https://" : "http://") + config::to_text(host)));
}

base::Result<std::string> choose_token(const ServeOptions& options, const config::Server& server) {
    if (options.token && options.token_file)
        return fail(ErrorCode::InvalidInput, "give --token or --token-file, not both");
    if (options.token) return config::check_token(*options.token, "--token");
    if (!options.token_file) return server.control_token;
    const auto text = base::read_file(*options.token_file, config::kTokenBytesMax);
    if (!text)
        return fail(ErrorCode::InvalidInput, "--token-file cannot be used: {}",
                    text.error().message);
    return config::check_token(*text, "--token-file " + base::printable(*options.token_file));
}

// A viewer token where none is required, or equal to the control token, would restrict nobody.
// Where no control token is configured, the daemon makes one.
base::Result<std::string> choose_viewer_token(const ServePlan& plan, const config::Server& server) {
    if (server.viewer_token.empty()) return "";
    if (plan.auth_mode == config::AuthMode::Disabled)
        return fail(ErrorCode::InvalidInput,
                    "HOLON_VIEWER_TOKEN restricts nobody while HOLON_CONTROL_AUTH_MODE is "
                    "disabled: unset one of them");
    if (server.viewer_token == plan.token)
        return fail(ErrorCode::InvalidInput,
                    "HOLON_VIEWER_TOKEN must differ from the control token");
    return server.viewer_token;
}

base::Result<std::optional<TlsFiles>> choose_tls(const ServeOptions& options) {
    if (options.tls_cert.has_value() != options.tls_key.has_value())
        return fail(ErrorCode::InvalidInput,
                    "--tls-cert and --tls-key belong together: give both or neither");
    if (!options.tls_cert) return std::nullopt;
    for (const auto& file : {*options.tls_cert, *options.tls_key})
        if (std::error_code failed; !std::filesystem::is_regular_file(file, failed))
            return fail(ErrorCode::InvalidInput, "there is no file {}", base::printable(file));
    return TlsFiles{*options.tls_cert, *options.tls_key};
}

base::Status check_socket_path(const std::filesystem::path& path) {
    if (path.string().size() > config::kSocketPathMax)
        return fail(ErrorCode::InvalidInput,
                    "the socket path {} is longer than {} bytes; set HOLON_SOCKET_PATH to a "
                    "shorter one",
                    base::printable(path.string()), config::kSocketPathMax);
    return {};
}

void add(std::vector<std::string>& list, const char* name,
         const std::optional<std::string>& value) {
    if (!value) return;
    list.emplace_back(name);
    list.push_back(*value);
}

}  // namespace

base::Result<std::string> check_advertised(std::string_view text) {
    std::string url(text.substr(0, text.find('#')));
    while (url.ends_with('/')) url.pop_back();
    std::string_view rest = url;
    const bool is_http = rest.starts_with("http://") || rest.starts_with("https://");
    if (is_http) rest.remove_prefix(rest.find("//") + 2);
    const auto host = config::parse_host_port(rest.substr(0, rest.find('/')));
    if (!is_http || !host || is_any_address(host->host) || url.contains('?'))
        return fail(ErrorCode::InvalidInput,
                    "--advertise must be a URL that clients can call, such as "
                    "https://holon.example, got '{}'",
                    base::printable(text));
    return url;
}

base::Result<ServePlan> resolve(const ServeOptions& options, const config::Server& server) {
    if (options.listen && options.port)
        return fail(ErrorCode::InvalidInput, "give --listen or --port, not both");
    if (is_remote(options.access) && !options.host && !options.advertise)
        return fail(ErrorCode::InvalidInput,
                    "--access {} needs --host: the name or address that clients use",
                    base::enum_name(options.access));
    if (is_remote(options.access) && !options.host && !options.listen)
        return fail(ErrorCode::InvalidInput,
                    "--access {} needs --host or --listen: where to listen",
                    base::enum_name(options.access));
    ServePlan plan{.access = options.access, .socket_path = server.socket_path};
    TRY(check_socket_path(plan.socket_path));
    plan.tls = TRY(choose_tls(options));
    plan.listen = TRY(choose_listen(options, server));
    plan.advertise_url = TRY(choose_advertised(options, plan.listen, plan.tls.has_value()));
    plan.token = TRY(choose_token(options, server));
    plan.auth_mode = server.control_auth_mode;
    const bool is_exposed = is_remote(options.access) || !config::is_loopback(plan.listen.host);
    if (is_exposed || options.access == Access::Tunnel || plan.advertise_url)
        plan.auth_mode = config::AuthMode::Required;
    if (is_exposed && plan.token.empty())
        return fail(ErrorCode::InvalidInput,
                    "listening on {} needs a control token: set HOLON_CONTROL_TOKEN or give "
                    "--token-file",
                    plan.http_addr());
    plan.viewer_token = TRY(choose_viewer_token(plan, server));
    plan.uses_own_token = plan.token.empty() && plan.auth_mode != config::AuthMode::Disabled;
    plan.callback_base_url =
        plan.advertise_url.value_or(server.callback_base_url.value_or(plan.local_url()));
    return plan;
}

std::string ServePlan::local_url() const {
    config::HostPort address = listen;
    if (address.host == "0.0.0.0") address.host = "127.0.0.1";
    if (address.host == "::") address.host = "::1";
    return (tls ? "https://" : "http://") + config::to_text(address);
}

RecordedOptions recorded(const ServeOptions& options) {
    return {.access = options.access,
            .host = options.host,
            .listen = options.listen,
            .port = options.port,
            .advertise = options.advertise,
            .token_file = options.token_file,
            .tls_cert = options.tls_cert,
            .tls_key = options.tls_key};
}

ServeOptions from_recorded(const RecordedOptions& options) {
    return {.access = options.access,
            .host = options.host,
            .listen = options.listen,
            .port = options.port,
            .advertise = options.advertise,
            .token_file = options.token_file,
            .tls_cert = options.tls_cert,
            .tls_key = options.tls_key};
}

std::vector<std::string> arguments(const ServeOptions& options) {
    std::vector<std::string> list;
    if (options.access != Access::Local)
        add(list, "--access", std::string(base::enum_name(options.access)));
    add(list, "--host", options.host);
    add(list, "--listen", options.listen);
    if (options.port) add(list, "--port", std::to_string(*options.port));
    add(list, "--advertise", options.advertise);
    add(list, "--token-file", options.token_file);
    add(list, "--tls-cert", options.tls_cert);
    add(list, "--tls-key", options.tls_key);
    add(list, "--log-file", options.log_file);
    return list;
}

}  // namespace service
