// From options and configuration to where the runtime listens and what it asks for. Pure but for
// reading the token file.
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
    std::string token{};         // A secret; empty: none.
    std::string viewer_token{};  // The same, of who may only look.
    config::AuthMode auth_mode{config::AuthMode::Auto};
    std::filesystem::path socket_path;
    std::optional<TlsFiles> tls{};

    std::string http_addr() const { return config::to_text(listen); }
    // Where clients on this machine find it.
    std::string local_url() const;
    friend bool operator==(const ServePlan&, const ServePlan&) = default;
};

// Refuses what cannot work, before anything is started: an address that others can reach without a
// token, a host that is missing, a URL that nobody could call.
base::Result<ServePlan> resolve(const ServeOptions& options, const config::Server& server);

// http or https with a host that can be called; without fragment and trailing slash.
base::Result<std::string> check_advertised(std::string_view url);

RecordedOptions recorded(const ServeOptions& options);
ServeOptions from_recorded(const RecordedOptions& options);

// The arguments of `holon serve` that say the same; without the token.
std::vector<std::string> arguments(const ServeOptions& options);

}  // namespace service
