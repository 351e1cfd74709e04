// Decides from options and configuration where the daemon listens and which token it requires.
// Pure, except that it reads the token file.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "config/sections/server.h"
#include "service/daemon/access/serve_options.h"

namespace service {

struct TlsFiles {
    std::filesystem::path certificate;
    std::filesystem::path key;
    friend bool operator==(const TlsFiles&, const TlsFiles&) = default;
};

struct ServePlan {
    Access access{Access::Local};
    config::HostPort listen;
    std::optional<std::string> advertise_url{};
    std::string callback_base_url;
    std::string token{};         // A secret; empty: none is configured.
    std::string viewer_token{};  // The same, for clients that may only read.
    config::AuthMode auth_mode{config::AuthMode::Auto};
    bool uses_own_token{false};  // The one that it makes for itself, as none is configured.
    std::filesystem::path socket_path;
    std::optional<TlsFiles> tls{};

    std::string http_addr() const { return config::to_text(listen); }
    // Where clients on this machine find it.
    std::string local_url() const;
    friend bool operator==(const ServePlan&, const ServePlan&) = default;
};

// Refuses invalid options before anything is started: an address that is not loopback without a
// configured token, a missing host, a URL that clients could not call. A tunnel and an advertised
// URL make other machines clients, so they require a token, too, whatever the configured mode; the
// daemon's own will do.
base::Result<ServePlan> resolve(const ServeOptions& options, const config::Server& server);

// http or https with a host that can be called; without fragment and trailing slash.
base::Result<std::string> check_advertised(std::string_view url);

RecordedOptions recorded(const ServeOptions& options);
ServeOptions from_recorded(const RecordedOptions& options);

// The arguments of `holon serve` that say the same; without the token.
std::vector<std::string> arguments(const ServeOptions& options);

}  // namespace service
