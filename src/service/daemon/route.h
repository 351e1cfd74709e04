// Whether a command speaks to a runtime, and by which door.
#pragma once

#include <optional>

#include "config/sections/server.h"
#include "service/daemon/run_files.h"
#include "service/remote/client.h"

namespace service {

struct RouteFacts {
    bool socket_accepts{false};  // Someone listens at this home's control socket.
    bool lock_held{false};       // A runtime lives on this home.
    std::string running_url{};   // Where that one listens; empty when it does not say.
    std::string named_url{};     // Where the operator says one listens; empty when nowhere.
    bool named_answers{false};
};

// Nothing when no runtime is there. The default address is never tried by itself: whoever listens
// there may serve another home.
std::optional<Address> choose_route(const RouteFacts& facts, const config::Server& server);

// Blocks for a moment at most.
std::optional<Address> find_runtime(const RunFiles& files, const config::Server& server);

}  // namespace service
