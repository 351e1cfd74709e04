// One prompt from its admission to its result, over service.h: the same code wherever the runtime
// is.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "service/service.h"

namespace service {

// Watches a run, on the thread that called RunClient::run().
class RunObserver {
public:
    virtual ~RunObserver() = default;
    // Whether it wants events and deltas. Without them nothing is read until the run is over.
    virtual bool is_live() const { return true; }
    virtual void on_started(const RunStarted& /*started*/) {}
    // A committed event of the agent; all of them, in order.
    virtual void on_event(const domain::Event& /*event*/) {}
    // What the agent is doing right now. Some may be missing.
    virtual void on_delta(const Delta& /*delta*/) {}
    // Every tick_interval(), while there is one.
    virtual std::chrono::milliseconds tick_interval() const { return std::chrono::milliseconds(0); }
    virtual void on_tick() {}
};

// Starts a run, follows it, waits for its end, reads its result and cleans up. The service outlives
// it.
class RunClient {
public:
    explicit RunClient(Service& service);
    ~RunClient();
    RunClient(const RunClient&) = delete;
    RunClient& operator=(const RunClient&) = delete;

    // Blocks until the run is over. A turn that failed is a RunResponse; an Error means that
    // nothing was run, or that the run could not be followed to its end, and says what to do. One
    // call at a time. The runtime's own threads may not call it.
    base::Result<RunResponse> run(const RunRequest& request, const Caller& caller,
                                  RunObserver& observer);

    // Asks the run under way, or the next one, to stop its turn. Returns at once; any thread.
    void interrupt(std::string reason);
    // The agent of the run under way, so that the run can be named when the program leaves at once;
    // empty before it is known. Any thread.
    std::string agent() const;

private:
    struct News;

    base::Status follow(const RunStarted& started, RunObserver& observer);
    void show_events(const RunStarted& started, std::int64_t& shown, RunObserver& observer);

    Service& service_;
    std::shared_ptr<News> news_;  // Callbacks of the service may outlive the client.
};

}  // namespace service
