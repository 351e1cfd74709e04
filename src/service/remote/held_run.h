// A run in a daemon, held by an open connection: when this process dies, the connection breaks and
// the daemon interrupts the turn.
#pragma once

#include <memory>

#include "service/remote/client.h"
#include "service/service.h"

namespace service {

// Sends the request and waits for the daemon's answer. The lease of the result closes the
// connection and waits for its thread. `ended` is called on that thread, and may not drop the
// lease.
base::Result<RunHold> hold_run(const Address& address, const RunRequest& request, RunEnded ended);

}  // namespace service
