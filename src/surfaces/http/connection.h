// One client: requests read, answered in order, or an event stream written.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <optional>

#include "base/asio_loop.h"
#include "surfaces/http/access.h"
#include "surfaces/http/beast.h"
#include "surfaces/http/event_hub.h"
#include "surfaces/http/metrics.h"
#include "surfaces/http/router.h"
#include "surfaces/http/run_streams.h"
#include "surfaces/http/snapshot_cache.h"
#include "surfaces/http/worker_pool.h"

namespace http_surface {

// Everything here happens on the loop's thread.
class OpenConnection {
public:
    virtual ~OpenConnection() = default;
    virtual void drain() = 0;  // Ends when what it is doing is done; at once when it is idle.
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

// For what a coroutine let go; nothing when it did not.
void log_failure(const std::exception_ptr& failure);

}  // namespace http_surface
