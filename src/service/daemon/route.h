// Whether a command uses a daemon, and over which connection.
#pragma once

#include <optional>

#include "config/sections/server.h"
#include "service/daemon/run_files.h"
#include "service/remote/client.h"

namespace service {

struct RouteFacts {
    bool socket_accepts{false};  // A process listens at this home's control socket.
    bool lock_held{false};       // A daemon runs on this home.
    std::string running_url{};   // Its address; empty when unknown.
    std::string named_url{};     // The address that the operator configured; empty for none.
    bool named_answers{false};
    std::string own_token{};  // The one that this home's daemon made for itself; a secret.
};

// Empty when there is no daemon. The default address is never tried by itself: a daemon there may
// serve another home. A token is sent over TCP only when the operator named an address; else a
// program that took the daemon's port would receive it. The daemon's own token is for the daemon of
// this home only.
std::optional<Address> choose_route(const RouteFacts& facts, const config::Server& server);

// Blocks for a moment at most.
std::optional<Address> find_runtime(const RunFiles& files, const config::Server& server);

}  // namespace service
