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
};

// Empty when there is no daemon. The default address is never tried by itself: a daemon there may
// serve another home.
std::optional<Address> choose_route(const RouteFacts& facts, const config::Server& server);

// Blocks for a moment at most.
std::optional<Address> find_runtime(const RunFiles& files, const config::Server& server);

}  // namespace service
