// A home with a runtime of its own on a free port, which never outlives the test.
#pragma once

#include <optional>

#include "service/remote/client.h"
#include "tests/e2e/program.h"

namespace e2e {

// A free port of 127.0.0.1.
int free_port();

class DaemonWorld : public Program {
public:
    DaemonWorld();
    ~DaemonWorld();

    std::filesystem::path run_folder() const { return home() / "run"; }
    std::filesystem::path socket() const { return run_folder() / "holon.sock"; }
    int port() const { return port_; }
    std::string url() const { return fmt::format("http://127.0.0.1:{}", port_); }

    // The pid that the runtime wrote down; 0 when there is none.
    pid_t pid() const;
    // `daemon` and its words; must succeed.
    json::value daemon(std::vector<std::string> words);
    // Over the socket, or over TCP.
    service::Client by_socket() const { return service::Client({.socket = socket()}); }
    // With the daemon's own token when none is given.
    service::Client by_tcp(const std::string& token = "") const {
        return service::Client({.url = url(), .token = token.empty() ? own_token() : token});
    }
    service::Client by_tcp_without_token() const { return service::Client({.url = url()}); }
    std::filesystem::path token_file() const { return home() / "control-token"; }
    // Empty when the daemon has not made one.
    std::string own_token() const;

private:
    int port_;
};

// Whether the process is there and no zombie.
bool is_alive(pid_t pid);
// Waits for the end of a process that is no child of ours.
bool ends_within(pid_t pid, std::chrono::milliseconds limit);

}  // namespace e2e
