// The daemon: one per home, the same program that `serve` runs in the foreground.
//
// Works on the files of the home, its control socket and its process; works without a running
// daemon. Any number of processes may call at once: start, stop and restart of one home take turns.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>

#include "base/time.h"
#include "config/config.h"
#include "service/daemon/access/access.h"
#include "service/daemon/decide.h"
#include "service/daemon/run_files.h"

namespace service {

using namespace std::chrono_literals;

// Opening the store may have to migrate it first.
inline constexpr std::chrono::milliseconds kStartTimeout = 60s;
inline constexpr std::chrono::milliseconds kDrainTimeout = 20s;
inline constexpr std::chrono::milliseconds kTerminateTimeout = 10s;
inline constexpr std::chrono::milliseconds kKillTimeout = 5s;
// How long to wait for a process that holds the home and does not listen, and how often it is
// checked. One that was killed ends when the disk has done what it waits for.
inline constexpr std::chrono::milliseconds kPassingTimeout = 10s;
inline constexpr std::chrono::milliseconds kPassingLook = 20ms;

struct DaemonParts {
    config::Config config;
    base::Clock& clock;
    std::filesystem::path program;              // What to start, as `program serve …`.
    std::vector<std::string> home_arguments{};  // Say which home; empty: the environment does.
    std::filesystem::path started_in;
    // Whether a daemon could start with this configuration; empty: not checked.
    std::function<base::Status()> check_start{};
};

// The answers are the objects that the command line prints: `ok`, `state`, `message` and further
// members.
class Daemon {
public:
    explicit Daemon(DaemonParts parts);

    // Success when a daemon with the same effective configuration is up on return. Fails closed
    // when another configuration runs or the socket belongs to another program; invalid options are
    // refused before anything is started.
    base::Result<json::object> start(const ServeOptions& options);
    // Stops over the control surface, then by SIGTERM, then by SIGKILL. Success when no daemon
    // runs; leftover files are removed.
    base::Result<json::object> stop();
    // The same as stop and start. What would keep the new daemon from starting is found before the
    // old one is stopped, as far as it can be.
    base::Result<json::object> restart(const ServeOptions& options);
    base::Result<json::object> status();
    // Files only.
    base::Result<json::object> logs(std::int64_t tail_lines);

    static RunFiles files_of(const config::Config& config);

private:
    base::Status launch(const ServeOptions& options);
    base::Result<std::string> end(const DaemonFacts& facts);
    base::Status end_process(pid_t pid, std::string& how);
    base::Result<json::object> start_locked(const ServeOptions& options, const ServePlan& plan);
    base::Result<json::object> stop_locked();
    json::object report(const DaemonFacts& facts, std::string message);
    std::optional<bool> fingerprint_matches(const DaemonFacts& facts) const;
    base::Error failed(FailurePhase phase, base::Error error);

    DaemonParts parts_;
    RunFiles files_;
};

}  // namespace service
