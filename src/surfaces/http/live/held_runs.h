// Runs that clients hold by their connections. The stream reports that a run has started and that
// it is over; it stays open until the client leaves, and then the run's lease is dropped.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "base/os/loop.h"
#include "service/service.h"
#include "surfaces/http/live/bell.h"
#include "surfaces/http/live/frame_stream.h"

namespace http_surface {

// One run of one client. Any thread.
class HeldRun {
public:
    // Starts the run. The service calls back for as long as the result exists.
    static base::Result<std::shared_ptr<HeldRun>> start(service::Service& service,
                                                        const service::RunRequest& request,
                                                        const service::Caller& caller);

    const service::RunStarted& started() const { return hold_.started; }
    std::optional<base::Status> ended() const;
    // Calls `changed` when the run is over; empty: nothing.
    void listen(std::function<void()> changed);
    // Drops the lease: the client is gone or has its result.
    void release() { hold_.lease.reset(); }

private:
    void end(const base::Status& status);

    service::RunHold hold_;
    mutable std::mutex mutex_;
    std::optional<base::Status> ended_;
    std::function<void()> changed_;
};

// All members on the loop's thread.
class HeldRuns {
public:
    explicit HeldRuns(base::Loop& loop);
    ~HeldRuns();  // All streams are gone by then.

    // Frames "run_started" and "run_ended". `wake` must return at once. The run is released with
    // the stream.
    std::unique_ptr<FrameStream> subscribe(std::shared_ptr<HeldRun> run,
                                           std::function<void()> wake);

private:
    class Reader;
    std::shared_ptr<Bell> bell_;
};

}  // namespace http_surface
