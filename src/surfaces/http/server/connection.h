// One client: requests read, answered in order, or an event stream written.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <optional>

#include "base/os/asio_loop.h"
#include "surfaces/http/live/event_hub.h"
#include "surfaces/http/live/held_runs.h"
#include "surfaces/http/live/run_streams.h"
#include "surfaces/http/live/snapshot_cache.h"
#include "surfaces/http/server/access.h"
#include "surfaces/http/server/beast.h"
#include "surfaces/http/server/metrics.h"
#include "surfaces/http/server/router.h"
#include "surfaces/http/server/worker_pool.h"

namespace http_surface {

// Everything here happens on the loop's thread.
class OpenConnection {
public:
    virtual ~OpenConnection() = default;
    virtual void drain() = 0;  // Ends after the current request; at once when idle.
    virtual void abort() = 0;  // Ends now.
};

// What all connections share.
struct Core {
    base::AsioLoop& loop;
    const Options& options;
    const Context& context;
    base::Clock& clock;
    Access& access;
    EventHub& hub;
    RunStreams& runs;
    HeldRuns& held_runs;
    SnapshotCache& snapshots;
    WorkerPool& pool;
    Metrics& metrics;
    bool draining{false};
    std::list<OpenConnection*> open{};
    std::map<std::string, std::size_t> open_by_peer{};
    std::function<void()> on_closed{};
};

// Serves the client until it leaves, breaks a rule or the core drains. With `tls`, a handshake
// comes first.
void serve_connection(Core& core, Stream stream, Peer peer, net::ssl::context* tls);

// Logs the exception that left a coroutine, if there is one.
void log_failure(const std::exception_ptr& failure);

}  // namespace http_surface
